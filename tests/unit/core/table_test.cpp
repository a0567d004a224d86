// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/core/lock/shared.hpp>
#include <latchd/core/lock/table.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

// Rules of core::Table one by one; that scripts and statements keep them, too, is the conformance
// tests' business.
namespace latchd::core {
namespace {

using std::chrono::seconds;

constexpr Duration window = seconds(15);

// An owner whose LOCK under one REQ comes again and again.
struct Owner {
    Table table{7, 0, 0};  // packs whatever it can
    Time now{seconds(1'000)};
    LockKey key{ResourceName("r"), LockId("1")};
    std::uint64_t number = 0;

    Acquire wish(const char* request) {
        ++number;
        Acquire acquire;
        acquire.key = key;
        acquire.request = RequestId(request);
        acquire.attempt = {1, number};
        acquire.token = Token("token-" + std::to_string(number));
        acquire.owner = OwnerName("owner");
        acquire.node = NodeName("a");
        acquire.ttl = seconds(60);
        acquire.retry_window = window;
        return acquire;
    }
    Reply lock(const Acquire& acquire) { return table.apply(now, acquire).reply; }
    Status undo(const Acquire& of) {
        return table.apply(now, Undo{key, of.request, of.attempt, of.node, std::nullopt})
            .reply.status;
    }
    std::vector<Hold> holds() {
        const auto record = table.apply(now, Inspect{key}).reply.record;
        return record ? record->holds : std::vector<Hold>{};
    }
};

TEST(Table, adopts_by_request_id_until_the_retry_window_ends) {
    Owner owner;
    ASSERT_EQ(owner.lock(owner.wish("q")).status, Status::granted);
    owner.now += window - seconds(1);
    EXPECT_EQ(owner.lock(owner.wish("q")).status, Status::adopted);
    owner.now += window - seconds(1);
    EXPECT_EQ(owner.lock(owner.wish("q")).status, Status::adopted) << "it runs from the last one";
    ASSERT_EQ(owner.holds().size(), 1u);
    EXPECT_EQ(owner.holds()[0].attempts.size(), 3u);
}

TEST(Table, past_the_retry_window_the_request_id_goes_over_to_a_new_hold) {
    Owner owner;
    const Acquire first = owner.wish("q");
    ASSERT_EQ(owner.lock(first).status, Status::granted);
    owner.now += window;
    const Acquire second = owner.wish("q");
    EXPECT_EQ(owner.lock(second).status, Status::reentered);
    ASSERT_EQ(owner.holds().size(), 2u);
    EXPECT_EQ(owner.holds()[0].request, RequestId());
    EXPECT_EQ(owner.holds()[1].request, RequestId("q"));
    // It answers to the next retry.
    const Reply third = owner.lock(owner.wish("q"));
    EXPECT_EQ(third.status, Status::adopted);
    EXPECT_EQ(third.record.value().holds[1].attempts.size(), 2u);
}

TEST(Table, of_two_holds_of_a_request_id_the_newer_is_cancelled) {
    Owner owner;
    ASSERT_EQ(owner.lock(owner.wish("q")).status, Status::granted);
    owner.now += window;
    ASSERT_EQ(owner.lock(owner.wish("q")).status, Status::reentered);
    const Cancel cancel{owner.key, RequestId("q"), NodeName("a"), seconds(60)};
    EXPECT_EQ(owner.table.apply(owner.now, cancel).reply.status, Status::ended);
    ASSERT_EQ(owner.holds().size(), 1u);
    EXPECT_EQ(owner.holds()[0].token, Token("token-1"));
    EXPECT_EQ(owner.table.apply(owner.now, cancel).reply.status, Status::nothing);
}

TEST(Table, an_undo_finds_its_attempt_whichever_hold_has_it) {
    Owner owner;
    const Acquire first = owner.wish("q");
    ASSERT_EQ(owner.lock(first).status, Status::granted);
    owner.now += window;
    const Acquire second = owner.wish("q");
    ASSERT_EQ(owner.lock(second).status, Status::reentered);
    EXPECT_EQ(owner.lock(first).status, Status::adopted) << "what is sent again meets itself";
    EXPECT_EQ(owner.undo(first), Status::hold_removed);
    ASSERT_EQ(owner.holds().size(), 1u);
    EXPECT_EQ(owner.holds()[0].token, second.token);
    EXPECT_EQ(owner.undo(second), Status::undone);
    EXPECT_EQ(owner.holds().size(), 0u);
}

TEST(Table, tells_each_record_with_the_names_that_it_was_granted_to) {
    // More than it finds again, so that some are forgotten and some fall on one place.
    constexpr int clients = 600;
    Table table{7, 0, 0};  // packs whatever it can
    const Time now{seconds(1'000)};
    const auto wish_of = [](int i) {
        Acquire wish;
        wish.key = {ResourceName("r"), LockId(std::to_string(i))};
        wish.attempt = {1, static_cast<std::uint64_t>(i) + 1};
        wish.token = Token("token-" + std::to_string(i));
        wish.node = NodeName("node-" + std::to_string(i % 7));
        wish.client = ClientName("127.0.0.1:" + std::to_string(i % 300) + " a name of some length");
        wish.ttl = seconds(10);
        return wish;
    };
    for (int i = 0; i < clients; ++i) (void)table.apply(now, wish_of(i));
    for (int i = 0; i < clients; ++i) {
        const Acquire wish = wish_of(i);
        const auto record = table.apply(now, Inspect{wish.key}).reply.record;
        ASSERT_TRUE(record.has_value());
        EXPECT_EQ(record->node, wish.node);
        EXPECT_EQ(record->client, wish.client);
        EXPECT_EQ(record->owner, OwnerName());
    }
}

// T8.
TEST(Table, renew_may_add_an_attempt_that_stands_for_its_hold) {
    Table table(100);
    const Time now{std::chrono::hours(1)};
    Acquire wish;
    wish.key = {ResourceName("r"), LockId("1")};
    wish.request = RequestId("q");
    wish.attempt = {7, 1};
    wish.token = Token("t");
    wish.node = NodeName("a");
    wish.ttl = std::chrono::seconds(10);
    wish.retry_window = std::chrono::seconds(10);
    (void)table.apply(now, wish);
    Renew renew{wish.key, wish.token, NodeName("b"), {}, true};
    renew.stands = Attempt{8, 0};
    for (int sent = 0; sent < 2; ++sent) {  // again: it is there
        const auto record = table.apply(now, renew).reply.record;
        ASSERT_TRUE(record.has_value());
        EXPECT_EQ(record->holds.front().attempts, (Few<Attempt>{{7, 1}, {8, 0}}));
    }
    (void)table.apply(now, Undo{wish.key, wish.request, wish.attempt, wish.node, {}});
    EXPECT_EQ(table.apply(now, Inspect{wish.key}).reply.status, Status::found);
    (void)table.apply(now, Undo{wish.key, wish.request, *renew.stands, wish.node, {}});
    EXPECT_EQ(table.apply(now, Inspect{wish.key}).reply.status, Status::not_held);
    for (std::uint64_t number = 1; number <= attempts_per_hold_max; ++number) {
        wish.attempt = {7, number};
        (void)table.apply(now, wish);
    }
    EXPECT_EQ(table.apply(now, renew).reply.status, Status::holds_full);
    EXPECT_EQ(table.apply(now, Inspect{wish.key}).reply.record->renewals, 0u);
}

TEST(Shared, belongs_to_all_copies_together) {
    const ClientName name("a name");
    Shared<ClientName> kept;
    EXPECT_EQ(kept.get(), ClientName());
    {
        Recent<ClientName> recent;
        const Shared<ClientName> first = recent.share(name);
        kept = recent.share(name);
        EXPECT_EQ(&kept.get(), &first.get());
        Shared<ClientName> moved(std::move(kept));
        EXPECT_TRUE(kept.empty());
        kept = std::move(moved);
        const Shared<ClientName>& same = kept;
        kept = same;
        EXPECT_TRUE(recent.share(ClientName()).empty());
    }
    EXPECT_EQ(kept.get(), name);
    kept = ClientName("another");
    EXPECT_EQ(kept.view(), "another");
}

}  // namespace
}  // namespace latchd::core
