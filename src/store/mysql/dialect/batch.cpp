// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "batch.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

namespace latchd::store::mysql {
namespace {

constexpr std::uint32_t rounds_max = 12;    // of one operation whose row changes all the time
constexpr std::uint32_t deadlocks_max = 3;  // safety.md 4.3
constexpr std::size_t no_commit = static_cast<std::size_t>(-1);

std::map<LockKey, LockRow> by_key(const Rows& rows) {
    std::map<LockKey, LockRow> found;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        LockRow row = read_row(rows, i);
        found.emplace(row.key, std::move(row));
    }
    return found;
}

LockRow take(std::map<LockKey, LockRow>& rows, const LockKey& key) {
    const auto it = rows.find(key);
    if (it != rows.end()) return std::move(it->second);
    LockRow none;
    none.key = key;
    return none;
}

}  // namespace

Batch::Batch(Strategy strategy, std::vector<core::Operation> operations, Stamps& stamps)
    : strategy_(strategy), stamps_(stamps), results_(operations.size()) {
    items_.reserve(operations.size());
    for (std::size_t i = 0; i < operations.size(); ++i) {
        Item item;
        item.index = i;
        item.key = key_of(operations[i]);
        item.operation = std::move(operations[i]);
        const bool is_one_statement = strategy == Strategy::upsert && is_plain(item.operation);
        item.phase = is_one_statement ? Phase::plain : Phase::look;
        items_.push_back(std::move(item));
    }
    std::ranges::sort(items_, comes_before, &Item::key);
    go_on();
}

std::vector<Letter> Batch::take_letters() noexcept { return std::exchange(letters_, {}); }

std::vector<Batch::Item*> Batch::in(Phase phase) {
    std::vector<Item*> found;
    for (Item& item : items_) {
        if (item.phase == phase) found.push_back(&item);
    }
    return found;
}

void Batch::go_on() {
    const auto any = [this](Phase phase) {
        return std::ranges::any_of(items_, [&](const Item& item) { return item.phase == phase; });
    };
    for (const Phase phase : {Phase::plain, Phase::look, Phase::write}) {
        if (any(phase)) {
            phase_ = phase;
            return;
        }
    }
    phase_ = is_transaction_open_ ? Phase::commit : any(Phase::make) ? Phase::make : Phase::done;
}

// ---- what is sent ----------------------------------------------------------------------------

std::string Batch::text(const Guard& guard) {
    guard_ = guard;
    should_pause_ = false;
    commit_at_ = no_commit;
    switch (phase_) {
        case Phase::plain:
            return plain_text(guard);
        case Phase::look:
            return look_text(guard);
        case Phase::write:
        case Phase::make:
            return write_text(guard);
        case Phase::commit:
        case Phase::done:
            break;
    }
    return "COMMIT";
}

std::string Batch::plain_text(const Guard& guard) {
    std::vector<PlainWish> wishes;
    std::vector<LockKey> keys;
    for (Item* const item : in(Phase::plain)) {
        item->stamp = stamps_.next();
        wishes.push_back({&item->operation, item->stamp});
        keys.push_back(item->key);
    }
    commit_at_ = 4;
    return "START TRANSACTION;" + guard_statement(guard, GuardLock::share) + ';' +
           plain_statement(guard, wishes) + ';' + rows_statement(guard.cluster, keys, false) +
           ";COMMIT";
}

std::string Batch::look_text(const Guard& guard) {
    std::vector<LockKey> keys;
    for (const Item* const item : in(Phase::look)) keys.push_back(item->key);
    if (strategy_ != Strategy::pessimistic) {
        return guard_statement(guard, GuardLock::none) + ';' +
               rows_statement(guard.cluster, keys, false);
    }
    const std::string start = is_transaction_open_ ? "COMMIT;" : "";
    is_transaction_open_ = true;
    return start + "START TRANSACTION;" + guard_statement(guard, GuardLock::share) + ';' +
           rows_statement(guard.cluster, keys, true);
}

std::string Batch::write_text(const Guard& guard) {
    std::vector<RowWrite> writes;
    std::vector<LockKey> keys;
    for (Item* const item : in(phase_)) {
        item->stamp = stamps_.next();
        writes.push_back({&item->decision.next, item->stamp, window_of(guard, item->operation)});
        keys.push_back(item->key);
    }
    const std::string body = write_statement(guard, writes, false) + ';' +
                             stamps_statement(guard.cluster, keys) + ";COMMIT";
    commit_at_ = is_transaction_open_ ? 2 : 4;
    if (is_transaction_open_) return body;
    return "START TRANSACTION;" + guard_statement(guard, GuardLock::share) + ';' + body;
}

// ---- what is answered ------------------------------------------------------------------------

void Batch::answered(Answer&& answer) {
    if (answer.error) {
        failed(answer);
    } else {
        switch (phase_) {
            case Phase::plain:
                plain_answered(answer);
                break;
            case Phase::look:
                look_answered(answer);
                break;
            case Phase::write:
            case Phase::make:
                write_answered(answer);
                break;
            case Phase::commit:
                is_transaction_open_ = false;
                break;
            case Phase::done:
                break;
        }
    }
    go_on();
}

// The whole batch meets another placement, or a server that may not keep locks.
bool Batch::is_refused(const GuardSeen& seen) {
    if (seen.is_placed && seen.is_writable) return false;
    is_doubtful_ = true;
    fail_all(core::Failure::stale,
             seen.is_placed ? "the server is read-only" : "the locks of this epoch are elsewhere");
    return true;
}

void Batch::plain_answered(const Answer& answer) {
    const GuardSeen seen = read_guard(answer.sets.at(1));
    if (is_refused(seen)) return;
    auto rows = by_key(answer.sets.at(3));
    for (Item* const item : in(Phase::plain)) {
        LockRow row = take(rows, item->key);
        if (!row.is_damaged && row.stamp == item->stamp) {
            reply(*item, plain_reply(*item, row));
        } else {
            decide_item(*item, std::move(row), seen);
        }
    }
}

core::OperationReply Batch::plain_reply(const Item& item, const LockRow& row) const {
    core::OperationReply answer;
    answer.reply.status =
        std::holds_alternative<core::Acquire>(item.operation) ? core::Status::granted
        : std::holds_alternative<core::Renew>(item.operation) ? core::Status::renewed
                                                              : core::Status::released;
    answer.reply.record = core::to_record(row.key, row.record, row.changed_at);
    return answer;
}

void Batch::look_answered(const Answer& answer) {
    const std::size_t at = answer.sets.size() - 2;  // the transaction's statements come before
    const GuardSeen seen = read_guard(answer.sets.at(at));
    if (is_refused(seen)) return;
    auto rows = by_key(answer.sets.at(at + 1));
    for (Item* const item : in(Phase::look)) decide_item(*item, take(rows, item->key), seen);
}

void Batch::decide_item(Item& item, LockRow&& row, const GuardSeen& seen) {
    if (is_clock_off(guard_, seen.now, item.operation)) {
        // Once more, with a fresh reading: this one may have been long under way.
        if (std::exchange(item.is_clock_refused, true)) {
            fail(item, core::Failure::clock, "the server's clock is not where it should be");
        }
        return;
    }
    if (++item.rounds > rounds_max) {
        return fail(item, core::Failure::refused, "busy: others change this lock all the time");
    }
    item.decision = decide(seen.now, guard_.since, seen.floor, row, item.operation);
    if (item.decision.is_change) {
        // What isn't there could not be locked. To make it, and wait for whoever else makes it, is
        // for a transaction that holds no other row.
        const bool is_there = !row.stamp.empty();
        item.phase = is_transaction_open_ && !is_there ? Phase::make : Phase::write;
    } else {
        settle(item);
    }
}

void Batch::settle(Item& item) {
    for (auto& told : item.decision.told) {
        letters_.push_back({std::move(told.node), std::move(told.message)});
    }
    reply(item, std::move(item.decision.reply));
}

void Batch::write_answered(const Answer& answer) {
    const bool is_alone = !is_transaction_open_;
    is_transaction_open_ = false;
    if (is_alone && is_refused(read_guard(answer.sets.at(1)))) return;
    const Rows& rows = answer.sets.at(answer.sets.size() - 2);
    std::map<LockKey, std::string_view> stamps;
    for (std::size_t i = 0; i < rows.size(); ++i) stamps[read_key(rows, i)] = rows.text(i, 2);
    for (Item* const item : in(phase_)) {
        if (stamps[item->key] != item->stamp) {
            item->phase = Phase::look;
            continue;
        }
        settle(*item);
    }
}

void Batch::failed(const Answer& answer) {
    const Error& error = *answer.error;
    const bool was_open = std::exchange(is_transaction_open_, false);  // it is rolled back
    if (error.kind == ErrorClass::deadlock && ++deadlocks_ <= deadlocks_max) {
        should_pause_ = true;
        if (was_open) {
            for (Item* const item : in(Phase::write)) item->phase = Phase::look;
        }
        return;
    }
    const std::string text = describe(error);
    if (error.kind == ErrorClass::read_only) is_doubtful_ = true;
    const bool is_sent = phase_ == Phase::plain || phase_ == Phase::write || phase_ == Phase::make;
    const bool is_commit = answer.sets.size() == commit_at_;
    if (error.kind == ErrorClass::unsent) {
        fail_all(core::Failure::unsent, text);
    } else if (is_sent && (is_commit || !error.is_definite()) &&
               error.kind != ErrorClass::deadlock) {
        fail_all(core::Failure::in_doubt, text);
    } else if (error.ends_connection()) {
        fail_all(core::Failure::unsent, text);
    } else {
        fail_all(core::Failure::refused, error.kind == ErrorClass::busy ? "busy: " + text : text);
    }
}

void Batch::reply(Item& item, core::OperationReply&& reply) {
    item.phase = Phase::done;
    results_[item.index].reply = std::move(reply);
}

void Batch::fail(Item& item, core::Failure failure, const std::string& text) {
    item.phase = Phase::done;
    results_[item.index].failure = failure;
    results_[item.index].text = text;
}

void Batch::fail_all(core::Failure failure, const std::string& text) {
    for (Item& item : items_) {
        if (item.phase != Phase::done) fail(item, failure, text);
    }
}

}  // namespace latchd::store::mysql
