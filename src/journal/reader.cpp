// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "format.hpp"

#include <latchd/journal/recovered.hpp>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

// Reading trusts nothing: lengths are bounded by the bytes that are there, a half ends at the
// first record whose checksum is wrong, and a damaged head makes the whole file void. Of two live
// records of one lock the later one counts: the process ended between writing the new one and
// marking the old.

namespace latchd::journal {
namespace {

class Reader {
public:
    Reader(std::span<const std::byte> file, Time now) noexcept : file_(file), now_(now) {}

    Recovered read(const Host& host) {
        if (!read_head()) {
            found_.origin = Recovered::Origin::unusable;
            return std::move(found_);
        }
        takes_records_ = is_of(head_, host);
        found_.owner_word = head_.owner_word;
        found_.origin =
            takes_records_ ? Recovered::Origin::continued : Recovered::Origin::other_life;
        const bool second_is_older = head_.generations[1] < head_.generations[0];
        read_half(second_is_older ? 1 : 0);
        read_half(second_is_older ? 0 : 1);
        leave_out_over();
        return std::move(found_);
    }

private:
    bool read_head() {
        if (file_.size() < head_bytes) return refuse("it is shorter than a head");
        head_ = load<FileHead>(file_.data());
        if (head_.magic != file_magic) return refuse("it is not a journal");
        if (head_.version != file_version) {
            return refuse("its format is version " + std::to_string(head_.version));
        }
        if (head_.crc != checksum(head_) || head_.head_size != head_bytes ||
            head_.half_bytes % word_bytes != 0) {
            return refuse("its head is damaged");
        }
        if (head_.generations[0] == head_.generations[1] && head_.generations[0] != 0) {
            return refuse("its halves contradict each other");
        }
        if (const auto fence = from_fence_word(head_.fence_word)) {
            found_.highest_fence = *fence;
        } else {
            warn("the highest fence is damaged; those of the records are taken");
        }
        return true;
    }

    void read_half(std::size_t half) {
        if (head_.generations[half] == 0) return;
        const std::size_t room = file_.size() - head_bytes;
        const std::size_t half_bytes = std::min<std::uint64_t>(head_.half_bytes, room);
        const std::size_t begin = half_at(half, half_bytes);
        if (begin >= file_.size()) return;
        auto left = file_.subspan(begin, std::min(half_bytes, file_.size() - begin));
        while (left.size() >= record_head_bytes && load<std::uint64_t>(left.data()) != 0) {
            const std::size_t length = valid_length(left);
            if (length == 0) {
                const auto at = static_cast<std::size_t>(left.data() - file_.data());
                return warn("damaged at byte " + std::to_string(at) +
                            "; the rest of this half is lost");
            }
            take(left.first(length));
            left = left.subspan(length);
        }
    }

    // 0: not a record.
    static std::size_t valid_length(std::span<const std::byte> left) noexcept {
        const RecordHead head = load_record_head(left.data());
        const bool plausible = head.length >= record_head_bytes + word_bytes &&
                               head.length <= left.size() && head.length % word_bytes == 0 &&
                               (head.state == RecordState::live || head.state == RecordState::over);
        if (!plausible || record_checksum(left.first(head.length)) != head.crc) return 0;
        return head.length;
    }

    void take(std::span<const std::byte> bytes) {
        const Fence fence = encoded_fence(bytes.data());
        if (fence < fence_end) found_.highest_fence = std::max(found_.highest_fence, fence);
        if (!takes_records_ || load_record_head(bytes.data()).state != RecordState::live) return;
        if (is_bar(bytes)) return take_bar(bytes);
        auto record = decode(bytes, now_);
        if (!record) return warn_of_content();
        const auto [at, is_new] = places_.try_emplace(record->key, found_.records.size());
        if (is_new) {
            found_.records.push_back(std::move(*record));
        } else {
            found_.records[at->second] = std::move(*record);
        }
    }

    void take_bar(std::span<const std::byte> bytes) {
        auto bar = decode_bar(bytes, now_);
        if (!bar) return warn_of_content();
        if (bar->left > Duration::zero()) found_.cancelled.push_back(std::move(*bar));
    }

    void leave_out_over() {
        found_.over = std::erase_if(found_.records, [](const core::GrantRecord& record) {
            return record.left <= -record.delay;
        });
    }

    bool refuse(const std::string& why) {
        found_.warnings.push_back("journal not used: " + why);
        return false;
    }
    void warn_of_content() { warn("a record has a valid checksum and no valid content"); }
    void warn(const std::string& what) {
        found_.is_damaged = true;
        found_.warnings.push_back("journal: " + what);
    }

    std::span<const std::byte> file_;
    Time now_;
    FileHead head_;
    bool takes_records_ = false;
    Recovered found_;
    std::unordered_map<LockKey, std::size_t> places_;
};

}  // namespace

bool Recovered::is_all_of(std::uint64_t incarnation) const noexcept {
    return origin == Origin::continued && !is_damaged &&
           owner_word == to_owner_word(incarnation, file);
}

Recovered read_journal(std::span<const std::byte> file, const Host& host, Time now) {
    return Reader(file, now).read(host);
}

}  // namespace latchd::journal
