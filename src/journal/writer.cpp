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
// Bars (cancelled request ids) are records like others, with an index and a number of their own, so
// that they never keep a lock from being written down; L counts both. They end by themselves: each
// put and bar marks a few that are over.
//
// Room in the file system is taken 256 KiB at a time before it is touched: touching a hole on a
// full tmpfs would be a SIGBUS, this way it is a put that is refused.

namespace latchd::journal {
namespace {

constexpr std::size_t move_factor = 4;
constexpr std::size_t garbage_factor = 4;
constexpr std::size_t reserve_step_bytes = 256 * 1'024;
constexpr int over_bars_step = 4;

constexpr std::uint32_t to_tag(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash ^ hash >> 32);
}
std::uint32_t tag_of(const LockKey& key) noexcept { return to_tag(std::hash<LockKey>{}(key)); }
std::uint32_t tag_of(const core::CancelledRequest& bar) noexcept {
    return to_tag(std::hash<LockKey>{}(bar.key) * 31 + std::hash<RequestId>{}(bar.request));
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
      half_bytes_(half_bytes_for(live_bytes_max, options.locks_max)),
      index_(options.locks_max),
      bars_(options.locks_max),
      bar_ends_(options.locks_max) {
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

std::uint32_t* Journal::Writer::find(const core::CancelledRequest& bar,
                                     std::uint32_t tag) noexcept {
    return bars_.find(tag, [&](std::uint32_t place) {
        const EncodedKey other = encoded_key(at(to_offset(place)));
        return other.owner == bar.request.view() && other.id == bar.key.id.view() &&
               other.resource == bar.key.resource.view();
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
    drop_over_bars(now);
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
    encode(record, now, {at(current().end), length});
    append(index_, tag, old, length);
    counts_.live_bytes += length - old_length;
    return true;
}

bool Journal::Writer::bar(const core::CancelledRequest& cancelled, Time now) noexcept {
    const bool is_kept = try_bar(cancelled, now);
    if (!is_kept) ++counts_.refused;
    return is_kept;
}

bool Journal::Writer::try_bar(const core::CancelledRequest& wish, Time now) noexcept {
    const std::size_t length = encoded_bytes(wish);
    if (length == 0) return false;
    const std::uint32_t tag = tag_of(wish);
    drop_over_bars(now);
    if (is_moving() && !move_some(length * move_factor)) return false;
    change_halves_if_due(length);
    std::uint32_t* const old = find(wish, tag);
    if (old != nullptr && encoded_end(at(to_offset(*old))) >= now + wish.left) return true;
    if (old == nullptr && bars_.size() >= options_.locks_max) return false;
    if (!reserve(current(), length)) return false;

    encode(wish, now, {at(current().end), length});
    append(bars_, tag, old, length);
    if (old != nullptr) return true;  // of the same length
    bar_bytes_ += length;
    bar_ends_.push({now + wish.left, tag});
    return true;
}

// What was encoded at the end of the current half takes the place of the old one, if there is one.
void Journal::Writer::append(Index& index,
                             std::uint32_t tag,
                             std::uint32_t* old,
                             std::size_t length) noexcept {
    const std::size_t offset = current().end;
    const std::uint32_t crc = record_checksum({at(offset), length});
    std::memcpy(at(offset + 8), &crc, sizeof crc);
    std::memcpy(at(offset + 12), &tag, sizeof tag);
    publish(length);
    if (old == nullptr) {
        index.insert(tag, to_place(offset));
    } else {
        mark_over(to_offset(*old));
        *old = to_place(offset);
    }
}

// Each bar has an end that waits, found again by its tag; of a bar that was kept for longer it is
// the former one, and waits anew.
void Journal::Writer::drop_over_bars(Time now) noexcept {
    for (int i = 0; i < over_bars_step; ++i) {
        if (bar_ends_.is_empty() || bar_ends_.front().at > now) return;
        const std::uint32_t tag = bar_ends_.front().tag;
        bar_ends_.pop();
        const std::uint32_t* const over = bars_.find(
            tag, [&](std::uint32_t place) { return encoded_end(at(to_offset(place))) <= now; });
        if (over == nullptr) {
            const std::uint32_t* const kept = bars_.find(tag, [](std::uint32_t) { return true; });
            bar_ends_.push({encoded_end(at(to_offset(*kept))), tag});
            continue;
        }
        const std::size_t offset = to_offset(*over);
        bar_bytes_ -= load_record_head(at(offset)).length;
        bars_.erase(over);
        mark_over(offset);
    }
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

void Journal::Writer::belongs_to(std::uint64_t incarnation) noexcept {
    const auto id = file_id(file_);
    if (id) store_word(at(owner_at), to_owner_word(incarnation, *id));
}

void Journal::Writer::lacks_some() noexcept { store_word(at(owner_at), 0); }

JournalCounts Journal::Writer::counts() const noexcept {
    JournalCounts counts = counts_;
    counts.records = index_.size();
    counts.bars = bars_.size();
    return counts;
}

std::size_t Journal::Writer::room() noexcept {
    const std::size_t locks = options_.locks_max - std::min(options_.locks_max, index_.size());
    const std::size_t bytes =
        counts_.live_bytes_max - std::min(counts_.live_bytes_max, counts_.live_bytes);
    const std::size_t most = std::min(locks, bytes / record_budget_bytes);
    // Near its end a half is left for the other one, whose room the next put takes.
    Half& half = current();
    const bool is_near_end = half.end + reserve_step_bytes > half.begin + half_bytes_;
    if (most == 0 || is_near_end || reserve(half, reserve_step_bytes / 2)) return most;
    // The file system is full: what is left has to do for the records and what is moved for them.
    const std::size_t left = half.reserved - std::min(half.reserved, half.end + word_bytes);
    return std::min(most, left / ((1 + move_factor) * record_budget_bytes));
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
    Index& index = is_bar({at(from), length}) ? bars_ : index_;
    std::uint32_t* const place =
        index.find(load_record_head(at(from)).tag,
                   [&](std::uint32_t other) { return other == to_place(from); });
    if (place != nullptr) *place = to_place(to);
    mark_over(from);
    return true;
}

void Journal::Writer::change_halves_if_due(std::size_t bytes) noexcept {
    if (is_moving()) return;
    const std::size_t limit = std::min(
        half_bytes_ - word_bytes,
        std::max(options_.rewrite_from_bytes, (counts_.live_bytes + bar_bytes_) * garbage_factor));
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
