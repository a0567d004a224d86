// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "keeping.hpp"

#include <latchd/telemetry/log.hpp>

#include <algorithm>
#include <utility>

namespace latchd::app {
namespace {

void warn(const std::string& text) {
    if (!text.empty()) telemetry::log(telemetry::Level::warning, "journal.warning", text);
}

}  // namespace

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
    warn(opened.warning);
    runtime_ = std::move(opened.directory);
    if (!runtime_) return true;

    journal::JournalOpened read = journal::Journal::open(
        *runtime_, journal::read_host(), {.locks_max = options.stores.front().max_locks}, now);
    for (const std::string& warning : read.recovered.warnings) warn(warning);
    journal_ = std::move(read.journal);
    records_ = std::move(read.recovered.records);
    highest_fence_ = read.recovered.highest_fence;
    return true;
}

bool Keeping::open_state(const config::Options& options, std::string& refusal) {
    using Purpose = journal::NodeDirectory::Purpose;
    journal::DirectoryOpened opened =
        journal::NodeDirectory::open(options.state_dir, NodeName(options.node), Purpose::state);
    refusal = opened.refusal;
    if (!refusal.empty()) return false;
    warn(opened.warning);
    state_directory_ = std::move(opened.directory);
    if (!state_directory_) return true;

    journal::StateRead read = journal::load_state(*state_directory_);
    warn(read.warning);
    state_ = std::move(read.state);
    return true;
}

std::vector<core::GrantRecord> Keeping::take_records() { return std::exchange(records_, {}); }

core::authority::Known Keeping::known() const {
    return {.uuid = core::authority::ClusterUuid(state_.cluster),
            .epoch = std::max(state_.epoch, epoch_of(highest_fence_))};
}

void Keeping::save(const core::authority::Known& known) {
    state_.cluster = known.uuid.str();
    state_.epoch = std::max(state_.epoch, known.epoch);
    if (state_directory_) warn(journal::save_state(*state_directory_, state_));
}

bool Keeping::put(const core::GrantRecord& record, Time now) {
    if (!journal_ || journal_->put(record, now)) return true;
    telemetry::log(
        telemetry::Level::error,
        "journal.full",
        "no room for a grant in the runtime directory's journal: the file system is full, "
        "or its size, which follows max_locks, is used up; LOCK is answered LIMIT journal");
    return false;
}

void Keeping::drop(const LockKey& key, Fence fence) {
    if (journal_) journal_->drop(key, fence);
}

}  // namespace latchd::app
