// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"
#include "pool.hpp"

#include <latchd/core/authority/clock_offset.hpp>
#include <latchd/runtime/deadline.hpp>
#include <latchd/runtime/random.hpp>
#include <latchd/store/mysql/store.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace latchd::store::mysql {

// A MySQL of which a core::authority::Fleet decides whether it serves. Loop thread only.
//
// One connection is for identity, probes, the end of former connections, hand-over, messages and
// the sweep; the pool's carry operations, while it serves. The end of the first ends the serving:
// it is taken up again by TierServe alone, after TierIdentified on the next one.
class MysqlTier final : public Tier, private Pool::User {
public:
    MysqlTier(boost::asio::io_context& context,
              Options options,
              std::function<Time()> boot_now,
              core::authority::TierIndex index,
              Sink& sink,
              FleetSink& fleet);
    ~MysqlTier() override;

    void start() override;
    void stop() override;
    void submit(core::OperationId id, core::Operation&& operation) override;
    [[nodiscard]] Health health() const override;

    void act(core::authority::TierLook&& action) override;
    void act(core::authority::TierInitialise&& action) override;
    void act(core::authority::TierLoad&& action) override;
    void act(core::authority::TierCloseAndRead&& action) override;
    void act(core::authority::TierServe&& action) override;
    void act(core::authority::TierNote&&) override {}  // without the arbiter it is gone, too
    void act(core::authority::TierWithdraw&& action) override;

private:
    using Evidence = core::authority::TierFailed::Evidence;
    using CallId = core::authority::CallId;

    // tier.cpp: the connection, health, serving
    void connect();
    void opened(const Session& session);
    void ready();
    void closed(const Error& error);
    void drop(const Error& error);
    void look(std::function<void(const Session*)> then);
    void identify(const Session& session);
    void send_probe();
    void probe_answered(Answer&& answer, std::uint64_t number, Time sent);
    void probe_is_late();
    void end_serving(const std::string& reason, bool is_silent);
    [[nodiscard]] Guard guard() override;
    void pool_opened() override;
    void pool_left(Former&& former) override;
    void pool_doubted() override;
    void pool_timed_out(const std::string& reason) override;
    void pool_letters(std::vector<Letter>&& letters) override;
    void pool_waits() override { arm(); }
    void kill_former();
    void uptime_shown(const Answer& answer);
    void look_for_former();
    void tell_ready();
    void tell_failed(Evidence evidence, bool is_connected, const std::string& reason);
    void arm();
    void on_time();

    // tier_calls.cpp: what is carried in and out
    void end_call(const std::string& text);
    void done(bool is_done, const std::string& text, bool is_overtaken = false);
    void load_next();
    void read_next(std::optional<LockKey> after);

    // tier_post.cpp: messages and the sweep
    void begin_letters();
    void poll_letters();
    void letters_read(const Answer& answer);
    void begin_sweep();
    void sweep_on(std::optional<LockKey> after);
    void sweep_seen(const Answer& answer);
    void next_sweep();

    template <class Event>
    void tell(Event&& event) {
        fleet_.happened(core::authority::FleetEvent{std::forward<Event>(event)});
    }
    [[nodiscard]] Time now() const { return boot_now_(); }
    [[nodiscard]] std::string address() const;

    struct Loading {
        CallId id{};
        Epoch epoch = 0;
        core::Claims claims;
        std::vector<LockRow> rows;  // empty until the server's time is known
        std::size_t at = 0;
    };
    struct Reading {
        CallId id{};
        Epoch since = 0;
        Epoch next = 0;
        core::Claims claims;
    };
    struct Served {
        Epoch epoch = 0;
        core::authority::Nonce nonce;
    };

    boost::asio::io_context& context_;
    const Options options_;
    std::function<Time()> boot_now_;
    const core::authority::TierIndex index_;
    Sink& sink_;
    FleetSink& fleet_;
    runtime::RandomNames names_;
    runtime::Deadline timer_;
    Stamps stamps_;
    Pool pool_;
    bool is_running_ = false;

    // The connection.
    std::shared_ptr<Connection> connection_;
    std::uint64_t generation_ = 0;  // counts connections: answers of a former one are dropped
    bool is_identified_ = false;
    bool is_migrated_ = false;
    Session session_;
    std::string server_seen_;  // id, host name and port that the first probe showed
    std::optional<Time> connect_at_;
    Duration backoff_{};
    std::string last_error_ = "-";
    bool was_well_ = false;
    std::optional<Time> failed_at_;  // when a failure was told last

    // Former connections that may still have something to carry out.
    std::vector<Former> former_;
    bool is_killing_ = false;
    std::optional<Time> former_look_at_;
    std::optional<Time> kill_by_;

    // Probes and the server's clock.
    std::optional<Time> probe_at_;
    std::optional<Time> late_at_;  // of the probe that is under way
    std::uint64_t probe_number_ = 0;
    core::authority::ClockOffset clock_;
    std::int64_t shown_us_ = 0;  // at shown_at_
    Time shown_at_{};
    std::uint64_t checks_ok_ = 0;
    std::uint64_t checks_failed_ = 0;
    Duration round_trip_{};

    // Serving.
    std::optional<Served> served_;
    bool is_ready_owed_ = false;
    bool is_pool_open_ = false;
    std::variant<std::monostate, Loading, Reading, CallId> call_;  // CallId: initialising
    std::uint64_t call_number_ = 0;

    // Messages and the sweep.
    std::optional<Time> poll_at_;
    bool is_polling_ = false;
    Time asked_at_{};  // when an operation was submitted last
    std::uint64_t letters_after_ = 0;
    std::set<std::uint64_t> letters_seen_;
    std::uint64_t letters_high_ = 0;  // the highest that was seen
    std::uint64_t letters_base_ = 0;  // the same, an overlap ago
    Time letters_moved_{};
    std::optional<Time> sweep_at_;
    bool is_sweeping_ = false;
    std::int64_t sweep_cutoff_us_ = 0;
};

}  // namespace latchd::store::mysql
