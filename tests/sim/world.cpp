// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include <algorithm>
#include <utility>

namespace latchd::sim {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::uint64_t steps_max = 5'000'000;
constexpr std::size_t nobody = static_cast<std::size_t>(-1);

HostClock draw_clock(Random& random, std::int64_t ppm_max) {
    return {random.between(hours(1), hours(100)), random.between(-ppm_max, ppm_max)};
}

}  // namespace

World::World(const Plan& the_plan, const RunOptions& options)
    : plan(the_plan),
      mutant(options.mutant),
      omitted(options.omitted),
      random(the_plan.seed),
      transcript(options.writes_transcript),
      oracle(*this),
      nemesis_(*this),
      transcript_lines_(options.transcript_lines) {
    time.skip_to(Moment(seconds(1)));
    redis_.push_back(
        std::make_unique<RedisServer>(*this, draw_clock(random, plan.ppm_max), "redis"));
    if (plan.has_mysql()) {
        mysql_ = std::make_unique<MysqlServer>(*this, draw_clock(random, plan.ppm_max));
    }
    ways_.resize(static_cast<std::size_t>(plan.nodes));
    channels_.resize(ways_.size());
    for (std::size_t i = 0; i < ways_.size(); ++i) {
        members_.push_back(std::make_unique<Member>(*this, i, draw_clock(random, plan.ppm_max)));
    }
    for (int i = 0; i < plan.clients; ++i) {
        actors_.push_back(std::make_unique<Actor>(*this, static_cast<std::size_t>(i)));
    }
}

World::~World() {
    // Processes give their connections up, and servers draw lots about them.
    members_.clear();
}

LockKey World::any_key() {
    const auto id = random.index(static_cast<std::size_t>(plan.locks));
    std::vector<const char*> resources{"r"};
    if (plan.has_strict) resources.insert(resources.end(), {"s", "s"});
    if (plan.has_local) resources.push_back("l");
    return {ResourceName(resources[random.index(resources.size())]), LockId(std::to_string(id))};
}

Member* World::member_of(std::uint64_t incarnation) {
    for (const auto& each : members_) {
        if (each->is_alive() && each->incarnation() == incarnation) return each.get();
    }
    return nullptr;
}

// ---- the run ---------------------------------------------------------------------------------

void World::start() {
    redis().save_snapshot();
    redis().replicate();
    snapshots();
    replicas();
    for (const auto& member : members_) {
        time.after(random.between(Duration{}, milliseconds(50)), [&m = *member] { m.start(); });
    }
    run_for(seconds(2));
}

Result World::run() {
    start();
    for (const auto& actor : actors_) actor->start();
    const int rounds = 3;
    for (int round = 0; round < rounds && !oracle.violation(); ++round) {
        nemesis_.start();
        run_for(plan.faults_last / rounds);
        if (round + 1 < rounds) run_calm();
    }
    if (!oracle.violation()) check_liveness();
    return result();
}

void World::run_for(Duration duration) {
    const Moment until = now() + duration;
    Moment next_look = now() + seconds(1);
    std::uint64_t at_once = 0;
    Moment last = now();
    while (!oracle.violation() && time.step(until)) {
        nemesis_.poll();
        at_once = now() == last ? at_once + 1 : 0;
        last = now();
        if (++steps_ > steps_max || at_once > 20'000) {
            oracle.violate({}, "time stands still: something is done over and over" + who_is_due());
        }
        if (now() >= next_look) {
            next_look = now() + seconds(1);
            oracle.check_overdue();
            oracle.check_untold();
            std::erase_if(exchanges, [this](const auto& entry) {
                const Exchange& exchange = entry.second;
                const Moment kept_until = exchange.is_answered ? exchange.answered_at + seconds(4)
                                                               : exchange.sent + seconds(20);
                return exchange.is_over && kept_until < now();
            });
        }
    }
    if (!oracle.violation()) time.skip_to(until);
}

std::string World::who_is_due() {
    std::string text;
    for (const auto& each : members_) {
        if (!each->is_alive()) continue;
        const auto node = each->node().next_deadline();
        const auto fleet = each->fleet().next_deadline();
        if (node && *node <= each->now()) text += "; the lock core of " + each->label();
        if (fleet && *fleet <= each->now()) text += "; the authority of " + each->label();
    }
    return text;
}

// Nothing fails any more, clients go on.
void World::run_calm() {
    nemesis_.stop();
    heal();
    run_for(random.between(seconds(3), seconds(8)));
}

void World::heal() {
    note(nullptr, 99, [] { return std::string("the faults stop"); });
    // What lasts already lasts for at most eight seconds more; the ways are clear at once.
    for (auto& ways : ways_) ways = {};
    oracle.healed();
}

// An epoch is open on the preferred tier, every lock can be had again through every node, and then
// nothing is left.
void World::check_liveness() {
    nemesis_.stop();
    heal();
    const Duration bound = seconds(8) + plan.view_lease + plan.vote_kept + plan.hold_down_max +
                           2 * plan.settle_grace + seconds(4);
    run_for(bound);
    if (oracle.violation()) return;
    const auto& open = record();
    if (!open || open->placement.state != authority::RecordState::open) {
        return oracle.violate({}, "liveness: no epoch is open");
    }
    if (open->placement.store != open->basis.stores.front()) {
        return oracle.violate({}, "liveness: the preferred tier is not taken back");
    }
    for (const auto& actor : actors_) actor->stop();
    note(nullptr, 98, [] { return std::string("the clients stop"); });
    const Duration wait = plan.ttl_max + plan.delay_max + seconds(2);
    std::vector<std::string> resources{"r"};
    if (plan.has_strict) resources.emplace_back("s");
    if (plan.has_local) resources.emplace_back("l");
    for (const std::string& resource : resources) {
        for (int id = 0; id < plan.locks && !oracle.violation(); ++id) {
            for (std::size_t node = 0; node < size() && !oracle.violation(); ++node) {
                probe(node, {ResourceName(resource), LockId(std::to_string(id))}, wait);
            }
        }
    }
    if (oracle.violation()) return;
    run_for(plan.ttl_max + plan.delay_max + seconds(10));
    if (!oracle.violation()) oracle.check_empty();
}

std::optional<core::Outcome> World::ask(std::size_t node,
                                        core::ClientCommand command,
                                        Duration limit) {
    auto& known = probe_clients_[node];
    if (known == ClientId{} || !is_open(known)) {
        const auto client = connect(nobody, node);
        if (!client) return std::nullopt;
        known = *client;
    }
    if (const auto* unlock = std::get_if<core::UnlockCommand>(&command)) {
        oracle.let_go(unlock->token);
    }
    const auto number = send(known, std::move(command), limit + seconds(30));
    const Moment until = now() + limit;
    while (!oracle.violation() && now() < until && !probe_outcomes_.contains(number)) {
        run_for(milliseconds(1));
    }
    const auto it = probe_outcomes_.find(number);
    if (it == probe_outcomes_.end()) return std::nullopt;
    return it->second;
}

bool World::step_until(const std::function<bool()>& what, Duration limit) {
    const Moment until = now() + limit;
    while (!what()) {
        if (!time.step(until)) return false;
    }
    return true;
}

std::optional<ClientId> World::connect_script(std::size_t node) { return connect(nobody, node); }

std::optional<core::Outcome> World::take(std::uint64_t number) {
    const auto it = probe_outcomes_.find(number);
    if (it == probe_outcomes_.end()) return std::nullopt;
    core::Outcome outcome = std::move(it->second);
    probe_outcomes_.erase(it);
    return outcome;
}

void World::hang_up(std::size_t node) { close(probe_clients_[node], {}); }

void World::probe(std::size_t node, const LockKey& key, Duration bound) {
    core::LockCommand lock;
    lock.key = key;
    lock.ttl = plan.ttl_max;
    lock.wait = bound;
    const auto outcome = ask(node, lock, bound + seconds(3));
    if (oracle.violation()) return;
    const auto* grant = outcome ? std::get_if<core::Granted>(&*outcome) : nullptr;
    if (grant == nullptr) {
        return oracle.violate(key,
                              "liveness: the lock can't be had through " + member(node).label() +
                                  ": " + (outcome ? describe(*outcome) : "no answer"));
    }
    core::UnlockCommand unlock;
    unlock.key = key;
    unlock.token = grant->token;
    const auto freed = ask(node, std::move(unlock), seconds(3));
    if (oracle.violation()) return;
    if (!freed || describe(*freed) != "1") {
        oracle.violate(key, "liveness: UNLOCK is not answered 1");
    }
}

Result World::result() {
    Result result;
    result.seed = plan.seed;
    result.hash = transcript.hash();
    result.steps = steps_;
    result.violation = oracle.violation();
    const bool concerns_all = !result.violation || result.violation->key.id.empty();
    result.transcript =
        transcript.tail(concerns_all ? nullptr : &result.violation->key, transcript_lines_);
    result.tally = oracle.tally();
    result.tally.clock_refusals = clock_refusals;
    result.coverage = nemesis_.coverage();
    return result;
}

void World::snapshots() {
    time.after(random.between(milliseconds(200), seconds(5)), [this] {
        if (redis().is_up()) redis().save_snapshot();
        snapshots();
    });
}

void World::replicas() {
    time.after(random.between(milliseconds(5), milliseconds(200)), [this] {
        if (redis().is_up() && !redis().is_frozen()) redis().replicate();
        if (mysql_ && mysql_->is_up()) mysql_->replicate();
        replicas();
    });
}

void World::start_later(std::size_t node, Duration delay) {
    time.after(delay, [this, node] {
        if (!member(node).is_alive()) member(node).start();
    });
}

void World::left_later(std::size_t node) {
    time.after(Duration(1), [this, node, incarnation = member(node).incarnation()] {
        Member& left = member(node);
        if (!left.is_alive() || left.incarnation() != incarnation) return;
        note(nullptr, node, [&] { return left.label() + " has left"; });
        left.kill(Member::Left::state);
        start_later(node, random.between(milliseconds(10), seconds(3)));
    });
}

// ---- servers ---------------------------------------------------------------------------------

Server& World::server(Site site) {
    if (site == Site::mysql) return *mysql_;
    return *redis_.back();
}

const std::optional<authority::FleetRecord>& World::record() {
    return plan.has_mysql() ? mysql_->arbiter().record() : redis().arbiter().record();
}

bool World::is_basis_pending(Epoch epoch) {
    authority::ArbiterTable table = plan.has_mysql() ? mysql_->arbiter() : redis().arbiter();
    const auto change = table.apply(authority::StoreMs{}, authority::ReadView{}).view.basis_change;
    return change && change->from > epoch;
}

Vault* World::open_vault() {
    const auto& now_open = record();
    if (!now_open || now_open->placement.state != authority::RecordState::open) return nullptr;
    const authority::Placement& placement = now_open->placement;
    if (placement.store == "mysql") return mysql_->vault();
    const auto& marker = redis().marker();
    const bool is_there = marker && marker->epoch == placement.since_epoch &&
                          marker->nonce == placement.nonce && redis().is_up();
    return is_there ? redis().vault() : nullptr;
}

void World::initialised(Epoch epoch) {
    initialised_ = epoch;
    // Its opener had no word of the opening, began anew, and the opening took place all the same:
    // the marker of what is open is gone.
    const auto& there = record();
    if (there && there->epoch == epoch && there->placement.state == authority::RecordState::open) {
        oracle.store_changed();
    }
}

bool World::is_settling(bool initialised) {
    const auto& now_there = record();
    if (!now_there || now_there->placement.state != authority::RecordState::settling) return false;
    return initialised == (initialised_ == now_there->epoch);
}

// For some seconds some are led to the old master yet.
ConnectionPtr World::connect_to(Site site, std::size_t node, Ear& ear) {
    const bool is_old = site == Site::redis && redis_.size() > 1 &&
                        now() - redis_moved_ < seconds(4) && random.chance(30) &&
                        redis_[redis_.size() - 2]->is_up();
    Server& to = is_old ? *redis_[redis_.size() - 2] : server(site);
    return to.connect(node, ear);
}

void World::promote_redis(Duration unnoticed) {
    RedisServer* const old = redis_.back().get();
    auto next =
        old->promote(draw_clock(random, plan.ppm_max), "redis" + std::to_string(redis_.size()));
    redis_.push_back(std::move(next));
    redis_moved_ = now();
    servers_changed();
    note(nullptr, runs, [&] {
        return redis().label() + " is promoted; " + old->label() + " does not know yet";
    });
    time.after(unnoticed, [old] { old->demote(); });
}

authority::ArbiterReply World::arbitrate(std::size_t node,
                                         authority::ArbiterTable& table,
                                         authority::StoreMs shown,
                                         authority::ArbiterCall& call) {
    const auto before = table.record();
    spoil(table, shown, call);
    authority::ArbiterReply reply = table.apply(shown, call);
    if (const auto* propose = std::get_if<authority::Propose>(&call); propose && reply.done) {
        note(nullptr, propose->next.epoch, [&] {
            return "arbiter: epoch " + std::to_string(propose->next.epoch) + " settles, for " +
                   propose->next.placement.store + ", by " + member(node).label() + ": " +
                   propose->next.placement.reason;
        });
        oracle.proposed(member(node), before, *table.record());
    } else if (const auto* open = std::get_if<authority::OpenEpoch>(&call); open && reply.done) {
        opened_shown_ = static_cast<std::int64_t>(shown);
        note(nullptr, open->epoch, [&] {
            std::string text = "arbiter: epoch " + std::to_string(open->epoch) + " is open, by " +
                               member(node).label() + ", strict wait " +
                               std::to_string(to_ms(open->next.strict_wait)) + " ms, missing";
            for (const auto each : open->next.missing) text += " " + std::to_string(each);
            return text;
        });
        oracle.opened(reply.view);
    } else if (const auto* basis = std::get_if<authority::WriteBasis>(&call); basis && reply.done) {
        oracle.basis_changed(basis->change);
        note(nullptr, basis->change.number, [&] {
            std::string stores;
            for (const std::string& store : basis->change.next.stores) stores += ", " + store;
            return "arbiter: ttl_max is " + std::to_string(to_ms(basis->change.next.ttl_max)) +
                   " ms, delay_max " + std::to_string(to_ms(basis->change.next.delay_max)) + " ms" +
                   stores + " from epoch " + std::to_string(basis->change.from) + ", by " +
                   member(node).label();
        });
    } else if (const auto* given = std::get_if<authority::HandOver>(&call)) {
        note(nullptr, reply.done, [&] {
            return "arbiter: " + member(node).label() + " hands " +
                   std::to_string(given->claims.size()) + " over for epoch " +
                   std::to_string(given->epoch) + (reply.done ? "" : ": too late");
        });
    } else if (const auto* forget = std::get_if<authority::Forget>(&call)) {
        note(nullptr, forget->incarnation, [&] {
            return "arbiter: " + member(node).label() + " forgets " +
                   std::to_string(forget->incarnation);
        });
    } else if (const auto* leave = std::get_if<authority::Leave>(&call)) {
        note(nullptr, leave->incarnation, [&] {
            return "arbiter: " + member(node).label() + " leaves";
        });
    }
    spoil(shown, reply);
    return reply;
}

// ---- planted bugs ----------------------------------------------------------------------------

void World::spoil(authority::ArbiterTable& table,
                  authority::StoreMs shown,
                  const authority::ArbiterCall& call) {
    const auto view = [&] { return table.apply(shown, authority::ReadView{}).view; };
    const auto& there = table.record();
    if (mutant == Mutant::unopened_dropped && std::holds_alternative<authority::Propose>(call) &&
        there && there->placement.state == authority::RecordState::settling) {
        for (authority::NodeRow& row : view().nodes) {
            (void)table.apply(shown, authority::HandOver{there->epoch, {}, true, false, row});
        }
    }
    const auto* given = std::get_if<authority::HandOver>(&call);
    const auto* beat = std::get_if<authority::Beat>(&call);
    if (mutant != Mutant::acked_by_name || (given == nullptr && beat == nullptr)) return;
    const authority::NodeRow& own = given != nullptr ? given->row : beat->row;
    for (const authority::NodeRow& row : view().nodes) {
        if (row.name != own.name || row.incarnation >= own.incarnation) continue;
        (void)table.apply(shown, authority::Forget{row.incarnation});
    }
}

void World::spoil(authority::StoreMs shown, authority::ArbiterReply& reply) {
    if (mutant == Mutant::live_votes_only) {
        std::erase_if(reply.view.nodes, [this](const authority::NodeRow& row) {
            return member_of(row.incarnation) == nullptr;
        });
    }
    if (mutant == Mutant::delay_unsaid) {
        for (authority::NodeRow& row : reply.view.nodes) {
            if (member_of(row.incarnation) != nullptr) continue;  // it goes by its own row
            row.ttl_high = std::min(row.ttl_high, plan.ttl_max);
        }
    }
    if (mutant == Mutant::strict_wait_instant && reply.view.record) {
        authority::Placement& placement = reply.view.record->placement;
        const Duration passed = from_ms(static_cast<std::int64_t>(shown) - opened_shown_);
        if (placement.state == authority::RecordState::open) {
            placement.strict_wait = std::max(placement.strict_wait - passed, Duration::zero());
        }
    }
}

}  // namespace latchd::sim
