// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "writer.hpp"

#include <algorithm>
#include <fcntl.h>
#include <functional>

// How records are kept.
//
// Records are appended to the current half. A put appends the lock's new record and then marks the
// old one as over; a drop only marks, so it needs no room and can't fail. When the current half has
// grown to four times what lives in it (or to its end), the other half becomes current, and the
// live records of the former half are moved over step by step: each put moves along four times
// its own length of the former half. No put pays for all of them at once, whatever the number of
// locks (100,000 records at once would be a pause of 20 ms).
//
// Why a put always finds room. Let H be a half, L <= 3/4 H the most that may be live. A former
// half holds at most H bytes, so it is moved after H/4 bytes of puts, and by then the current half
// holds at most H/4 of puts and L of moved records: H. `half_bytes_for` adds what the step of one
// largest record can be over.
//
// Why each store is safe. A half ends with a word of 0. A record is written behind that word, then
// a 0 behind the record, and last its first word, which is what makes it exist. Between that and
// the marking of the old record there are two live ones, of which readers take the later one. The
// other half begins with a 0 before its generation is set; the former one is given up by a
// generation of 0 once nothing in it is live. The highest fence is raised before the record is.
//
// Room in the file system is taken 256 KiB at a time before it is touched: touching a hole on a
// full tmpfs would be a SIGBUS, this way it is a put that is refused.

namespace latchd::journal {
namespace {

constexpr std::size_t move_factor = 4;
constexpr std::size_t garbage_factor = 4;
constexpr std::size_t reserve_step_bytes = 256 * 1'024;

std::uint32_t tag_of(const LockKey& key) noexcept {
    const std::uint64_t hash = std::hash<LockKey>{}(key);
    return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

// Places of the index count words: 32 bits then reach 32 GiB.
constexpr std::uint32_t to_place(std::size_t offset) noexcept {
    return static_cast<std::uint32_t>(offset / word_bytes);
}
constexpr std::size_t to_offset(std::uint32_t place) noexcept {
    return std::size_t{place} * word_bytes;
}

}  // namespace

Journal::Writer::Writer(Descriptor file,
                        Mapping mapping,
                        const JournalOptions& options,
                        std::size_t live_bytes_max)
    : file_(std::move(file)),
      mapping_(std::move(mapping)),
      bytes_(mapping_.bytes()),
      options_(options),
      half_bytes_(half_bytes_for(live_bytes_max)),
      index_(options.locks_max) {
    counts_.live_bytes_max = live_bytes_max;
    for (std::size_t half = 0; half < halves_.size(); ++half) {
        const std::size_t begin = half_at(half, half_bytes_);
        halves_[half] = {begin, begin, begin};
    }
    // An empty half without room reads as its end: holes are zeros.
    store_word(at(generation_at(current_)), generation_);
}

std::uint32_t* Journal::Writer::find(const LockKey& key, std::uint32_t tag) noexcept {
    return index_.find(tag, [&](std::uint32_t place) {
        const EncodedKey other = encoded_key(at(to_offset(place)));
        return other.id == key.id.view() && other.resource == key.resource.view();
    });
}

bool Journal::Writer::put(const core::GrantRecord& record, Time now) noexcept {
    if (!try_put(record, now)) {
        ++counts_.refused;
        return false;
    }
    ++counts_.puts;
    return true;
}

bool Journal::Writer::try_put(const core::GrantRecord& record, Time now) noexcept {
    const std::size_t length = encoded_bytes(record);
    if (length == 0 || length > record_bytes_max || record.fence >= fence_end) return false;
    const std::uint32_t tag = tag_of(record.key);
    if (is_moving() && !move_some(length * move_factor)) return false;
    change_halves_if_due(length);
    std::uint32_t* const old = find(record.key, tag);
    const std::size_t old_length =
        old != nullptr ? load_record_head(at(to_offset(*old))).length : 0;
    if (old == nullptr && index_.size() >= options_.locks_max) return false;
    // A record that doesn't grow is let through also where the bytes have run out.
    if (length > old_length && counts_.live_bytes + length - old_length > counts_.live_bytes_max) {
        return false;
    }
    if (!reserve(current(), length)) return false;

    raise_fence(record.fence);
    const std::size_t offset = current().end;
    const std::span<std::byte> out(at(offset), length);
    encode(record, now, out);
    const auto crc_at = out.subspan(8);
    const std::uint32_t crc = record_checksum(out);
    std::memcpy(crc_at.data(), &crc, sizeof crc);
    std::memcpy(crc_at.data() + 4, &tag, sizeof tag);
    publish(length);
    counts_.live_bytes += length - old_length;
    if (old == nullptr) {
        index_.insert(tag, to_place(offset));
    } else {
        mark_over(to_offset(*old));
        *old = to_place(offset);
    }
    return true;
}

void Journal::Writer::drop(const LockKey& key, Fence fence) noexcept {
    raise_fence(fence);
    const std::uint32_t* const found = find(key, tag_of(key));
    if (found == nullptr) return;
    const std::size_t offset = to_offset(*found);
    if (encoded_fence(at(offset)) > fence) return;
    counts_.live_bytes -= load_record_head(at(offset)).length;
    index_.erase(found);
    mark_over(offset);
    ++counts_.drops;
}

void Journal::Writer::raise_fence(Fence fence) noexcept {
    if (fence <= highest_fence_ || fence >= fence_end) return;
    highest_fence_ = fence;
    store_word(at(fence_at), to_fence_word(fence));
}

JournalCounts Journal::Writer::counts() const noexcept {
    JournalCounts counts = counts_;
    counts.records = index_.size();
    return counts;
}

// Goes along the former half for so many bytes. false: there was no room to move a record.
bool Journal::Writer::move_some(std::size_t bytes) noexcept {
    const std::size_t end = former().end;
    for (std::size_t done = 0; done < bytes && moved_to_ != end;) {
        const RecordHead head = load_record_head(at(moved_to_));
        if (head.state == RecordState::live && !move_one(moved_to_, head.length)) return false;
        moved_to_ += head.length;
        done += head.length;
    }
    if (moved_to_ == end) {
        store_word(at(generation_at(1 - current_)), 0);
        former().end = former().begin;
        moved_to_ = 0;
    }
    return true;
}

bool Journal::Writer::move_one(std::size_t from, std::size_t length) noexcept {
    if (!reserve(current(), length)) return false;
    const std::size_t to = current().end;
    std::memcpy(at(to) + word_bytes, at(from) + word_bytes, length - word_bytes);
    publish(length);
    std::uint32_t* const place =
        index_.find(load_record_head(at(from)).tag,
                    [&](std::uint32_t other) { return other == to_place(from); });
    if (place != nullptr) *place = to_place(to);
    mark_over(from);
    return true;
}

void Journal::Writer::change_halves_if_due(std::size_t bytes) noexcept {
    if (is_moving()) return;
    const std::size_t limit =
        std::min(half_bytes_ - word_bytes,
                 std::max(options_.rewrite_from_bytes, counts_.live_bytes * garbage_factor));
    if (current().end - current().begin + bytes <= limit || current().end == current().begin) {
        return;
    }
    // Without room in the other half this one goes on while it has some itself.
    if (!reserve(former(), bytes)) return;
    store_word(at(former().begin), 0);
    store_word(at(generation_at(1 - current_)), ++generation_);
    current_ = 1 - current_;
    moved_to_ = former().begin;
    ++counts_.rewrites;
}

// Makes sure that a record of so many bytes and the word behind it can be written.
bool Journal::Writer::reserve(Half& half, std::size_t bytes) noexcept {
    const std::size_t needed = half.end + bytes + word_bytes;
    if (needed <= half.reserved) return true;
    const std::size_t end = half.begin + half_bytes_;
    if (needed > end) return false;
    const std::size_t upto = std::min(end, std::max(needed, half.reserved + reserve_step_bytes));
    const auto from = static_cast<off_t>(half.reserved);
    if (::posix_fallocate(file_.get(), from, static_cast<off_t>(upto - half.reserved)) != 0) {
        return false;
    }
    half.reserved = upto;
    return true;
}

// Makes the record that lies at the end of the current half exist.
void Journal::Writer::publish(std::size_t length) noexcept {
    Half& half = current();
    store_word(at(half.end + length), 0);
    store_word(at(half.end), to_record_word(static_cast<std::uint32_t>(length), RecordState::live));
    half.end += length;
}

void Journal::Writer::mark_over(std::size_t offset) noexcept {
    const RecordHead head = load_record_head(at(offset));
    store_word(at(offset), to_record_word(head.length, RecordState::over));
}

}  // namespace latchd::journal
