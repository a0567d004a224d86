// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/base/short_text.hpp>

namespace latchd {
namespace {

// Both halves of the product: each bit of the two words reaches many of the result.
std::uint64_t mixed(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Odd constants without a pattern.
constexpr std::array<std::uint64_t, 4> salts = {
    0x9e3779b97f4a7c15, 0xd1b54a32d192ed03, 0x8cb92ba72f3d8dd7, 0xdb4f0b9175ae2165};

template <std::size_t Count>
std::uint64_t hash_of(const std::array<std::uint64_t, Count>& words) noexcept {
    const std::uint64_t last = Count > 3 ? words[Count - 1] : 0;
    return mixed(mixed(words[0] ^ salts[0], words[1] ^ salts[1]) ^ salts[2],
                 mixed(words[2] ^ salts[2], last ^ salts[3]) ^ salts[1]);
}

}  // namespace

template <std::size_t Words>
void InlineText<Words>::put_on_heap(std::string_view text) {
    char* const copy = new char[text.size()];
    std::memcpy(copy, text.data(), text.size());
    std::memcpy(words_.data(), &copy, sizeof copy);
    words_[1] = text.size();
    set_tag(heap_tag);
}

template <std::size_t Words>
std::size_t InlineText<Words>::hash() const noexcept {
    if (!is_on_heap()) return hash_of(words_);
    std::uint64_t sum = 0;
    std::string_view rest = view();
    while (!rest.empty()) {
        std::array<std::uint64_t, Words> block{};
        const std::size_t size = rest.size() < sizeof block ? rest.size() : sizeof block;
        std::memcpy(block.data(), rest.data(), size);
        block[0] ^= sum;
        block[Words - 1] ^= static_cast<std::uint64_t>(size) << 32;
        sum = hash_of(block);
        rest.remove_prefix(size);
    }
    return sum;
}

template class InlineText<4>;
template class InlineText<3>;

}  // namespace latchd
