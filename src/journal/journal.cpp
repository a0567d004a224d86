// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "format.hpp"
#include "posix.hpp"
#include "writer.hpp"

#include <latchd/journal/journal.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <stdio.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace latchd::journal {

namespace {

constexpr const char* file_name = "journal";
constexpr const char* new_file_name = "journal.new";
constexpr std::size_t live_bytes_limit = std::size_t{8} << 30;  // what the index' places reach

Recovered read_former(int folder, const Host& host, Time now) {
    Recovered found;
    const Descriptor file = open_regular(folder, file_name, O_RDONLY);
    struct stat is {};
    if (!file.is_open() && errno == ENOENT) return found;
    if (!file.is_open() || ::fstat(file.get(), &is) != 0) {
        found.origin = Recovered::Origin::unusable;
        found.warnings.push_back(failed("journal not read"));
        return found;
    }
    // An empty file can't be mapped; it is too short in any case.
    const auto size = static_cast<std::size_t>(is.st_size);
    if (size == 0) return read_journal({}, host, now);
    const Mapping mapping(file.get(), size, false);
    if (mapping.bytes().empty()) {
        found.origin = Recovered::Origin::unusable;
        found.warnings.push_back(failed("journal not mapped"));
        return found;
    }
    found = read_journal(mapping.bytes(), host, now);
    if (const auto id = file_id(file)) found.file = *id;
    return found;
}

// Large enough for what was found, also where locks_max has been lowered.
std::size_t live_bytes_for(std::size_t locks_max, const std::vector<core::GrantRecord>& records) {
    std::size_t found = 0;
    for (const core::GrantRecord& record : records) found += encoded_bytes(record);
    return std::min(std::max(locks_max * record_budget_bytes, 2 * found), live_bytes_limit);
}

}  // namespace

// Makes the new file beside the old one: up to the rename the old one stays as it was, so that
// being killed here costs nothing.
struct JournalOpener {
    const NodeDirectory& directory;
    Recovered& recovered;

    std::unique_ptr<Journal> make(const Host& host, JournalOptions options, Time now) {
        options.locks_max =
            std::clamp(options.locks_max,
                       std::max(recovered.records.size(), recovered.cancelled.size()),
                       live_bytes_limit / record_budget_bytes);
        const std::size_t live_bytes = live_bytes_for(options.locks_max, recovered.records);
        ::unlinkat(directory.fd(), new_file_name, 0);
        Descriptor file = open_regular(directory.fd(), new_file_name, O_RDWR | O_CREAT | O_EXCL);
        if (!file.is_open()) return give_up(failed(directory.path() + ": no journal"));
        const FileHead head = make_file_head(host, half_bytes_for(live_bytes, options.locks_max));
        const std::size_t size = file_bytes(head.half_bytes);
        if (const int error = ::posix_fallocate(file.get(), 0, head_bytes); error != 0) {
            return give_up(failed(directory.path() + ": no journal", error));
        }
        if (::ftruncate(file.get(), static_cast<off_t>(size)) != 0) {
            return give_up(failed(directory.path() + ": no journal"));
        }
        Mapping mapping(file.get(), size, true);
        if (mapping.bytes().empty()) return give_up(failed(directory.path() + ": no journal"));
        std::memcpy(mapping.bytes().data(), &head, sizeof head);
        auto writer = std::make_unique<Journal::Writer>(
            std::move(file), std::move(mapping), options, live_bytes);
        return fill(std::move(writer), now);
    }

    std::unique_ptr<Journal> fill(std::unique_ptr<Journal::Writer> writer, Time now) {
        writer->raise_fence(recovered.highest_fence);
        for (const core::GrantRecord& record : recovered.records) {
            if (!writer->put(record, now)) {
                return give_up(directory.path() + ": no journal: no room for the records found");
            }
        }
        for (const core::CancelledRequest& cancelled : recovered.cancelled) {
            if (!writer->bar(cancelled, now)) {
                return give_up(directory.path() + ": no journal: no room for what was cancelled");
            }
        }
        if (::renameat(directory.fd(), new_file_name, directory.fd(), file_name) != 0) {
            return give_up(failed(directory.path() + ": no journal"));
        }
        return std::unique_ptr<Journal>(new Journal(std::move(writer)));
    }

    std::unique_ptr<Journal> give_up(std::string why) {
        recovered.warnings.push_back(std::move(why));
        ::unlinkat(directory.fd(), new_file_name, 0);
        return nullptr;
    }
};

JournalOpened Journal::open(const NodeDirectory& directory,
                            const Host& host,
                            const JournalOptions& options,
                            Time now) {
    JournalOpened opened;
    opened.recovered = read_former(directory.fd(), host, now);
    opened.journal = JournalOpener{directory, opened.recovered}.make(host, options, now);
    return opened;
}

Journal::Journal(std::unique_ptr<Writer> writer) noexcept : writer_(std::move(writer)) {}
Journal::~Journal() = default;

bool Journal::put(const core::GrantRecord& record, Time now) noexcept {
    return writer_->put(record, now);
}
void Journal::belongs_to(std::uint64_t incarnation) noexcept { writer_->belongs_to(incarnation); }
void Journal::lacks_some() noexcept { writer_->lacks_some(); }
void Journal::drop(const LockKey& key, Fence fence) noexcept { writer_->drop(key, fence); }
bool Journal::bar(const core::CancelledRequest& cancelled, Time now) noexcept {
    return writer_->bar(cancelled, now);
}
void Journal::raise_fence(Fence fence) noexcept { writer_->raise_fence(fence); }
Fence Journal::highest_fence() const noexcept { return writer_->highest_fence(); }
JournalCounts Journal::counts() const noexcept { return writer_->counts(); }
std::size_t Journal::room() noexcept { return writer_->room(); }

}  // namespace latchd::journal
