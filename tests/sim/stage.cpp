// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "stage.hpp"

#include "transcript.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace latchd::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::array<std::string_view, rule_count> rule_names{"none",
                                                              "register_first",
                                                              "view_lease",
                                                              "same_process",
                                                              "arbiter_identity",
                                                              "marker_checked",
                                                              "majority",
                                                              "hold_down",
                                                              "vote_of_known",
                                                              "hand_over",
                                                              "gone_handed_over",
                                                              "cancels_handed_over",
                                                              "ack_or_grace",
                                                              "by_incarnation",
                                                              "strict_lost_first",
                                                              "strict_wait",
                                                              "strict_wait_carried",
                                                              "wait_until_asserted",
                                                              "successor_by_journal",
                                                              "wait_as_duration",
                                                              "rebase_only_settling",
                                                              "read_only_recorded",
                                                              "fresh_nonce",
                                                              "epoch_rises",
                                                              "former_basis_waited",
                                                              "stores_of_record",
                                                              "unsure_refenced"};

}  // namespace

std::string_view name_of(authority::Rule rule) noexcept {
    return rule_names[static_cast<std::size_t>(rule)];
}

std::optional<authority::Rule> rule_of(std::string_view name) noexcept {
    for (std::size_t i = 0; i < rule_count; ++i) {
        if (rule_names[i] == name) return static_cast<authority::Rule>(i);
    }
    return std::nullopt;
}

std::optional<core::Granted> Stage::lock(std::size_t node, core::LockCommand command) {
    const Duration wait = command.wait;
    const auto outcome = world.ask(node, std::move(command), wait + milliseconds(2200));
    said = outcome ? describe(*outcome) : "no answer";
    if (!outcome) return std::nullopt;
    const auto* grant = std::get_if<core::Granted>(&*outcome);
    if (grant == nullptr) return std::nullopt;
    return *grant;
}

std::optional<core::Granted> Stage::lock(std::size_t node,
                                         const char* resource,
                                         Duration ttl,
                                         Duration wait) {
    core::LockCommand command;
    command.key = key_in(resource);
    command.ttl = ttl;
    command.wait = wait;
    return lock(node, std::move(command));
}

std::optional<std::int64_t> Stage::number(std::size_t node, core::ClientCommand command) {
    const auto outcome = world.ask(node, std::move(command), milliseconds(2200));
    said = outcome ? describe(*outcome) : "no answer";
    const auto* told = outcome ? std::get_if<core::Number>(&*outcome) : nullptr;
    return told == nullptr ? std::nullopt : std::optional(told->value);
}

std::optional<std::int64_t> Stage::renew(std::size_t node,
                                         const char* resource,
                                         const Token& token) {
    core::RenewCommand command;
    command.key = key_in(resource);
    command.token = token;
    return number(node, std::move(command));
}

std::optional<std::int64_t> Stage::unlock(std::size_t node,
                                          const char* resource,
                                          const Token& token) {
    core::UnlockCommand command;
    command.key = key_in(resource);
    command.token = token;
    return number(node, std::move(command));
}

void Stage::command(std::size_t node, bool back) {
    authority::Command command;
    command.id = world.time.now().time_since_epoch().count() + 0ull;
    command.back = back;
    command.reason = "script";
    world.oracle.commanded();
    world.member(node).command(std::move(command));
}

void Stage::set_ttl_max(std::size_t node, Duration ttl_max) {
    world.member(node).change(
        {world.time.now().time_since_epoch().count() + 0ull, ttl_max, std::nullopt});
}

void Stage::set_delay_max(std::size_t node, Duration delay_max) {
    world.member(node).change(
        {world.time.now().time_since_epoch().count() + 0ull, std::nullopt, delay_max});
}

void Stage::set_stores(std::size_t node, std::vector<std::string> stores) {
    authority::BasisWanted wish;
    wish.id = world.time.now().time_since_epoch().count() + 0ull;
    wish.stores = std::move(stores);
    world.member(node).change(std::move(wish));
}

bool Stage::until(const std::function<bool()>& what, Duration limit) {
    const Moment end = world.now() + limit;
    while (!is_over() && world.now() < end) {
        if (what()) return true;
        world.run_for(milliseconds(1));
    }
    return !is_over() && what();
}

bool Stage::until_open(std::size_t node, std::string_view store, Epoch after, Duration limit) {
    return until(
        [&] {
            const auto& record = world.record();
            const Member& member = world.member(node);
            return record && record->epoch > after &&
                   record->placement.state == authority::RecordState::open &&
                   record->placement.store == store && member.is_open() &&
                   member.epoch() == record->epoch;
        },
        limit);
}

bool Stage::until_settling(Epoch after, const std::function<bool()>& when, Duration limit) {
    return until(
        [&] {
            const auto& record = world.record();
            return record && record->epoch > after &&
                   record->placement.state == authority::RecordState::settling && when();
        },
        limit);
}

bool Stage::has_acked(std::size_t node, Epoch epoch) {
    authority::ArbiterTable table =
        world.plan.has_mysql() ? world.mysql().arbiter() : world.redis().arbiter();
    const auto view = table.apply(authority::StoreMs{}, authority::ReadView{}).view;
    return std::ranges::any_of(view.nodes, [&](const authority::NodeRow& row) {
        return row.incarnation == world.member(node).incarnation() && row.acked >= epoch;
    });
}

Result play(const Scenario& scenario, const RunOptions& options) {
    Stage stage(scenario.plan(), options);
    if (!stage.is_over()) scenario.play(stage);
    return stage.world.result();
}

Plan plan_of(int nodes) {
    Plan plan(1);
    plan.nodes = nodes;
    plan.arbiter = Site::mysql;
    plan.has_strict = true;
    plan.has_local = false;
    plan.clients = 0;
    plan.kill_works = true;
    plan.checks_clock = true;
    plan.faults.clear();
    plan.ttl_max = std::chrono::seconds(6);
    plan.wait_max = std::chrono::seconds(30);
    plan.ppm_max = 200;
    return plan;
}

bool ready(Stage& stage) {
    const bool is_open = stage.until_open(0, "redis", 0, std::chrono::seconds(12));
    stage.expect(is_open, "no epoch is open on redis");
    // Strict resources need a measured clock.
    const bool is_strict = !stage.world.plan.has_strict ||
                           stage.until(
                               [&] {
                                   const auto grant = stage.lock(0, "s", std::chrono::seconds(2));
                                   if (grant) (void)stage.unlock(0, "s", grant->token);
                                   return grant.has_value();
                               },
                               std::chrono::seconds(8));
    stage.expect(is_strict, "no strict lock can be had: " + stage.said);
    return !stage.is_over();
}

}  // namespace latchd::sim
