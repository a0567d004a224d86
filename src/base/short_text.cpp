// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/base/short_text.hpp>

namespace latchd {

template <std::size_t Words>
void InlineText<Words>::put_on_heap(std::string_view text) {
    char* const copy = new char[text.size()];
    std::memcpy(copy, text.data(), text.size());
    std::memcpy(words_.data(), &copy, sizeof copy);
    words_[1] = text.size();
    set_tag(heap_tag);
}

template <std::size_t Words>
std::size_t InlineText<Words>::hash_of_heap() const noexcept {
    std::uint64_t sum = 0;
    std::string_view rest = view();
    while (!rest.empty()) {
        std::array<std::uint64_t, Words> block{};
        const std::size_t size = rest.size() < sizeof block ? rest.size() : sizeof block;
        std::memcpy(block.data(), rest.data(), size);
        block[0] ^= sum;
        block[Words - 1] ^= static_cast<std::uint64_t>(size) << 32;
        sum = text_hash::of(block);
        rest.remove_prefix(size);
    }
    return sum;
}

template class InlineText<4>;
template class InlineText<3>;

}  // namespace latchd
