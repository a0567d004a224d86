// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "tier.hpp"

#include <algorithm>
#include <utility>

// What is carried in and out at a change of epoch. One call is under way at a time; a further one
// ends the former as not done.
namespace latchd::store::mysql {

namespace authority = core::authority;

namespace {

constexpr std::size_t rows_at_once = 1'000;
constexpr Duration page_limit = std::chrono::seconds(5);

Guard settling_guard(const std::string& cluster, Epoch epoch) {
    Guard guard;
    guard.cluster = cluster;
    guard.since = epoch;
    guard.is_settling = true;
    return guard;
}

}  // namespace

void MysqlTier::end_call(const std::string& text) { done(false, text); }

void MysqlTier::done(bool is_done, const std::string& text, bool is_overtaken) {
    ++call_number_;
    auto call = std::exchange(call_, std::monostate{});
    if (auto* reading = std::get_if<Reading>(&call)) {
        return tell(authority::TierRead{index_, reading->id, is_done, std::move(reading->claims)});
    }
    std::optional<CallId> id;
    if (const auto* loading = std::get_if<Loading>(&call)) id = loading->id;
    if (const auto* initialising = std::get_if<CallId>(&call)) id = *initialising;
    if (id) tell(authority::TierDone{index_, *id, is_done, text, is_overtaken});
}

// The placement's row is the marker; the process is what is confirmed here.
void MysqlTier::act(authority::TierInitialise&& action) {
    end_call("another call came");
    call_ = action.id;
    if (!is_identified_) return done(false, last_error_);
    look([this, number = ++call_number_, run_id = action.next.run_id](const Session* session) {
        if (number != call_number_) return;
        if (session == nullptr) return done(false, "the server did not say who it is");
        const bool is_same =
            session->identity.run_id == run_id && session->identity.role == authority::Role::master;
        done(is_same, is_same ? "" : "another process answers, or it is read-only", !is_same);
    });
}

void MysqlTier::act(authority::TierLoad&& action) {
    end_call("another call came");
    Loading loading;
    loading.id = action.id;
    loading.epoch = action.epoch;
    loading.claims = std::move(action.claims);
    call_ = std::move(loading);
    ++call_number_;
    if (!is_identified_) return done(false, last_error_);
    const Guard guard = settling_guard(options_.cluster, action.epoch);
    connection_->query(
        guard_statement(guard, GuardLock::none), [this, number = call_number_](Answer&& answer) {
            if (number != call_number_) return;
            if (answer.error) return done(false, describe(*answer.error));
            const GuardSeen seen = read_guard(answer.sets.at(0));
            if (!seen.is_placed || !seen.is_writable) {
                return done(false, "the placement does not settle in this epoch", true);
            }
            auto& loading = std::get<Loading>(call_);
            loading.rows = rows_of(std::exchange(loading.claims, {}), loading.epoch, seen.now);
            load_next();
        });
}

void MysqlTier::load_next() {
    auto& loading = std::get<Loading>(call_);
    if (loading.at == loading.rows.size()) return done(true, "");
    const std::size_t end = std::min(loading.at + rows_at_once, loading.rows.size());
    std::vector<RowWrite> writes;
    for (; loading.at < end; ++loading.at) {
        writes.push_back({&loading.rows[loading.at], stamps_.next(), Duration(-1)});
    }
    const Guard guard = settling_guard(options_.cluster, loading.epoch);
    connection_->query(
        "START TRANSACTION;" + guard_statement(guard, GuardLock::share) + ';' +
            write_statement(guard, writes, true) + ";COMMIT",
        [this, number = call_number_](Answer&& answer) {
            if (number != call_number_) return;
            if (answer.error) return done(false, describe(*answer.error));
            if (!read_guard(answer.sets.at(1)).is_placed) {
                return done(false, "the placement does not settle in this epoch any more", true);
            }
            load_next();
        },
        page_limit);
}

// The settling row has ended the former epoch already: no statement of it changes a row any more.
void MysqlTier::act(authority::TierCloseAndRead&& action) {
    end_call("another call came");
    Reading reading;
    reading.id = action.id;
    reading.since = action.expected.epoch;
    reading.next = action.next;
    call_ = std::move(reading);
    ++call_number_;
    if (!is_identified_) return done(false, last_error_);
    send_probe();  // what is left is counted by its clock
    read_next(std::nullopt);
}

void MysqlTier::read_next(std::optional<LockKey> after) {
    const auto& reading = std::get<Reading>(call_);
    const Guard guard = settling_guard(options_.cluster, reading.next);
    connection_->query(
        guard_statement(guard, GuardLock::none) + ';' +
            claims_statement(options_.cluster, reading.since, after, rows_at_once),
        [this, number = call_number_](Answer&& answer) {
            if (number != call_number_) return;
            if (answer.error) return done(false, describe(*answer.error));
            const GuardSeen seen = read_guard(answer.sets.at(0));
            if (!seen.is_placed) {
                return done(false, "the placement does not settle in this epoch");
            }
            auto& reading = std::get<Reading>(call_);
            const Rows& rows = answer.sets.at(1);
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const LockRow row = read_row(rows, i);
                // What it held can't be told any more: as if it could not be read.
                if (row.is_damaged) return done(false, "a row can't be understood");
                append_claims(reading.claims, row, reading.since, seen.now);
            }
            if (rows.size() < rows_at_once) return done(true, "");
            read_next(read_key(rows, rows.size() - 1));
        },
        page_limit);
}

}  // namespace latchd::store::mysql
