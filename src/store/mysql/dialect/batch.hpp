// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answer.hpp"
#include "decision.hpp"
#include "statements.hpp"

#include <latchd/store/mysql/options.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace latchd::store::mysql {

// Stamps of rows: never the same twice, whichever node.
class Stamps {
public:
    explicit Stamps(std::uint64_t incarnation) : prefix_(std::to_string(incarnation) + '.') {}
    [[nodiscard]] std::string next() { return prefix_ + std::to_string(++number_); }

private:
    std::string prefix_;
    std::uint64_t number_ = 0;
};

// Operations on different locks on their way through a server: which query is next, and what its
// answer means. No I/O. The strategies differ in the first query alone:
//   upsert       one statement that changes the rows it can, and the rows as they are then
//   optimistic   the rows as they are
//   pessimistic  the same, locked, in a transaction that stays open; rows that aren't there are
//                made after it
// What is left is decided by core::Table and written if the row's stamp is still the one that was
// seen; if it isn't, the row is read again.
class Batch {
public:
    struct Result {
        std::optional<core::OperationReply> reply;  // else it failed:
        core::Failure failure = core::Failure::refused;
        std::string text;
    };

    // At most one operation for each lock, none of them a List.
    Batch(Strategy strategy, std::vector<core::Operation> operations, Stamps& stamps);

    [[nodiscard]] bool is_done() const noexcept { return phase_ == Phase::done; }
    // The next query. `guard`: read anew for each.
    [[nodiscard]] std::string text(const Guard& guard);
    void answered(Answer&& answer);

    // The last answer was a deadlock: the next query after a short random while.
    [[nodiscard]] bool should_pause() const noexcept { return should_pause_; }
    // The placement's row is another, the server is read-only: look who is there.
    [[nodiscard]] bool is_doubtful() const noexcept { return is_doubtful_; }
    // Once done: by the order of `operations`.
    [[nodiscard]] const std::vector<Result>& results() const noexcept { return results_; }
    // What other nodes have to be told.
    [[nodiscard]] std::vector<Letter> take_letters() noexcept;

private:
    enum class Phase : std::uint8_t { plain, look, write, commit, make, done };
    struct Item {
        std::size_t index = 0;  // in results_
        LockKey key;
        core::Operation operation;
        Phase phase = Phase::look;
        std::string stamp;
        Decision decision;
        bool is_clock_refused = false;  // once already
        std::uint32_t rounds = 0;
    };

    [[nodiscard]] std::vector<Item*> in(Phase phase);
    void go_on();
    [[nodiscard]] std::string plain_text(const Guard& guard);
    [[nodiscard]] std::string look_text(const Guard& guard);
    [[nodiscard]] std::string write_text(const Guard& guard);
    void plain_answered(const Answer& answer);
    void look_answered(const Answer& answer);
    void write_answered(const Answer& answer);
    void failed(const Answer& answer);
    bool is_refused(const GuardSeen& seen);
    void decide_item(Item& item, LockRow&& row, const GuardSeen& seen);
    void settle(Item& item);
    [[nodiscard]] core::OperationReply plain_reply(const Item& item, const LockRow& row) const;
    void reply(Item& item, core::OperationReply&& reply);
    void fail(Item& item, core::Failure failure, const std::string& text);
    void fail_all(core::Failure failure, const std::string& text);

    Strategy strategy_;
    Stamps& stamps_;
    std::vector<Item> items_;  // by key
    std::vector<Result> results_;
    std::vector<Letter> letters_;
    Phase phase_ = Phase::done;
    Guard guard_;                // of the last query
    std::size_t commit_at_ = 0;  // which of its statements is the COMMIT
    bool is_transaction_open_ = false;
    bool should_pause_ = false;
    bool is_doubtful_ = false;
    std::uint32_t deadlocks_ = 0;
};

}  // namespace latchd::store::mysql
