// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fixture.hpp"

#include <latchd/core/authority/fleet.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// A few fleets of nodes with one arbiter and stores that carry out what they are asked at once.
// Time goes by in steps of 10 ms. For scenarios that are steered; chance is tests/sim's.
namespace latchd::core::authority {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct FakeTier {
    std::string name;
    std::string kind;
    Identity identity;
    bool is_up = true;
    bool refuses_to_open = false;
    bool refuses_to_be_read = false;
    std::optional<Marker> marker{};
    std::optional<StoreMs> marker_used{};
    bool is_used_by_others = false;  // nodes that ask another arbiter check it
    Claims loaded{};
    Duration clock_ahead{};
    std::map<std::string, std::pair<Time, Nonce>> notes{};  // until when, of which opening
};

class FleetWorld;

struct FakeNode {
    std::string name;
    std::unique_ptr<CountedNames> names;
    std::unique_ptr<Fleet> fleet;
    bool is_alive = true;
    bool is_paused = false;
    std::set<std::string> cut;     // stores, or "arbiter"
    std::string other_cache = {};  // its configuration names another server: that one's run id
    std::vector<std::size_t> has;  // of the world's tiers, by this node's TierIndex
    ArbiterTable* asks = nullptr;  // its arbiter, where that is another one than the world's
    std::map<std::size_t, Time> probe_at;  // of the world's tiers, as `connected`
    std::set<std::size_t> connected;
    Claims claims;                     // what its lock core would hand over
    std::vector<ResourceName> used{};  // as its lock core says
    std::deque<FleetEvent> inbox;
    bool holds_registry = false;            // its answers stay under way …
    std::optional<ArbiterAnswered> held{};  // … of which this is the first

    std::optional<TierIndex> serves{};
    // What its lock core was told.
    bool is_open = false;
    StoreOpened opened;
    std::string closed;
    bool closed_settling = false;
    std::vector<Epoch> epochs;
    PermitChanged permit;
    std::optional<Duration> offset;  // to be kept
    std::optional<FleetRecord> kept;
    std::map<std::string, ResourceSettings> registry{};  // as it was told last
    std::map<std::string, ResourceSettings> registry_when_opened{};
    std::vector<Commanded> commanded;
    std::vector<Changed> changed;
    std::vector<Notice> notices;
    Known saved;
    bool is_gone = false;
    bool is_handed_over = false;  // as it left
};

class FleetWorld {
public:
    explicit FleetWorld(bool has_local = false) : has_local_(has_local) {
        tiers_.push_back({"cache", "redis", {"redis-1", Role::master, "r", ""}});
        tiers_.push_back({"sql", "mysql", {"sql-1", Role::master, "", ""}});
        tiers_.push_back({"spare", "redis", {"redis-9", Role::master, "s", ""}});
        arbiter.identity = tiers_[1].identity;
    }

    FakeNode& add(const std::string& name,
                  std::function<void(FleetOptions&)> change = {},
                  ArbiterTable* asks = nullptr) {
        auto node = std::make_unique<FakeNode>();
        node->asks = asks;
        node->name = name;
        node->names = std::make_unique<CountedNames>(static_cast<char>('a' + nodes_.size()));
        FleetOptions options;
        options.name = NodeName(name);
        options.incarnation = 100 + nodes_.size();
        options.started_ms = static_cast<std::int64_t>(nodes_.size());
        options.tiers = {{"cache", "redis", {}}, {"sql", "mysql", {}, true}};
        options.basis.stores = {"cache", "sql"};
        options.has_local = has_local_;
        options.outlives = true;
        if (change) change(options);
        for (const FleetOptions::Tier& tier : options.tiers) {
            node->has.push_back(tier_named(tier.store));
        }
        node->fleet = std::make_unique<Fleet>(options, known, *node->names);
        nodes_.push_back(std::move(node));
        FakeNode& added = *nodes_.back();
        FleetActions out;
        added.fleet->start(moment(), out);
        carry_out(added, out);
        return added;
    }

    FakeTier& cache() { return tiers_[0]; }
    FakeTier& sql() { return tiers_[1]; }
    FakeTier& spare() { return tiers_[2]; }  // in nobody's configuration unless it is put there
    FakeNode& node(std::size_t index) { return *nodes_[index]; }
    FakeNode& loader() { return *loading_.front().node; }

    void run(Duration duration) {
        const Time until = now_ + duration;
        while (now_ < until) step();
    }
    // Whether it came true within `limit`.
    bool run_until(const std::function<bool()>& what, Duration limit) {
        const Time until = now_ + limit;
        while (now_ < until && !what()) step();
        return what();
    }
    bool all_serve(const std::string& tier, Duration limit) {
        return run_until(
            [&] {
                for (const auto& node : nodes_) {
                    if (!node->is_alive || node->is_paused) continue;
                    if (!node->is_open || node->opened.tier != tier) return false;
                }
                return true;
            },
            limit);
    }
    [[nodiscard]] const FleetRecord& record() const { return *arbiter.record(); }
    [[nodiscard]] Time now() const { return now_; }
    [[nodiscard]] StoreMs clock_now() const { return clock({}); }
    // RESOURCE SET, by whoever has seen this epoch.
    bool set(const char* name, const ResourceSettings& wished, Epoch epoch) {
        const auto held = node(0).registry.find(name);
        WriteResource call;
        call.name = ResourceName(name);
        call.settings = with_next_epoch(
            held != node(0).registry.end() ? &held->second : nullptr, wished, epoch);
        if (call.settings->pending) call.epoch = epoch;
        return arbiter.apply(clock({}), call).done;
    }
    void tell(FakeNode& node, FleetEvent&& event) {
        node.inbox.push_back(std::move(event));
        deliver(node);
    }
    void restart_cache(const std::string& run_id) {
        cache().identity.run_id = run_id;
        cache().marker.reset();
        cache().loaded = {};
        cache().is_up = true;
        for (const auto& node : nodes_) node->connected.erase(0);
    }

    ArbiterTable arbiter;
    bool arbiter_is_up = true;
    std::size_t calls = 0;  // to the arbiter, by all nodes
    std::size_t named = 0;  // resources, in all NoteUses
    Duration load_takes{};
    std::size_t loads = 0;
    Duration arbiter_ahead{};
    Known known;

private:
    [[nodiscard]] Moment moment() const {
        return {now_, WallMs{1'790'000'000'000 + to_ms(now_.time_since_epoch())}};
    }
    [[nodiscard]] StoreMs clock(Duration ahead) const {
        return StoreMs{1'790'000'000'000 + to_ms(now_.time_since_epoch() + ahead)};
    }

    struct Load {
        Time ends{};
        FakeNode* node = nullptr;
        TierLoad wish;
    };

    void step() {
        now_ += milliseconds(10);
        end_loads();
        for (const auto& node : nodes_) {
            if (!node->is_alive || node->is_paused) continue;
            for (TierIndex tier = 0; tier < node->has.size(); ++tier) probe(*node, tier);
            deliver(*node);
            const auto due = node->fleet->next_deadline();
            if (due && *due <= now_) {
                node->inbox.push_back(TimeCame{});
                deliver(*node);
            }
        }
    }

    [[nodiscard]] std::size_t tier_named(const std::string& name) const {
        for (std::size_t i = 0; i < tiers_.size(); ++i) {
            if (tiers_[i].name == name) return i;
        }
        return 0;  // the same server under another name
    }
    [[nodiscard]] FakeTier& tier_of(const FakeNode& node, TierIndex tier) {
        return tiers_[node.has[tier]];
    }

    void probe(FakeNode& node, TierIndex own) {
        const std::size_t index = node.has[own];
        Time& at = node.probe_at[index];
        if (now_ < at) return;
        FakeTier& tier = tiers_[index];
        if (!tier.is_up || node.cut.contains(tier.name)) {
            at = now_ + milliseconds(250);
            node.connected.erase(index);
            const auto evidence = node.cut.contains(tier.name) ? TierFailed::Evidence::failed
                                                               : TierFailed::Evidence::refused;
            node.inbox.push_back(TierFailed{own, evidence, false, "no connection"});
            return;
        }
        at = now_ + milliseconds(node.connected.contains(index) ? 1000 : 250);
        node.connected.insert(index);
        const bool is_served = node.is_open && tier.marker && node.serves == own &&
                               tier.marker->epoch == node.opened.epoch;
        if (is_served || tier.is_used_by_others) tier.marker_used = clock(tier.clock_ahead);
        node.inbox.push_back(identified(node, own));
        node.inbox.push_back(TierProbed{own, now_, now_, clock(tier.clock_ahead)});
    }

    void deliver(FakeNode& node) {
        while (!node.inbox.empty() && node.is_alive) {
            FleetEvent event = std::move(node.inbox.front());
            node.inbox.pop_front();
            FleetActions out;
            node.fleet->step(moment(), std::move(event), out);
            carry_out(node, out);
        }
    }

    void carry_out(FakeNode& node, FleetActions& actions) {
        for (FleetAction& action : actions) {
            std::visit([&](auto& each) { act(node, each); }, action);
        }
    }

    void act(FakeNode& node, ArbiterDo& action) {
        if (++calls > 1'000'000) throw std::runtime_error("the arbiter is asked without end");
        if (!arbiter_is_up || node.cut.contains("arbiter")) {
            failed_.push_back({&node, action.id});
            node.inbox.push_back(ArbiterFailed{action.id, true, "no connection"});
            return;
        }
        ArbiterTable& asked = node.asks != nullptr ? *node.asks : arbiter;
        if (!action.process.empty() && action.process != asked.identity.run_id) {
            node.inbox.push_back(ArbiterFailed{action.id, false, "another process"});
            return;
        }
        if (const auto* const note = std::get_if<NoteUses>(&action.call))
            named += note->used.size();
        ArbiterAnswered answer{
            action.id, now_, now_, asked.apply(clock(arbiter_ahead), action.call)};
        if (node.holds_registry && std::holds_alternative<ReadRegistry>(action.call)) {
            node.held = std::move(answer);
            return;
        }
        node.inbox.push_back(std::move(answer));
    }
    [[nodiscard]] bool reaches(const FakeNode& node, TierIndex tier) const {
        const FakeTier& there = tiers_[node.has[tier]];
        return there.is_up && !node.cut.contains(there.name);
    }
    void act(FakeNode& node, TierLook& action) {
        if (!reaches(node, action.tier)) return;
        node.inbox.push_back(identified(node, action.tier));
    }
    [[nodiscard]] TierIdentified identified(const FakeNode& node, TierIndex tier) const {
        const FakeTier& there = tiers_[node.has[tier]];
        TierIdentified event{tier, there.identity, there.marker};
        event.marker_used = there.marker_used;
        if (there.name != "cache" || node.other_cache.empty()) return event;
        event.identity.run_id = node.other_cache;
        event.marker.reset();
        return event;
    }
    void act(FakeNode& node, TierInitialise& action) {
        FakeTier& tier = tier_of(node, action.tier);
        const bool is_same = tier.kind == "mysql" ||
                             (tier.marker.has_value() == action.expected.has_value() &&
                              (!tier.marker || (tier.marker->epoch == action.expected->epoch &&
                                                tier.marker->nonce == action.expected->nonce)));
        const bool done = reaches(node, action.tier) && !tier.refuses_to_open && is_same;
        if (done) {
            tier.loaded = {};
            if (tier.kind != "mysql") tier.marker = action.next;
        }
        node.inbox.push_back(TierDone{action.tier, action.id, done, done ? "" : "refused"});
    }
    void act(FakeNode& node, TierLoad& action) {
        ++loads;
        loading_.push_back({now_ + load_takes, &node, std::move(action)});
        if (load_takes == Duration::zero()) end_loads();
    }
    // A part of a load is refused once another node has initialised the tier anew.
    void end_loads() {
        std::vector<Load> left;
        for (Load& load : loading_) {
            if (now_ < load.ends) {
                left.push_back(std::move(load));
                continue;
            }
            FakeTier& tier = tier_of(*load.node, load.wish.tier);
            const bool is_ours = tier.kind == "mysql" || tier.marker->nonce == load.wish.nonce;
            const bool done = reaches(*load.node, load.wish.tier) && is_ours;
            if (done) tier.loaded = load.wish.claims;
            load.node->inbox.push_back(
                TierDone{load.wish.tier, load.wish.id, done, done ? "" : "the marker is another"});
        }
        loading_ = std::move(left);
    }
    void act(FakeNode& node, TierCloseAndRead& action) {
        FakeTier& tier = tier_of(node, action.tier);
        const bool can_read = reaches(node, action.tier) && !tier.refuses_to_be_read;
        TierRead read{action.tier, action.id, can_read, {}};
        if (read.done) {
            node.inbox.push_back(TierProbed{action.tier, now_, now_, clock(tier.clock_ahead)});
            read.claims = tier.loaded;
            if (tier.marker) {
                tier.marker->epoch = action.next;
                tier.marker->nonce = action.nonce;
            }
        }
        node.inbox.push_back(std::move(read));
    }
    void act(FakeNode& node, TierServe& action) {
        node.serves = action.tier;
        if (reaches(node, action.tier)) {
            node.inbox.push_back(TierReady{action.tier, milliseconds(50), true});
        }
    }
    void act(FakeNode& node, TierNote& action) {
        FakeTier& tier = tier_of(node, action.tier);
        if (!reaches(node, action.tier) || tier.kind == "mysql") return;
        tier.notes[node.name] = {now_ + action.fresh, action.nonce};
        TierNoted noted{action.tier, now_, {}};
        for (const NodeName& other : action.others) {
            const auto it = tier.notes.find(other.str());
            const bool is_fresh = it != tier.notes.end() && it->second.first > now_ &&
                                  it->second.second == action.nonce;
            if (is_fresh) noted.fresh.push_back(other);
        }
        node.inbox.push_back(std::move(noted));
    }
    void act(FakeNode& node, TierWithdraw&) { node.serves.reset(); }
    void act(FakeNode&, LocalServe&) {}
    void act(FakeNode&, LocalWithdraw&) {}
    void act(FakeNode& node, ToNode& action) {
        if (auto* opened = std::get_if<StoreOpened>(&action.event)) {
            node.is_open = true;
            node.opened = *opened;
            node.epochs.push_back(opened->epoch);
            node.registry_when_opened = node.registry;
        } else if (auto* closed = std::get_if<StoreClosed>(&action.event)) {
            node.is_open = false;
            node.closed = closed->reason;
            node.closed_settling = closed->settling;
        } else if (auto* permit = std::get_if<PermitChanged>(&action.event)) {
            node.permit = *permit;
        }
    }
    void act(FakeNode& node, CollectClaims& action) {
        node.inbox.push_back(ClaimsCollected{action.epoch, node.claims});
    }
    void act(FakeNode& node, CollectUses&) { node.inbox.push_back(UsesCollected{node.used}); }
    void act(FakeNode& node, KeepOffsets& action) { node.offset = action.arbiter; }
    void act(FakeNode& node, KeepRecord& action) { node.kept = action.record; }
    void act(FakeNode& node, RegistryRead& action) {
        node.registry.clear();
        for (const auto& [name, settings] : action.resources) node.registry[name.str()] = settings;
    }
    void act(FakeNode& node, Commanded& action) { node.commanded.push_back(action); }
    void act(FakeNode& node, Gone& action) {
        node.is_gone = true;
        node.is_handed_over = action.done;
    }
    void act(FakeNode& node, Changed& action) { node.changed.push_back(action); }
    void act(FakeNode& node, SaveKnown& action) { node.saved = action.known; }
    void act(FakeNode& node, Notice& action) { node.notices.push_back(action); }

    bool has_local_;
    std::vector<FakeTier> tiers_;
    std::vector<std::unique_ptr<FakeNode>> nodes_;
    std::vector<std::pair<FakeNode*, CallId>> failed_;
    std::vector<Load> loading_;
    Time now_{seconds(1000)};
};

}  // namespace latchd::core::authority
