// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "tier.hpp"

#include <latchd/telemetry/log.hpp>

#include <algorithm>
#include <utility>

// Messages between nodes, and the sweep of rows that nobody needs.
namespace latchd::store::mysql {

namespace {

// Rows become visible in the order of their commits, not of their ids: what was read is read again
// for so long.
constexpr Duration overlap = std::chrono::seconds(1);
constexpr Duration letters_kept = std::chrono::seconds(60);
constexpr Duration busy_for = std::chrono::seconds(2);  // after an operation: poll_min
constexpr Duration idle_after = std::chrono::seconds(60);
constexpr Duration idle_poll = std::chrono::seconds(1);
constexpr std::size_t sweep_page = 500;

}  // namespace

// ---- messages --------------------------------------------------------------------------------

void MysqlTier::pool_letters(std::vector<Letter>&& letters) {
    if (!is_identified_) return;
    // A message that is lost costs what a look at the store costs: nothing is sent again.
    connection_->query(letters_statement(options_.cluster, letters), [](Answer&&) {});
}

void MysqlTier::begin_letters() {
    poll_at_.reset();
    is_polling_ = true;
    letters_seen_.clear();
    connection_->query(last_letter_statement(), [this, generation = generation_](Answer&& answer) {
        if (generation != generation_) return;
        is_polling_ = false;
        if (!served_) return;
        if (!answer.error) {
            letters_after_ = letters_high_ =
                answer.sets.at(0).number<std::uint64_t>(0, 0).value_or(0);
            letters_moved_ = now();
            // What was said before is not known.
            sink_.deliver(core::MessagesResumed{});
        }
        poll_at_ = now() + options_.poll_max;
        arm();
    });
}

void MysqlTier::poll_letters() {
    poll_at_.reset();
    if (!is_identified_ || !served_ || is_polling_) return;
    is_polling_ = true;
    connection_->query(read_letters_statement(options_.cluster, options_.node, letters_after_),
                       [this, generation = generation_](Answer&& answer) {
                           if (generation != generation_) return;
                           is_polling_ = false;
                           letters_read(answer);
                           arm();
                       });
}

void MysqlTier::letters_read(const Answer& answer) {
    if (!served_) return;
    const Time at = now();
    const Duration idle = at - asked_at_;
    poll_at_ = at + (idle < busy_for     ? options_.poll_min
                     : idle < idle_after ? options_.poll_max
                                         : idle_poll);
    if (answer.error) return;
    const std::uint64_t former_high = letters_high_;
    const Rows& rows = answer.sets.at(0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto id = rows.number<std::uint64_t>(i, 0);
        if (!id || !letters_seen_.insert(*id).second) continue;
        letters_high_ = std::max(letters_high_, *id);
        if (auto message = read_letter(rows, i)) sink_.deliver(std::move(*message));
    }
    if (at - letters_moved_ < overlap) return;
    letters_moved_ = at;
    letters_after_ = std::max(letters_after_, std::exchange(letters_base_, former_high));
    letters_seen_.erase(letters_seen_.begin(), letters_seen_.upper_bound(letters_after_));
}

// ---- the sweep -------------------------------------------------------------------------------

void MysqlTier::next_sweep() {
    const auto jitter = static_cast<std::uint64_t>(options_.sweep_every.count() / 4 + 1);
    sweep_at_ = now() + options_.sweep_every +
                Duration(static_cast<Duration::rep>(names_.draw_number() % jitter));
}

void MysqlTier::begin_sweep() {
    next_sweep();
    if (!is_identified_ || !served_ || shown_us_ == 0) return;
    is_sweeping_ = true;
    connection_->query(old_letters_statement(options_.cluster, letters_kept), [](Answer&&) {});
    sweep_on(std::nullopt);
}

void MysqlTier::sweep_on(std::optional<LockKey> after) {
    sweep_cutoff_us_ = shown_us_ + (now() - shown_at_).count() - options_.sweep_after.count();
    connection_->query(sweep_look_statement(options_.cluster, after, sweep_cutoff_us_, sweep_page),
                       [this, generation = generation_](Answer&& answer) {
                           if (generation != generation_) return;
                           if (answer.error || !served_) {
                               is_sweeping_ = false;
                               return;
                           }
                           sweep_seen(answer);
                       });
}

void MysqlTier::sweep_seen(const Answer& answer) {
    const Rows& rows = answer.sets.at(0);
    std::optional<LockKey> first;
    std::optional<LockKey> last;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows.text(i, 2) != "1") continue;
        if (!first) first = read_key(rows, i);
        last = read_key(rows, i);
    }
    if (first) {
        // Not on this connection: it waits for the placement's row, and a health check must not.
        pool_.chore(sweep_statements(options_.cluster, *first, *last, sweep_cutoff_us_),
                    [this](Answer&& swept) {
                        if (!swept.error) return;
                        telemetry::log(telemetry::Level::debug,
                                       "store.sweep_paused",
                                       options_.server.name + ": " + describe(*swept.error));
                    });
    }
    if (rows.size() < sweep_page) {
        is_sweeping_ = false;
        return arm();
    }
    sweep_on(read_key(rows, rows.size() - 1));
}

}  // namespace latchd::store::mysql
