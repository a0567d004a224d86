// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host_table.hpp"

#include <latchd/runtime/deadline.hpp>
#include <latchd/store/fleet/store.hpp>

#include <boost/unordered/unordered_flat_set.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace latchd::store::fleet {

// Runs a decider: feeds it what tiers, arbiter, node and operators say, and carries out its
// actions in order. Where operations go is decided there; what became of them is kept here.
//
// Invariants: (1) step() never nests, what happens meanwhile queues; (2) an operation is answered
// once: by the tier that it was given to, or, once that was withdrawn, as in doubt; (3) what a tier
// says that does not serve reaches nobody.
class FleetStore final : public Store, public FleetSink, public FleetDesk {
public:
    FleetStore(boost::asio::io_context& context,
               Options options,
               Surroundings surroundings,
               Makers makers,
               Sink& sink);

    // Store
    void start() override;
    void stop() override;
    void submit(core::OperationId id, core::Operation&& operation) override;
    [[nodiscard]] Health health() const override;
    void claims_given(core::ClaimsGiven&& given) override;
    void uses_given(core::UsesGiven&& given) override;
    void grant_ended(core::GrantEnded&& ended) override;
    void asserted(core::Asserted what) override;
    void strict_asked(core::StrictAsked&& asked) override;
    [[nodiscard]] FleetDesk* fleet() noexcept override { return this; }

    // FleetSink
    void happened(core::authority::FleetEvent&& event) override;

    // FleetDesk
    [[nodiscard]] core::authority::FleetStatus status() const override;
    [[nodiscard]] Counts counts() const override { return counts_; }
    [[nodiscard]] std::vector<Health> stores() const override;
    [[nodiscard]] Health arbiter() const override { return arbiter_->health(); }
    [[nodiscard]] std::optional<core::LeaseLimits> limits() const override { return limits_; }
    [[nodiscard]] std::vector<std::string> differing() const override { return differing_; }
    void move(std::string store, bool back, std::string reason, Answered answered) override;
    void write(core::authority::WriteResource&& call, Answered answered) override;
    void change(core::authority::BasisWanted wish, Answered answered) override;
    void leave(Answered answered) override;

private:
    // What one tier says to the node.
    class TierSink final : public Sink {
    public:
        TierSink(FleetStore& owner, std::size_t tier) : owner_(owner), tier_(tier) {}
        void deliver(core::Event&& event) override { owner_.from_tier(tier_, std::move(event)); }

    private:
        FleetStore& owner_;
        std::size_t tier_;
    };
    // What the host's own table says to the node.
    class TableSink final : public Sink {
    public:
        explicit TableSink(FleetStore& owner) : owner_(owner) {}
        void deliver(core::Event&& event) override { owner_.from_table(std::move(event)); }

    private:
        FleetStore& owner_;
    };
    struct Write {
        core::authority::WriteResource call;
        Answered answered;
    };

    [[nodiscard]] core::authority::Moment moment() const;
    void run();
    void carry_out(core::authority::FleetAction& action);
    void rearm();
    void on_due();

    // routing.cpp
    void from_tier(std::size_t tier, core::Event&& event);
    void serve(core::authority::TierServe&& action);
    void withdraw(core::authority::TierWithdraw&& action);
    void note_lost(const core::authority::TierFailed& failed);
    void from_table(core::Event&& event);
    void serve_locally();
    void end_local(const std::string& reason);
    void doubt_all(const std::string& reason);
    void fail_doubtful();
    void to_node(core::Event&& event);
    void note_change(const core::authority::Changed& change);
    void remind_of_local();

    // registry.cpp
    [[nodiscard]] bool is_own_answer(core::authority::FleetEvent& event);
    void look_for_new_cluster(const core::authority::View& view);
    void finish_write(core::authority::CallId id, bool done, const std::string& text);
    void registry_read(const core::authority::RegistryRead& read);
    void tell_differing();

    Options options_;
    Surroundings surroundings_;
    Sink& sink_;
    std::unique_ptr<Decider> decider_;
    std::deque<TierSink> tier_sinks_;
    std::vector<std::unique_ptr<Tier>> tiers_;
    std::unique_ptr<Arbiter> arbiter_;
    runtime::Deadline deadline_;
    TableSink table_sink_{*this};
    std::unique_ptr<HostTable> local_;
    bool is_table_away_ = false;       // another loop's, which hangs
    core::StoreOpened local_opening_;  // as the node was told of it

    std::deque<core::authority::FleetEvent> queue_;
    core::authority::FleetActions actions_;
    bool is_running_ = false;  // within run()
    bool is_started_ = false;

    std::optional<std::size_t> serving_;  // between TierServe and TierWithdraw
    bool is_local_ = false;               // between LocalServe and LocalWithdraw
    // Given to what serves and not answered yet.
    boost::unordered_flat_set<std::uint64_t> under_way_;
    std::vector<std::uint64_t> doubtful_;  // of what was withdrawn, to be failed
    std::string doubt_;
    std::string closed_reason_ = "no store has been reached yet";
    bool is_told_ = false;  // the decider has told the node how its store is
    Time remind_at_{};

    std::uint64_t last_call_;  // CallId of this adapter's own calls, apart from the decider's
    std::unordered_map<std::uint64_t, Write> writes_;
    std::uint64_t registry_version_ = 0;
    Epoch epoch_ = 0;  // of the record, as it was seen last
    bool is_proposed_ = false;
    std::vector<std::string> differing_;
    std::optional<Time> differs_at_;  // when it is logged, if it is still so
    std::optional<core::LeaseLimits> limits_;
    std::uint64_t last_command_ = 0;
    std::map<std::uint64_t, Answered> commands_;
    Answered left_;
    bool leave_awaits_claims_ = false;
    Counts counts_;
    std::string last_tier_;  // of the last opening
};

}  // namespace latchd::store::fleet
