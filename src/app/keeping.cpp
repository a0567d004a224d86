// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "keeping.hpp"

#include <latchd/store/arbiter/codec.hpp>
#include <latchd/telemetry/log.hpp>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

namespace latchd::app {
namespace {

void warn(const std::string& text) {
    if (!text.empty()) telemetry::log(telemetry::Level::warning, "journal.warning", text);
}

}  // namespace

void Keeping::warn_of_memory(const std::string& why, const std::string& consequence) {
    if (why.empty()) return;
    warn(why + ": " + consequence);
    warning_ += (warning_.empty() ? "" : "; ") + why + ": " + consequence;
}

std::unique_ptr<Keeping> Keeping::open(const config::Options& options,
                                       Time now,
                                       std::string& refusal) {
    std::unique_ptr<Keeping> keeping(new Keeping);
    if (!keeping->open_runtime(options, now, refusal)) return nullptr;
    if (!keeping->open_state(options, refusal)) return nullptr;
    return keeping;
}

bool Keeping::open_runtime(const config::Options& options, Time now, std::string& refusal) {
    using Purpose = journal::NodeDirectory::Purpose;
    journal::DirectoryOpened opened =
        journal::NodeDirectory::open(options.runtime_dir, NodeName(options.node), Purpose::runtime);
    refusal = opened.refusal;
    if (!refusal.empty()) return false;
    const std::string consequence =
        "grants are not written down, a restart of this process forgets them; make runtime_dir (" +
        options.runtime_dir +
        ") a folder with room that latchd may write to, or name another, and "
        "start it again";
    warn_of_memory(opened.warning, consequence);
    runtime_ = std::move(opened.directory);
    if (!runtime_) return true;

    journal::JournalOpened read = journal::Journal::open(
        *runtime_, host_, {.locks_max = options.stores.back().max_locks}, now);
    journal_ = std::move(read.journal);
    std::vector<std::string>& warnings = read.recovered.warnings;
    if (!journal_) {
        warn_of_memory(warnings.empty() ? "no journal" : warnings.back(), consequence);
        if (!warnings.empty()) warnings.pop_back();
    }
    for (const std::string& warning : warnings) warn(warning);
    records_ = std::move(read.recovered.records);
    cancelled_ = std::move(read.recovered.cancelled);
    highest_fence_ = read.recovered.highest_fence;
    found_ = std::move(read.recovered);
    return true;
}

bool Keeping::open_state(const config::Options& options, std::string& refusal) {
    using Purpose = journal::NodeDirectory::Purpose;
    journal::DirectoryOpened opened =
        journal::NodeDirectory::open(options.state_dir, NodeName(options.node), Purpose::state);
    refusal = opened.refusal;
    if (!refusal.empty()) return false;
    warn_of_memory(opened.warning,
                   "epochs are not written down, after a restart they rest on the clock; make "
                   "state_dir (" +
                       options.state_dir +
                       ") a folder with room that latchd may write to, or name another, and start "
                       "it again");
    state_directory_ = std::move(opened.directory);
    if (!state_directory_) return true;

    journal::StateRead read = journal::load_state(*state_directory_);
    warn(read.warning);
    state_ = std::move(read.state);
    const bool is_same_boot = state_.boot == host_.boot && !host_.boot.empty();
    if (is_same_boot && state_.incarnation == 0) {
        // It left in good order: its grants may have been released elsewhere since.
        for (const core::GrantRecord& record : records_) drop(record.key, record.fence);
        records_.clear();
    }
    former_ = {
        .incarnation = state_.incarnation,
        .has_journal = state_.has_journal && is_same_boot && found_.is_all_of(state_.incarnation),
        .arbiter_clock = {},
        .record = store::arbiter::from_json<core::authority::FleetRecord>(state_.authority)};
    if (state_.arbiter_clock_us && is_same_boot) {
        former_.arbiter_clock = Duration(*state_.arbiter_clock_us);
    }
    return true;
}

void Keeping::begin(core::authority::Incarnation incarnation) {
    state_.incarnation = incarnation;
    state_.boot = host_.boot;
    state_.has_journal = journal_ != nullptr;
    state_.arbiter_clock_us.reset();
    if (former_.arbiter_clock) state_.arbiter_clock_us = former_.arbiter_clock->count();
    save();
    if (journal_) journal_->belongs_to(incarnation);
}

void Keeping::leave() {
    state_.incarnation = 0;
    state_.has_journal = false;
    save();
}

void Keeping::save() {
    if (!state_directory_) return;
    unsaved_ = journal::save_state(*state_directory_, state_);
    warn(unsaved_);
}

std::string Keeping::warning() const {
    if (unsaved_.empty()) return warning_;
    return warning_ + (warning_.empty() ? "" : "; ") + state_directory_->path() + ": " + unsaved_ +
           ": the epoch is not written down; give state_dir room that latchd may write to";
}

bool Keeping::leaves_a_trace() const noexcept {
    return journal_ != nullptr || (state_directory_ && unsaved_.empty());
}

void Keeping::save_local_floor(Fence floor) {
    if (floor <= state_.local_fence_floor) return;
    state_.local_fence_floor = floor;
    save();
}

// Saving blocks for the disk: only what has moved, and now and then.
void Keeping::keep_offset(Duration offset, Time now) {
    constexpr Duration moved_min = std::chrono::milliseconds(20);
    constexpr Duration every = std::chrono::minutes(1);
    const Duration kept(state_.arbiter_clock_us.value_or(0));
    const Duration moved = offset > kept ? offset - kept : kept - offset;
    const bool is_first = !state_.arbiter_clock_us;
    if (!is_first && (moved < moved_min || now - offset_saved_ < every)) return;
    state_.arbiter_clock_us = offset.count();
    offset_saved_ = now;
    save();
}

// Once per epoch.
void Keeping::keep_record(const core::authority::FleetRecord& record) {
    state_.authority = store::arbiter::to_json(record);
    save();
}

std::vector<core::GrantRecord> Keeping::take_records() { return std::exchange(records_, {}); }
std::vector<core::CancelledRequest> Keeping::take_cancelled() {
    return std::exchange(cancelled_, {});
}

core::authority::Known Keeping::known() const {
    return {.uuid = core::authority::ClusterUuid(state_.cluster),
            .epoch = std::max(state_.epoch, epoch_of(highest_fence_))};
}

void Keeping::save(const core::authority::Known& known) {
    state_.cluster = known.uuid.str();
    state_.epoch = std::max(state_.epoch, known.epoch);
    save();
}

bool Keeping::put(const core::GrantRecord& record, Time now) {
    if (!journal_ || journal_->put(record, now)) return true;
    journal_->lacks_some();
    telemetry::log(
        telemetry::Level::error,
        "journal.full",
        "no room for a grant in the runtime directory's journal: the file system is full, "
        "or its size, which follows max_locks, is used up; LOCK is answered LIMIT journal");
    return false;
}

void Keeping::keep_cancelled(const core::CancelledRequest& cancelled, Time now) {
    if (!journal_ || journal_->bar(cancelled, now)) return;
    telemetry::log(
        telemetry::Level::warning,
        "journal.bars_full",
        "no room for a cancelled request id in the runtime directory's journal: a restart "
        "of this process forgets it");
}

std::size_t Keeping::room() {
    return journal_ ? journal_->room() : std::numeric_limits<std::size_t>::max();
}

void Keeping::drop(const LockKey& key, Fence fence) {
    if (journal_) journal_->drop(key, fence);
}

}  // namespace latchd::app
