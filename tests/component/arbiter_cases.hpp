// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../support/stalls.hpp"
#include "arbiter_run.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

// What holds of every arbiter, whatever its server is. To be instantiated with a fixture that has
// make(), of one that waits long for a busy server, make_impatient(), freeze(), thaw(), kill() and
// start(); keeps_data says whether it does over a kill, and told_within how soon a call of the
// impatient one to a frozen server has failed.
namespace latchd::testing {

[[nodiscard]] inline core::authority::Beat beat(std::uint64_t number) {
    core::authority::Beat call;
    call.row.name = NodeName("n");
    call.row.incarnation = 7;
    call.row.beat = number;
    return call;
}

[[nodiscard]] inline core::authority::Propose first_epoch(const char* nonce) {
    core::authority::Propose call;
    call.next.uuid = core::authority::ClusterUuid("u");
    call.next.epoch = 5;
    call.next.placement.since_epoch = 5;
    call.next.placement.nonce = core::authority::Nonce(nonce);
    return call;
}

template <class Fixture>
class AnyArbiter : public Fixture {
protected:
    using ReadView = core::authority::ReadView;
    using Answered = core::authority::ArbiterAnswered;
    using Failed = core::authority::ArbiterFailed;
};
TYPED_TEST_SUITE_P(AnyArbiter);

TYPED_TEST_P(AnyArbiter, answers_in_order_what_is_sent_at_once) {
    using Answered = typename TestFixture::Answered;
    ArbiterRun arbiter(this->make());
    const auto first = arbiter.send(beat(1));
    const auto second = arbiter.send(beat(2));
    const auto third = arbiter.send(typename TestFixture::ReadView{});
    for (const auto& [id, number] : {std::pair(first, 1u), {second, 2u}, {third, 2u}}) {
        const auto outcome = arbiter.outcome(id);
        EXPECT_EQ(std::get<Answered>(outcome).reply.view.nodes.at(0).beat, number);
    }
}

TYPED_TEST_P(AnyArbiter, lets_one_of_two_begin_an_epoch) {
    using Answered = typename TestFixture::Answered;
    using ReadView = typename TestFixture::ReadView;
    ArbiterRun one(this->make()), other(this->make());
    one.reply(ReadView{});
    other.reply(ReadView{});
    const auto first = one.send(first_epoch("a"));
    const auto second = other.send(first_epoch("b"));
    one.turn();
    const bool other_won = std::get<Answered>(other.outcome(second)).reply.done;
    EXPECT_NE(std::get<Answered>(one.outcome(first)).reply.done, other_won);
    const auto nonce = one.reply(ReadView{}).view.record->placement.nonce;
    EXPECT_EQ(nonce, core::authority::Nonce(other_won ? "b" : "a"));
}

// What it lost it would decide anew.
TYPED_TEST_P(AnyArbiter, a_call_that_was_meant_for_another_process_is_not_carried_out) {
    using Failed = typename TestFixture::Failed;
    using ReadView = typename TestFixture::ReadView;
    ArbiterRun arbiter(this->make());
    const std::string is = arbiter.reply(ReadView{}).view.arbiter.run_id;
    const auto other = arbiter.outcome(arbiter.send(first_epoch("a"), "another"));
    ASSERT_TRUE(std::holds_alternative<Failed>(other));
    EXPECT_FALSE(std::get<Failed>(other).is_down);
    EXPECT_FALSE(arbiter.reply(ReadView{}).view.record);
    const auto own = arbiter.outcome(arbiter.send(first_epoch("a"), is));
    EXPECT_TRUE(std::holds_alternative<typename TestFixture::Answered>(own));
    EXPECT_TRUE(arbiter.reply(ReadView{}).view.record);
}

TYPED_TEST_P(AnyArbiter, refused_connections_are_evidence_and_it_comes_back_by_itself) {
    using ReadView = typename TestFixture::ReadView;
    ArbiterRun arbiter(this->make());
    const std::string run_id = arbiter.reply(beat(1)).view.arbiter.run_id;
    this->kill();
    for (int i = 0; i < 2; ++i) {
        const auto failed = arbiter.failure(ReadView{});
        EXPECT_TRUE(failed.is_down) << failed.text;
    }
    EXPECT_EQ(arbiter.health().state, "down");
    this->start();
    const auto view = arbiter.reply_in_the_end(ReadView{}).view;
    EXPECT_EQ(view.arbiter.run_id == run_id, TestFixture::keeps_data);
    EXPECT_EQ(view.nodes.size(), TestFixture::keeps_data ? 1u : 0u);
}

// The call that timed out never comes after one that was sent later.
TYPED_TEST_P(AnyArbiter, a_frozen_server_carries_out_nothing_late) {
    using Failed = typename TestFixture::Failed;
    using ReadView = typename TestFixture::ReadView;
    ArbiterRun arbiter(this->make_impatient());
    core::authority::Beat doubtful = beat(1);
    doubtful.row.incarnation = 8;
    arbiter.reply_in_the_end(beat(1));
    this->freeze();
    const test::Stalls stalls;
    const auto began = std::chrono::steady_clock::now();
    const auto first = arbiter.send(doubtful);
    const auto second = arbiter.send(ReadView{});
    for (const auto id : {first, second}) {
        const auto outcome = arbiter.outcome(id);
        ASSERT_TRUE(std::holds_alternative<Failed>(outcome));
        EXPECT_TRUE(std::get<Failed>(outcome).is_down);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - began, TestFixture::told_within + stalls.sum());
    this->thaw();
    const auto view = arbiter.reply_in_the_end(core::authority::Forget{8}).view;
    ASSERT_EQ(view.nodes.size(), 1u);
    EXPECT_EQ(arbiter.reply_in_the_end(ReadView{}).view.nodes, view.nodes);
}

REGISTER_TYPED_TEST_SUITE_P(AnyArbiter,
                            answers_in_order_what_is_sent_at_once,
                            lets_one_of_two_begin_an_epoch,
                            a_call_that_was_meant_for_another_process_is_not_carried_out,
                            refused_connections_are_evidence_and_it_comes_back_by_itself,
                            a_frozen_server_carries_out_nothing_late);

}  // namespace latchd::testing
