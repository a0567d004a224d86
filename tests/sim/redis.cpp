// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "redis.hpp"

#include "mutation.hpp"
#include "transcript.hpp"
#include "world.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace latchd::sim {
namespace {

constexpr std::uint32_t no_counter = 0;

bool is_grant(const core::Reply& reply) {
    return reply.status == core::Status::granted || reply.status == core::Status::reentered ||
           reply.status == core::Status::adopted || reply.status == core::Status::restored;
}

}  // namespace

Redis::Redis(World& world, HostClock clock) : world_(world), clock_(clock), table_(0, no_counter) {}

Time Redis::local_now() const { return clock_.at(world_.now()); }

authority::StoreMs Redis::shown() const {
    return authority::StoreMs{to_ms(local_now().time_since_epoch())};
}

// ---- connections -----------------------------------------------------------------------------

ConnectionPtr Redis::connect(std::size_t node) {
    auto connection = std::make_shared<Connection>();
    connection->id = ++connection_count_;
    connection->run = run_;
    connection->node = node;
    std::erase_if(connections_, [this](const ConnectionPtr& c) {
        const Moment last = std::max(c->arrives, c->held_up_until);
        return !c->is_heard && (!c->is_open || (c->inbox.empty() && last < world_.now()));
    });
    connections_.push_back(connection);
    if (!is_up_) {
        connection->is_open = false;
        world_.time.after(world_.way_to_store(node), [this, connection] {
            if (connection->is_heard) world_.connection_reset(connection);
        });
    }
    return connection;
}

void Redis::send(const ConnectionPtr& connection, Call call) {
    connection->arrives =
        std::max(connection->arrives, world_.now() + world_.way_to_store(connection->node));
    world_.time.at(connection->arrives, [this, connection, call = std::move(call)]() mutable {
        arrived(connection, std::move(call));
    });
}

void Redis::arrived(const ConnectionPtr& connection, Call&& call) {
    if (world_.now() < connection->held_up_until) {
        return world_.time.at(connection->held_up_until,
                              [this, connection, call = std::move(call)]() mutable {
                                  arrived(connection, std::move(call));
                              });
    }
    if (!is_up_ || !connection->is_open || connection->run != run_) return;
    if (world_.now() < frozen_until_) {
        connection->inbox.push_back(std::move(call));
        return;
    }
    execute(connection, std::move(call));
}

void Redis::execute(const ConnectionPtr& connection, Call&& call) {
    Said said = std::visit([&](auto& c) { return carry_out(connection->node, c); }, call);
    if (connection->loses_replies) return;
    connection->returns =
        std::max(connection->returns, world_.now() + world_.way_to_store(connection->node));
    world_.time.at(connection->returns, [this, connection, said = std::move(said)]() mutable {
        if (connection->is_heard && !connection->loses_replies) {
            world_.store_said(connection, std::move(said));
        }
    });
}

void Redis::abandon(const ConnectionPtr& connection) {
    connection->is_heard = false;
    if (world_.random.chance(40)) connection->is_open = false;  // never executed
}

void Redis::break_connection(std::size_t node, bool answers_only) {
    for (const ConnectionPtr& connection : connections_) {
        if (connection->node != node || !connection->is_heard) continue;
        connection->loses_replies = true;
        if (world_.random.chance(50)) {
            connection->held_up_until =
                world_.now() + world_.random.between(Duration(1), std::chrono::seconds(3));
        }
        if (answers_only) continue;  // the node finds out by its own time-out
        world_.time.after(world_.way_to_store(node), [this, connection] {
            if (connection->is_heard) world_.connection_reset(connection);
        });
    }
}

// ---- faults ----------------------------------------------------------------------------------

void Redis::freeze(Duration duration) {
    if (!is_up_) return;
    frozen_until_ = std::max(frozen_until_, world_.now() + duration);
    world_.time.at(frozen_until_, [this] { thaw(); });
}

// Which connection is served first is anybody's guess.
void Redis::thaw() {
    if (world_.now() < frozen_until_) return;
    std::vector<ConnectionPtr> waiting;
    for (const ConnectionPtr& connection : connections_) {
        if (!connection->inbox.empty()) waiting.push_back(connection);
    }
    while (!waiting.empty()) {
        const std::size_t pick = world_.random.index(waiting.size());
        const ConnectionPtr connection = waiting[pick];
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(pick));
        while (!connection->inbox.empty() && connection->is_open) {
            Call call = std::move(connection->inbox.front());
            connection->inbox.pop_front();
            execute(connection, std::move(call));
        }
        connection->inbox.clear();
    }
}

void Redis::save_snapshot() { snapshot_ = {sight().record, sight().marker, locks(), local_now()}; }

void Redis::restart(Data data, Duration away) {
    if (!is_up_) return;
    is_up_ = false;
    frozen_until_ = {};
    for (const ConnectionPtr& connection : connections_) {
        connection->is_open = false;
        connection->inbox.clear();
        world_.time.after(world_.way_to_store(connection->node), [this, connection] {
            if (connection->is_heard) world_.connection_reset(connection);
        });
    }
    world_.cut_messages(away);
    world_.time.after(away, [this, data] {
        ++run_;
        is_up_ = true;
        if (data == Data::all) return;
        record_ = data == Data::none ? std::nullopt : snapshot_.record;
        marker_ = data == Data::none ? std::nullopt : snapshot_.marker;
        replace_table(marker_ ? marker_->epoch : 0, marker_ ? marker_->counter : no_counter);
        if (data == Data::none) return;
        const Duration passed = local_now() - snapshot_.at;
        for (core::GrantRecord record : snapshot_.locks) {
            record.left -= passed;
            (void)table_.apply(local_now(), core::Restore{std::move(record), true});
        }
    });
}

void Redis::flush() {
    record_.reset();
    marker_.reset();
    replace_table(0, no_counter);
}

void Redis::replace_table(Epoch epoch, std::uint32_t counter) {
    table_ = core::Table(epoch, counter);
    last_seen_.clear();
    world_.truth.replaced(world_.now());
}

// ---- commands --------------------------------------------------------------------------------

authority::Sight Redis::sight() const {
    authority::Sight sight{record_, marker_};
    if (sight.marker) sight.marker->counter = table_.counter();
    return sight;
}

Said Redis::carry_out(std::size_t, Hello&) {
    const std::uint64_t run = world_.mutant == Mutant::identity_ignored ? 1 : run_;
    return authority::Identity{"run-" + std::to_string(run), authority::Role::master, "replid", ""};
}

Said Redis::carry_out(std::size_t, KillFormer& call) {
    if (!world_.plan.kill_works || world_.mutant == Mutant::no_kill) return std::monostate{};
    for (const ConnectionPtr& connection : connections_) {
        if (std::ranges::find(call.connections, connection->id) != call.connections.end()) {
            connection->is_open = false;
        }
    }
    return std::monostate{};
}

Said Redis::carry_out(std::size_t, authority::LookUp&) { return sight(); }

Said Redis::carry_out(std::size_t, authority::Settle& call) {
    const auto& was = call.expected;
    const bool is_same = was.has_value() == record_.has_value() &&
                         (!was || (was->epoch == record_->epoch && was->state == record_->state &&
                                   was->nonce == record_->nonce));
    if (is_same) record_ = call.next;
    return sight();
}

Said Redis::carry_out(std::size_t, authority::Open& call) {
    const bool is_same_record = record_ && record_->epoch == call.settling.epoch &&
                                record_->state == authority::RecordState::settling &&
                                record_->nonce == call.settling.nonce;
    const bool is_same_marker = call.marker.has_value() == marker_.has_value() &&
                                (!marker_ || (marker_->epoch == call.marker->epoch &&
                                              marker_->nonce == call.marker->nonce));
    if (is_same_record && is_same_marker) {
        record_ = call.next;
        marker_ = authority::Marker{
            call.next.uuid, call.next.epoch, call.next.nonce, call.next.store.run_id, call.counter};
        note_opening(call.next.epoch);
        replace_table(call.next.epoch, call.counter);
        world_.note(nullptr, call.next.epoch, [&] {
            return "epoch " + std::to_string(call.next.epoch) + " is open: " + call.next.reason;
        });
    }
    return sight();
}

// A store that lost everything can't know its last epoch; the nodes do. It comes a second time only
// when none of those that served it is there to object.
void Redis::note_opening(Epoch epoch) {
    ++openings_;
    is_reused_ = epoch <= highest_epoch_;
    highest_epoch_ = std::max(highest_epoch_, epoch);
    if (!is_reused_) return;
    world_.oracle.epoch_reused();
    // While it stood still nobody could read that it was settling.
    if (world_.now() - frozen_until_ < std::chrono::milliseconds(1500)) return;
    for (std::size_t i = 0; i < world_.size(); ++i) {
        if (!world_.member(i).would_object(epoch)) continue;
        world_.oracle.violate({},
                              "epoch " + std::to_string(epoch) + " is opened again, though " +
                                  world_.member(i).label() + " served it before");
    }
}

std::optional<Said> Redis::refusal(const Guard& guard) const {
    if (!marker_ || marker_->epoch != guard.epoch || marker_->nonce != guard.nonce ||
        (table_.counter() < guard.counter_seen && world_.mutant != Mutant::identity_ignored)) {
        return Stale{};
    }
    if (guard.expected) {
        const auto off =
            static_cast<std::int64_t>(shown()) - static_cast<std::int64_t>(*guard.expected);
        if (off > 1000 || off < -1000) return ClockOff{};
    }
    return std::nullopt;
}

Said Redis::carry_out(std::size_t, Probe& call) {
    if (auto refused = refusal(call.guard)) return *refused;
    return Probed{shown(), table_.counter()};
}

Said Redis::carry_out(std::size_t node, Guarded& call) {
    const LockKey* const key = key_of(call.operation);
    if (auto refused = refusal(call.guard)) {
        world_.note(key, refused->index(), [&] {
            return "store refuses node " + std::to_string(node) + "'s " + describe(call.operation) +
                   (std::holds_alternative<Stale>(*refused) ? ": stale" : ": clock");
        });
        return *refused;
    }
    core::OperationReply reply = apply(node, call.operation);
    world_.note(key, static_cast<std::uint64_t>(reply.reply.status), [&] {
        return "store, for node " + std::to_string(node) + ": " + describe(call.operation) +
               " -> " + describe(reply);
    });
    for (const auto& told : table_.take_told()) world_.tell(told.node, told.message);
    return reply;
}

void Redis::observe(const LockKey& key) {
    const core::OperationReply seen = table_.apply(local_now(), core::Inspect{key});
    const core::GrantRecord* record = seen.reply.record ? &*seen.reply.record : nullptr;
    world_.truth.observe(world_.now(), clock_, key, record);
    if (record != nullptr) last_seen_.insert_or_assign(key, *record);
}

core::OperationReply Redis::apply(std::size_t node, const core::Operation& operation) {
    const LockKey* const key = key_of(operation);
    if (key == nullptr) return table_.apply(local_now(), operation);
    observe(*key);
    const auto last = last_seen_.find(*key);
    Mutation mutation{
        world_.mutant, table_, local_now(), last == last_seen_.end() ? nullptr : &last->second};
    core::OperationReply reply = mutation.apply(operation);
    observe(*key);
    const core::Reply& grant = reply.then ? *reply.then : reply.reply;
    if (is_grant(grant)) {
        Fence& highest = highest_[*key];
        const bool is_above = grant.record->fence > highest || is_reused_;
        if (grant.status == core::Status::granted && !is_above) {
            world_.oracle.violate(*key,
                                  "I2: the store grants with a fence that is not above all "
                                  "earlier ones");
        }
        highest = std::max(highest, grant.record->fence);
    }
    world_.oracle.store_did(node, operation, reply);
    return reply;
}

std::vector<core::GrantRecord> Redis::locks() {
    return table_.apply(local_now(), core::List{"", 1'000'000, 0}).rows;
}

}  // namespace latchd::sim
