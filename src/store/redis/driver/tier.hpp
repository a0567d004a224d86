// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../dialect/claims.hpp"
#include "driver.hpp"

#include <latchd/store/redis/store.hpp>
#include <latchd/store/tier.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

namespace latchd::store::redis {

// A TierNote that is under way.
struct TierNoting {
    core::authority::TierNote wish;
    Time sent{};
    std::size_t answered = 0;  // of wish.others
    std::vector<NodeName> fresh;
};

// A Redis of which a core::authority::Fleet decides whether it serves. Loop thread only.
//
// The end of a connection ends the serving; it is never taken up again but by TierServe, after
// TierIdentified on the new one. One of TierInitialise, TierLoad and TierCloseAndRead is under way
// at a time; a further one ends the former as not done.
class RedisTier final : public Tier, private Authority {
public:
    RedisTier(boost::asio::io_context& context,
              Options options,
              std::function<Time()> boot_now,
              core::authority::TierIndex index,
              Sink& sink,
              FleetSink& fleet);
    ~RedisTier() override { driver_.stop(); }

    void start() override { driver_.start(); }
    void stop() override;
    void submit(core::OperationId id, core::Operation&& operation) override {
        driver_.submit(id, std::move(operation));
    }
    [[nodiscard]] Health health() const override;

    void act(core::authority::TierLook&& action) override;
    void act(core::authority::TierInitialise&& action) override;
    void act(core::authority::TierLoad&& action) override;
    void act(core::authority::TierCloseAndRead&& action) override;
    void act(core::authority::TierServe&& action) override;
    void act(core::authority::TierNote&& action) override;
    void act(core::authority::TierWithdraw&& action) override;

private:
    // tier.cpp: who is there, health, serving
    void identified(bool is_first) override;
    void connection_lost(const std::string& reason, Evidence evidence) override;
    void answered(const resp::Value& value) override;
    void probing() override;
    void probed(const ProbeSeen& seen) override;
    void probe_failed(const std::string& reason, Evidence evidence) override;
    [[nodiscard]] Duration probe_interval() const noexcept override;
    void doubted(Doubt doubt) override;
    void opened() override;

    void ask_marker(bool is_patient, bool is_own_look);
    void look();
    void marker_shown(bool is_own_look, const resp::Value& value);
    void reload_scripts(const std::optional<core::authority::Marker>& marker);
    void tell_failed(const std::string& reason, Evidence evidence, bool is_connected);
    void tell_ready();
    template <class Event>
    void tell(Event&& event) {
        fleet_.happened(core::authority::FleetEvent{std::forward<Event>(event)});
    }

    // tier_calls.cpp: the marker, and what is carried in and out
    struct Initialising {
        core::authority::TierInitialise wish;
    };
    struct Loading {
        core::authority::TierLoad wish;
        std::size_t records_sent = 0;
        std::size_t bars_sent = 0;
        std::size_t awaited = 0;  // batches
        std::uint64_t foreign = 0;
    };
    struct Page {
        Time read{};
        core::Claims claims;
    };
    struct Reading {
        core::authority::TierCloseAndRead wish;
        bool is_scanned = false;
        std::size_t awaited = 0;                     // pages
        std::unordered_set<std::string> seen;        // a scan may show a key twice
        std::deque<std::vector<std::string>> pages;  // asked for
        std::vector<Page> read;
    };
    using Call = std::variant<std::monostate, Initialising, Loading, Reading>;

    // Whether a call can begin; ends the one that is under way.
    [[nodiscard]] bool begin(Call&& call, const std::string* run_id);
    void call_answered(const resp::Value& value);
    [[nodiscard]] std::optional<core::authority::Marker> after_own_end(
        std::optional<core::authority::Marker> expected) const;
    void set_marker(const MarkerSet& set);
    // Whether the marker is what it was to become; else the call is at its end.
    [[nodiscard]] bool is_marker_set(const resp::Value& value);
    void load_on();
    void loaded(const resp::Value& value);
    void scan(std::uint64_t cursor);
    void scanned(const resp::Value& value);
    void page_read(const resp::Value& value);
    void read_whole(Reading&& reading);
    void end_call(bool done, const std::string& text, bool is_overtaken = false);
    void end_refused(const Refusal& refusal);

    // tier_notes.cpp: that nodes have lost the arbiter
    void note_left(const resp::Value& value);
    void note_shown(const resp::Value& value);
    void end_noting();

    // What the next reply for the authority belongs to.
    struct Step {
        enum class Kind : std::uint8_t { marker, own_look, call, scan, note_left, note_shown };
        Kind kind = Kind::marker;
        std::uint32_t call = 0;  // of which call; a former one's is left out
    };

    const core::authority::TierIndex index_;
    FleetSink& fleet_;
    std::deque<Step> steps_;
    core::authority::Marker served_;           // epoch and nonce of the last TierServe
    core::authority::Identity server_served_;  // which it was for
    bool is_ready_owed_ = false;
    bool is_reload_wanted_ = false;  // scripts are gone; once marker and process are seen again
    bool is_damage_told_ = false;
    bool is_identity_told_ = false;          // of this connection
    bool was_well_ = false;                  // the last probe succeeded
    std::optional<std::uint32_t> good_run_;  // since a failure; none: never failed
    std::optional<Time> failed_at_;  // when TierFailed was told last, without a good probe since
    std::optional<TierNoting> noting_;
    Call call_;
    std::uint32_t call_number_ = 0;
    bool marker_is_set_ = false;  // of the call that is under way
    std::optional<core::authority::Nonce> doubtful_load_;
    // The epoch that this tier ended last. Whoever expects `former` has not seen the end yet.
    struct Ended {
        core::authority::Marker former;
        core::authority::Marker now;
    };
    std::optional<Ended> ended_;
    Driver driver_;
};

}  // namespace latchd::store::redis
