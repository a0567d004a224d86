// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/core/authority/epoch.hpp>
#include <latchd/store/local/store.hpp>

#include <gtest/gtest.h>

#include <variant>
#include <vector>

namespace latchd::store::local {
namespace {

class Heard final : public Sink {
public:
    void deliver(core::Event&& event) override { events.push_back(std::move(event)); }

    template <class T>
    [[nodiscard]] const T& last() const {
        return std::get<T>(events.back());
    }

    std::vector<core::Event> events;
};

struct Fixture {
    Heard heard;
    Time now = Time(std::chrono::hours(1));
    std::vector<Epoch> saved;

    Options options(std::uint32_t counter) {
        Options options;
        options.node = NodeName("n");
        options.epoch = 7;
        options.counter = counter;
        options.boot_now = [this] { return now; };
        options.save_epoch = [this](Epoch epoch) { saved.push_back(epoch); };
        return options;
    }

    core::Reply acquire(Store& store, const char* id) {
        core::Acquire wish;
        wish.key = {ResourceName("a"), LockId(id)};
        wish.request = RequestId(std::string("request ") + id);
        wish.attempt = {1, ++attempts};
        wish.token = Token(std::string("token ") + id);
        wish.node = NodeName("n");
        wish.ttl = std::chrono::seconds(30);
        wish.retry_window = std::chrono::seconds(15);
        store.submit(core::OperationId{attempts}, std::move(wish));
        for (auto it = heard.events.rbegin(); it != heard.events.rend(); ++it) {
            if (auto* replied = std::get_if<core::StoreReplied>(&*it)) return replied->reply.reply;
        }
        return {};
    }

    std::uint64_t attempts = 0;
};

TEST(LocalStore, opens_at_its_start_and_answers_from_within_submit) {
    Fixture f;
    const auto store = make_store(f.options(41), f.heard);
    EXPECT_TRUE(f.heard.events.empty());
    store->start();
    EXPECT_EQ(f.heard.last<core::StoreOpened>().epoch, 7u);
    EXPECT_EQ(f.heard.last<core::StoreOpened>().tier, "local");
    EXPECT_FALSE(f.heard.last<core::StoreOpened>().shared);
    const core::Reply reply = f.acquire(*store, "1");
    EXPECT_EQ(reply.status, core::Status::granted);
    EXPECT_EQ(reply.record->fence, make_fence(7, 42));
    EXPECT_EQ(store->health().state, "up");
}

TEST(LocalStore, holds_what_the_former_process_granted_under_its_old_fence) {
    Fixture f;
    Options options = f.options(0);
    core::GrantRecord record;
    record.key = {ResourceName("a"), LockId("1")};
    core::Hold hold;
    hold.token = Token("old");
    hold.request = RequestId("old request");
    hold.attempts = {{9, 9}};
    record.holds.push_back(hold);
    record.fence = make_fence(6, 100);
    record.version = 3;
    record.ttl = record.left = std::chrono::seconds(10);
    options.records.push_back(record);
    // In its DELAY: no lease any more, and still nobody's.
    record.key.id = LockId("2");
    record.left = -std::chrono::seconds(1);
    record.delay = std::chrono::seconds(5);
    options.records.push_back(record);

    const auto store = make_store(std::move(options), f.heard);
    store->start();
    const core::Reply held = f.acquire(*store, "1");
    EXPECT_EQ(held.status, core::Status::held);
    EXPECT_EQ(held.fence_seen, make_fence(6, 100));
    EXPECT_EQ(f.acquire(*store, "2").status, core::Status::held);
    EXPECT_EQ(f.acquire(*store, "3").record->fence, make_fence(7, 1));

    f.now += std::chrono::seconds(10);
    EXPECT_EQ(f.acquire(*store, "2").status, core::Status::granted);
}

TEST(LocalStore, bars_what_was_cancelled_at_the_former_process_and_keeps_what_is_at_this_one) {
    Fixture f;
    Options options = f.options(0);
    const LockKey one{ResourceName("a"), LockId("1")};
    const LockKey two{ResourceName("a"), LockId("2")};
    options.cancelled.push_back({one, RequestId("request 1"), std::chrono::seconds(90)});
    // The record that the process did not come to drop.
    core::GrantRecord record;
    record.key = one;
    record.holds.push_back({Token("old"), RequestId("request 1"), {{9, 9}}, {}});
    record.fence = make_fence(6, 100);
    record.ttl = record.left = std::chrono::seconds(10);
    options.records.push_back(record);
    std::vector<core::CancelledRequest> kept;
    options.keep_cancelled = [&](const core::CancelledRequest& each, Time now) {
        EXPECT_EQ(now, f.now);
        kept.push_back(each);
    };
    const auto store = make_store(std::move(options), f.heard);
    store->start();
    EXPECT_EQ(f.acquire(*store, "1").status, core::Status::cancelled);
    EXPECT_TRUE(kept.empty()) << "it is kept already";
    store->submit(core::OperationId{100}, core::Inspect{one});
    EXPECT_EQ(f.heard.last<core::StoreReplied>().reply.reply.status, core::Status::not_held);

    const Duration bar = std::chrono::seconds(120);
    store->submit(core::OperationId{101},
                  core::Cancel{two, RequestId("request 2"), NodeName("n"), bar});
    EXPECT_EQ(kept, (std::vector<core::CancelledRequest>{{two, RequestId("request 2"), bar}}));
    EXPECT_EQ(f.acquire(*store, "2").status, core::Status::cancelled);
    f.now += std::chrono::seconds(90);
    EXPECT_EQ(f.acquire(*store, "1").status, core::Status::granted);
    EXPECT_EQ(f.acquire(*store, "2").status, core::Status::cancelled);
}

TEST(LocalStore, begins_the_next_epoch_when_its_counter_is_used_up) {
    Fixture f;
    const auto store = make_store(f.options(core::authority::counter_full - 2), f.heard);
    store->start();
    const core::Reply before = f.acquire(*store, "1");
    const core::Reply last = f.acquire(*store, "2");
    EXPECT_EQ(f.saved, std::vector<Epoch>{8});
    EXPECT_EQ(f.heard.last<core::StoreOpened>().epoch, 8u);
    EXPECT_EQ(f.acquire(*store, "1").status, core::Status::adopted);
    const core::Reply next = f.acquire(*store, "3");
    EXPECT_LT(before.record->fence, last.record->fence);
    EXPECT_EQ(next.record->fence, make_fence(8, 1));
    EXPECT_EQ(store->health().epoch, 8u);
}

TEST(LocalStore, answers_nothing_after_stop) {
    Fixture f;
    const auto store = make_store(f.options(0), f.heard);
    store->start();
    store->stop();
    f.heard.events.clear();
    store->submit(core::OperationId{1}, core::Inspect{{ResourceName("a"), LockId("1")}});
    EXPECT_TRUE(f.heard.events.empty());
}

}  // namespace
}  // namespace latchd::store::local
