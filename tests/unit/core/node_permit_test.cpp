// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "support/world.hpp"

#include <gtest/gtest.h>

// What a fleet's authority lets a node do, and what a grant is worth (design section 5, rules 1, 5
// and 8; DEGRADE and REQUIRE).
namespace latchd::test {
namespace {

using core::Acquire;
using core::Degrade;
using core::PermitChanged;
using core::Release;
using core::Renew;
using core::Require;
using core::Safety;
using std::chrono::milliseconds;
using std::chrono::seconds;

core::ResourceSettings strict() {
    core::ResourceSettings settings;
    settings.safety = Safety::strict;
    return settings;
}

core::ResourceSettings degrade(Degrade to) {
    core::ResourceSettings settings;
    settings.degrade = to;
    return settings;
}

void set(Member& node, core::ResourceSettings settings) {
    node.registry.set(ResourceName("r"), std::move(settings));
}

PermitChanged until(Time end, std::string reason = "the arbiter does not answer") {
    PermitChanged permit;
    permit.available_until = end;
    permit.strict_until = end;
    permit.reason = std::move(reason);
    return permit;
}

// ---- retired -----------------------------------------------------------------------------------

TEST(NodeRetired, a_retired_resource_is_refused_and_says_the_way_out) {
    World world;
    Member& a = world.at(0);
    core::ResourceSettings settings;
    settings.retired = true;
    set(a, settings);
    EXPECT_EQ(got(a, a.send(1, lock())),
              "-ERR resource retired: nobody has used 'r' for long; RESOURCE SET r takes it into "
              "use again");
    a.feed(core::UsesWanted{});
    EXPECT_TRUE(a.uses.back().used.empty()) << "that was no use";
    set(a, {});
    EXPECT_EQ(got(a, a.send(1, lock())), "granted");
}

TEST(NodeRetired, a_lock_that_is_held_goes_on_and_counts_as_a_use) {
    World world;
    Member& a = world.at(0);
    set(a, {});
    const auto first = granted(a.outcome(a.send(1, lock())));
    core::ResourceSettings settings;
    settings.retired = true;
    set(a, settings);
    a.feed(core::UsesWanted{});
    a.feed(core::UsesWanted{});
    EXPECT_EQ(a.uses.back().used, std::vector{ResourceName("r")}) << "it is held";
    EXPECT_EQ(got(a, a.send(1, unlock(first.token.str()))), "1");
    a.feed(core::UsesWanted{});
    EXPECT_TRUE(a.uses.back().used.empty());
}

TEST(NodeRetired, a_use_is_a_lock_of_a_registered_resource_since_the_last_question) {
    World world;
    Member& a = world.at(0);
    set(a, {});
    const auto first = granted(a.outcome(a.send(1, lock())));
    core::LockCommand other = lock();
    other.key.resource = ResourceName("unregistered");
    EXPECT_EQ(got(a, a.send(1, other)), "granted");
    EXPECT_EQ(got(a, a.send(1, unlock(first.token.str()))), "1");
    a.feed(core::UsesWanted{});
    EXPECT_EQ(a.uses.back().used, std::vector{ResourceName("r")});
    a.feed(core::UsesWanted{});
    EXPECT_TRUE(a.uses.back().used.empty());
}

// ---- rule 1 ------------------------------------------------------------------------------------

TEST(NodePermit, nothing_is_granted_from_the_end_of_the_view_on) {
    World world;
    Member& a = world.at(0);
    a.feed(until(world.now + milliseconds(1'000)));
    world.advance(milliseconds(999));
    EXPECT_EQ(got(a, a.send(1, lock())), "granted") << "the last moment";
    world.advance(milliseconds(1));
    const auto late = a.send(2, lock({.id = "2"}));
    EXPECT_EQ(a.sent<Acquire>(), 1u) << "the end itself is over";
    EXPECT_EQ(got(a, late), "pending");
    world.advance(seconds(2));
    EXPECT_EQ(got(a, late), "-NOSTORE the arbiter does not answer retry_ms=1000");
}

TEST(NodePermit, a_node_that_stood_still_says_why_it_grants_nothing) {
    World world;
    Member& a = world.at(0);
    a.feed(until(world.now + seconds(1), ""));
    world.advance(seconds(60));
    const auto late = a.send(1, lock());
    world.advance(seconds(2));
    EXPECT_EQ(got(a, late),
              "-NOSTORE this node has not heard of the fleet's arbiter for too long (did it or its "
              "host stand still?) and asks it now retry_ms=1000");
}

TEST(NodePermit, what_waited_goes_on_with_the_next_heartbeat) {
    World world;
    Member& a = world.at(0);
    const auto one = granted(a.outcome(a.send(1, lock())));
    a.feed(until(world.now));
    const auto fresh = a.send(2, lock({.id = "2"}));
    const auto waiting = a.send(3, lock({.wait_ms = 5'000, .id = "3"}));
    const auto renewal = a.send(1, renew(one.token.str()));
    world.advance(milliseconds(1'500));
    EXPECT_EQ(got(a, renewal), "pending");
    a.feed(until(world.now + seconds(10)));
    EXPECT_EQ(got(a, fresh), "granted");
    EXPECT_EQ(got(a, waiting), "granted");
    EXPECT_EQ(got(a, renewal), "10000");
}

TEST(NodePermit, renew_past_the_view_is_refused_within_two_seconds) {
    World world;
    Member& a = world.at(0);
    const auto one = granted(a.outcome(a.send(1, lock())));
    a.feed(until(world.now));
    const auto renewal = a.send(1, renew(one.token.str()));
    world.advance(seconds(2));
    EXPECT_EQ(got(a, renewal), "-NOSTORE the arbiter does not answer retry_ms=1000");
    EXPECT_EQ(a.sent<Renew>(), 0u);
}

TEST(NodePermit, unlock_is_always_allowed_but_hands_nothing_over) {
    World world;
    Member& a = world.at(0);
    const auto one = granted(a.outcome(a.send(1, lock())));
    const auto next = a.send(2, lock({.wait_ms = 5'000}));
    a.feed(until(world.now));
    EXPECT_EQ(got(a, a.send(1, unlock(one.token.str()))), "1");
    EXPECT_EQ(world.table.size(), 0u);
    EXPECT_EQ(got(a, next), "pending");
    a.feed(until(world.now + seconds(10)));
    EXPECT_EQ(got(a, next), "granted");
}

TEST(NodePermit, the_watchdog_renews_again_within_the_lease) {
    World world;
    Member& a = world.at(0);
    granted(a.outcome(a.send(1, lock({.ttl_ms = 9'000, .keep = true}))));
    a.feed(until(world.now + seconds(1)));
    world.advance(seconds(8));
    EXPECT_EQ(a.sent<Renew>(), 0u);
    a.feed(until(world.now + seconds(10)));
    EXPECT_EQ(a.sent<Renew>(), 1u);
    EXPECT_EQ(a.node.counts().lost, 0u);
    world.advance(seconds(8));
    EXPECT_EQ(a.node.counts().held, 1u);
}

TEST(NodePermit, a_doubtful_lock_is_not_sent_again_past_the_view) {
    World world;
    Member& a = world.at(0);
    a.link = Link::frozen;
    const auto ticket = a.send(1, lock({.req = "q"}));
    a.close();
    a.break_off();
    a.link = Link::instant;
    a.feed(until(world.now));
    a.open();
    EXPECT_EQ(a.sent<Acquire>(), 1u);
    world.advance(seconds(2));
    EXPECT_EQ(got(a, ticket), "-UNCERTAIN max_ms=10000 req=q");
}

TEST(NodePermit, a_grant_without_the_arbiter_says_so) {
    World world;
    Member& a = world.at(0);
    PermitChanged permit;
    permit.is_confirmed = false;
    a.feed(permit);
    EXPECT_EQ(granted(a.outcome(a.send(1, lock()))).tier, "redis?");
    const auto redis = a.send(2, lock({.require = Require::redis, .id = "2"}));
    const auto shared = a.send(3, lock({.require = Require::shared, .id = "3"}));
    EXPECT_EQ(got(a, redis), "-DEGRADED the tier is redis?, not REQUIRE redis");
    EXPECT_EQ(got(a, shared), "-DEGRADED the tier is redis?, not REQUIRE shared");
}

TEST(NodePermit, whoever_waits_with_require_is_told_when_the_arbiter_goes) {
    World world;
    Member& a = world.at(0);
    granted(a.outcome(a.send(1, lock())));
    const auto picky = a.send(2, lock({.wait_ms = 9'000, .require = Require::shared}));
    const auto other = a.send(3, lock({.wait_ms = 9'000}));
    PermitChanged permit;
    permit.is_confirmed = false;
    a.feed(permit);
    EXPECT_EQ(got(a, picky), "-DEGRADED the tier is redis?, not REQUIRE shared");
    EXPECT_EQ(got(a, other), "pending");
}

// Found by the simulator: the second was asked for when the first went, and its answer met nobody.
TEST(NodePermit, who_is_refused_with_others_is_not_asked_for_in_between) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    granted(b.outcome(b.send(1, lock())));
    const auto first = a.send(2, lock({.wait_ms = 9'000, .require = Require::shared}));
    const auto second = a.send(3, lock({.wait_ms = 9'000, .require = Require::shared}));
    a.close();
    world.advance(seconds(3));
    PermitChanged permit;
    permit.is_confirmed = false;
    a.feed(permit);
    const auto asked = a.sent<Acquire>();
    a.open();
    EXPECT_EQ(got(a, first), "-DEGRADED the tier is redis?, not REQUIRE shared");
    EXPECT_EQ(got(a, second), "-DEGRADED the tier is redis?, not REQUIRE shared");
    EXPECT_EQ(a.sent<Acquire>(), asked);
    world.advance(seconds(3));
    EXPECT_EQ(a.node.counts().waiting, 0u);
}

// ---- strict ------------------------------------------------------------------------------------

TEST(NodeStrict, goes_by_its_own_end) {
    World world;
    Member& a = world.at(0);
    PermitChanged permit;
    permit.strict_until = world.now;
    a.feed(permit);
    EXPECT_EQ(got(a, a.send(1, lock())), "granted");
    set(a, strict());
    EXPECT_EQ(got(a, a.send(2, lock({.id = "2"}))), "pending");
}

// ---- how long leases may be -------------------------------------------------------------------

PermitChanged limited(Duration granted, Duration longest) {
    PermitChanged permit;
    permit.limits = core::LeaseLimits{granted, granted, longest, longest, 4 * longest};
    return permit;
}

TEST(NodeLimits, the_fleets_word_counts_whatever_this_node_is_configured_for) {
    World world;
    Member& a = world.at(0);
    a.feed(limited(seconds(90), seconds(90)));
    EXPECT_EQ(granted(a.outcome(a.send(1, lock({.ttl_ms = 120'000})))).left, seconds(90));
    a.feed(limited(seconds(5), seconds(90)));
    EXPECT_EQ(granted(a.outcome(a.send(1, lock({.id = "2"})))).left, seconds(5));
    a.feed(PermitChanged{});
    EXPECT_EQ(granted(a.outcome(a.send(1, lock({.ttl_ms = 120'000, .id = "3"})))).left,
              seconds(60));
}

TEST(NodeLimits, a_lock_that_waited_is_granted_for_what_may_be_granted_then) {
    World world;
    Member& a = world.at(0);
    const auto first = granted(a.outcome(a.send(1, lock())));
    const auto waiting = a.send(2, lock({.ttl_ms = 30'000, .wait_ms = 20'000, .delay_ms = 9'000}));
    a.feed(limited(seconds(5), seconds(60)));
    EXPECT_EQ(got(a, a.send(1, unlock(first.token.str()))), "1");
    EXPECT_EQ(granted(a.outcome(waiting)).left, seconds(5));
    EXPECT_EQ(a.journal.at(key()).delay, seconds(5));
}

TEST(NodeLimits, a_renewal_is_cut_and_never_shortens) {
    World world;
    Member& a = world.at(0);
    const auto held = granted(a.outcome(a.send(1, lock({.ttl_ms = 30'000}))));
    a.feed(limited(seconds(5), seconds(60)));
    EXPECT_EQ(got(a, a.send(1, renew(held.token.str()))), "30000");
    world.advance(seconds(28));
    EXPECT_EQ(got(a, a.send(1, renew(held.token.str()))), "5000");
    EXPECT_EQ(got(a, a.send(1, renew(held.token.str(), 40'000))), "5000");
}

TEST(NodeLimits, keep_goes_on_with_leases_of_what_may_be_granted) {
    World world;
    Member& a = world.at(0);
    (void)granted(a.outcome(a.send(1, lock({.ttl_ms = 30'000, .keep = true}))));
    a.feed(limited(seconds(6), seconds(60)));
    world.advance(seconds(29));
    EXPECT_EQ(a.journal.at(key()).ttl, seconds(6));
    world.advance(seconds(60));
    ASSERT_TRUE(a.journal.contains(key())) << "it is renewed all the same";
    EXPECT_LE(a.journal.at(key()).left, seconds(6));
    EXPECT_TRUE(a.happened.empty());
}

TEST(NodeLimits, what_was_granted_elsewhere_is_looked_at_before_it_is_renewed) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    const auto held = granted(a.outcome(a.send(1, lock({.ttl_ms = 30'000}))));
    b.feed(limited(seconds(5), seconds(60)));
    world.advance(seconds(28));
    EXPECT_EQ(got(b, b.send(1, renew(held.token.str()))), "5000");
    EXPECT_EQ(b.sent<core::Inspect>(), 1u);
    EXPECT_EQ(got(b, b.send(1, renew(held.token.str()))), "5000");
    EXPECT_EQ(b.sent<core::Inspect>(), 1u) << "its record is known now";
}

TEST(NodeStrict, asks_once_before_the_first_grant_and_waits) {
    World world;
    Member& a = world.at(0);
    set(a, strict());
    PermitChanged permit;
    permit.strict_all = false;
    permit.strict_ttl_max = {};
    a.feed(permit);
    const auto first = a.send(1, lock({.delay_ms = 3'000}));
    const auto second = a.send(2, lock({.id = "2"}));
    ASSERT_EQ(a.asked.size(), 1u) << "what was asked for covers the second";
    EXPECT_EQ(a.asked[0].resource, ResourceName("r"));
    EXPECT_EQ(a.asked[0].ttl_high, seconds(13));
    permit.strict_named = {ResourceName("r")};
    permit.strict_ttl_max = seconds(13);
    a.feed(permit);
    EXPECT_EQ(got(a, first), "granted");
    EXPECT_EQ(got(a, second), "granted");
    const auto longer = a.send(3, lock({.ttl_ms = 20'000, .id = "3"}));
    ASSERT_EQ(a.asked.size(), 2u);
    EXPECT_EQ(a.asked[1].ttl_high, seconds(20));
    a.feed(permit);
    EXPECT_EQ(got(a, longer), "pending");
    EXPECT_EQ(a.asked.size(), 2u);
}

TEST(NodeStrict, a_renewal_that_is_longer_than_what_was_named_waits) {
    World world;
    Member& a = world.at(0);
    set(a, strict());
    PermitChanged permit;
    permit.strict_ttl_max = seconds(10);
    a.feed(permit);
    const auto one = granted(a.outcome(a.send(1, lock())));
    const auto renewal = a.send(1, renew(one.token.str(), 30'000));
    ASSERT_EQ(a.asked.size(), 1u);
    EXPECT_EQ(a.asked[0].ttl_high, seconds(30));
    permit.strict_ttl_max = seconds(30);
    a.feed(permit);
    EXPECT_EQ(got(a, renewal), std::to_string(30'000 - 30 - 260));
}

// Else whoever loses this node would wait two minutes for every new strict lock.
TEST(NodeStrict, a_renewal_without_a_record_names_no_more_than_the_lock_has) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    set(a, strict());
    set(b, strict());
    const auto one = granted(a.outcome(a.send(1, lock({.delay_ms = 3'000}))));
    PermitChanged permit;
    permit.strict_ttl_max = seconds(5);
    b.feed(permit);
    const auto renewal = b.send(1, renew(one.token.str()));
    EXPECT_EQ(b.sent<Renew>(), 0u);
    ASSERT_EQ(b.asked.size(), 1u);
    EXPECT_EQ(b.asked[0].ttl_high, seconds(13));
    permit.strict_ttl_max = seconds(13);
    b.feed(permit);
    EXPECT_EQ(got(b, renewal), std::to_string(10'000 - 10 - 260));
    // What is left is longer than what is asked for.
    const auto two = granted(a.outcome(a.send(1, lock({.ttl_ms = 40'000, .id = "2"}))));
    core::RenewCommand command = renew(two.token.str(), 5'000);
    command.key.id = LockId("2");
    const auto shorter = b.send(1, std::move(command));
    ASSERT_EQ(b.asked.size(), 2u);
    EXPECT_EQ(b.asked[1].ttl_high, seconds(40));
    EXPECT_EQ(got(b, shorter), "pending");
}

TEST(NodeStrict, a_renewal_without_a_record_is_answered_by_the_look) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    set(a, strict());
    set(b, strict());
    PermitChanged permit;
    permit.strict_ttl_max = seconds(5);
    b.feed(permit);
    EXPECT_EQ(got(b, b.send(1, renew("nobody's"))), "0");
    granted(a.outcome(a.send(1, lock())));
    EXPECT_EQ(got(b, b.send(1, renew("nobody's"))), "-1");
    EXPECT_EQ(b.sent<Renew>(), 0u);
    EXPECT_TRUE(b.asked.empty());
}

TEST(NodeStrict, a_client_that_leaves_while_its_renewal_looks_is_not_renewed_for) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    set(a, strict());
    set(b, strict());
    const auto one = granted(a.outcome(a.send(1, lock())));
    PermitChanged permit;
    permit.strict_ttl_max = seconds(5);
    b.feed(permit);
    b.link = Link::frozen;
    core::RenewCommand command = renew(one.token.str());
    command.keep = true;
    (void)b.send(1, std::move(command));
    b.feed(core::ClientGone{ClientId{1}});
    b.link = Link::instant;
    b.break_off();
    permit.strict_ttl_max = seconds(30);
    b.feed(permit);
    EXPECT_EQ(b.node.counts().keeping, 0u);
}

TEST(NodeStrict, a_re_entered_lock_that_runs_longer_is_named) {
    World world(2);
    Member& a = world.at(0);
    Member& b = world.at(1);
    set(a, strict());
    set(b, strict());
    granted(a.outcome(a.send(1, lock({.ttl_ms = 40'000, .owner = "o"}))));
    PermitChanged permit;
    permit.strict_ttl_max = seconds(10);
    b.feed(permit);
    granted(b.outcome(b.send(1, lock({.ttl_ms = 10'000, .owner = "o"}))));
    ASSERT_EQ(b.asked.size(), 1u);
    EXPECT_EQ(b.asked[0].ttl_high, milliseconds(40'000 - 40 - 260));
}

TEST(NodeStrict, after_an_opening_carried_locks_go_on_before_new_ones) {
    World world;
    Member& a = world.at(0);
    set(a, strict());
    const auto one = granted(a.outcome(a.send(1, lock({.owner = "o", .req = "q"}))));
    PermitChanged permit;
    permit.strict_fresh = false;
    permit.reason = "node c is missing";
    a.feed(permit);
    EXPECT_EQ(granted(a.outcome(a.send(2, lock({.owner = "o"})))).fence, one.fence);
    EXPECT_EQ(granted(a.outcome(a.send(2, lock({.req = "q"})))).fence, one.fence);
    EXPECT_NE(got(a, a.send(1, renew(one.token.str()))).substr(0, 1), "-");
    const auto fresh = a.send(3, lock({.owner = "p", .id = "2"}));
    const auto plain = a.send(3, lock({.id = "3"}));
    const auto waiting = a.send(3, lock({.wait_ms = 1'000, .owner = "p", .id = "4"}));
    EXPECT_EQ(got(a, fresh), "pending");
    world.advance(seconds(2));
    EXPECT_EQ(got(a, fresh), "-NOSTORE node c is missing retry_ms=1000");
    EXPECT_EQ(got(a, plain), "-NOSTORE node c is missing retry_ms=1000");
    EXPECT_EQ(got(a, waiting), "pending");
    a.feed(PermitChanged{});
    EXPECT_EQ(got(a, waiting), "granted");
}

TEST(NodeStrict, nothing_goes_before_silent_nodes_are_lost) {
    World world;
    Member& a = world.at(0);
    set(a, strict());
    const auto one = granted(a.outcome(a.send(1, lock({.owner = "o"}))));
    PermitChanged permit;
    permit.strict_carried = false;
    permit.strict_fresh = false;
    a.feed(permit);
    const auto again = a.send(2, lock({.owner = "o"}));
    const auto renewal = a.send(1, renew(one.token.str()));
    EXPECT_EQ(got(a, again), "pending");
    EXPECT_EQ(got(a, renewal), "pending");
    permit.strict_carried = true;
    a.feed(permit);
    EXPECT_EQ(got(a, again), "granted");
    EXPECT_NE(got(a, renewal).substr(0, 1), "-");
}

TEST(NodeStrict, leases_are_told_shorter_and_are_at_least_two_seconds) {
    World world;
    Member& a = world.at(0);
    set(a, strict());
    EXPECT_EQ(granted(a.outcome(a.send(1, lock()))).left, milliseconds(10'000 - 10 - 260));
    const auto brief = granted(a.outcome(a.send(1, lock({.ttl_ms = 100, .id = "2"}))));
    EXPECT_EQ(brief.left, milliseconds(2'000 - 2 - 260));
    const auto& acquire = std::get<Acquire>(a.submitted[0]);
    EXPECT_TRUE(acquire.strict);
    EXPECT_EQ(got(a, a.send(1, lock({.keep = true, .onclose = true, .id = "3"}))).substr(0, 4),
              "-ERR");
}

// ---- DEGRADE -----------------------------------------------------------------------------------

TEST(NodeDegrade, fresh_grants_end_with_the_last_tier_named_and_held_locks_go_on) {
    World world(1, {"redis", "mysql", "local"});
    Member& a = world.at(0);
    set(a, degrade(Degrade::none));
    const auto one = granted(a.outcome(a.send(1, lock({.owner = "o"}))));
    const auto waiter = a.send(2, lock({.wait_ms = 9'000}));
    a.close("settling", true);
    a.open("mysql");
    const std::string text =
        "-DEGRADED the tier is mysql, and DEGRADE of resource 'r' ends before it; locks that are "
        "held go on";
    EXPECT_EQ(got(a, waiter), text);
    EXPECT_EQ(got(a, a.send(3, lock({.id = "2"}))), text);
    EXPECT_EQ(got(a, a.send(3, lock({.owner = "p", .id = "2"}))), text);
    EXPECT_EQ(got(a, a.send(1, renew(one.token.str()))), "10000");
    EXPECT_EQ(granted(a.outcome(a.send(1, lock({.owner = "o"})))).fence, one.fence);
    EXPECT_EQ(got(a, a.send(1, unlock(one.token.str()))), "2");
    set(a, degrade(Degrade::mysql));
    EXPECT_EQ(got(a, a.send(3, lock({.id = "2"}))), "granted");
}

TEST(NodeDegrade, by_default_to_the_last_tier_and_strict_to_the_last_shared_one) {
    World world(1, {"redis", "local"});
    Member& a = world.at(0);
    a.open("local");
    EXPECT_EQ(granted(a.outcome(a.send(1, lock()))).tier, "local");
    set(a, strict());
    EXPECT_EQ(got(a, a.send(1, lock({.id = "2"}))).substr(0, 9), "-DEGRADED");
    set(a, degrade(Degrade::mysql));
    EXPECT_EQ(got(a, a.send(1, lock({.id = "3"}))).substr(0, 9), "-DEGRADED");
}

TEST(NodeDegrade, a_single_tier_is_never_a_lower_one) {
    World world(1, {"local"});
    Member& a = world.at(0);
    a.open("local");
    set(a, degrade(Degrade::none));
    EXPECT_EQ(got(a, a.send(1, lock())), "granted");
}

}  // namespace
}  // namespace latchd::test
