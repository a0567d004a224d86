// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// The adapter between tiers, arbiter and node, with a script in the place of the authority.
#include <latchd/store/fleet/store.hpp>
#include <latchd/telemetry/log.hpp>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace latchd::store::fleet {
namespace {

namespace authority = core::authority;
using namespace std::chrono_literals;
using testing::ElementsAre;

core::ResourceSettings with_ttl(Duration ttl) {
    core::ResourceSettings settings;
    settings.ttl = ttl;
    return settings;
}

// An action for this tier.
template <class Action>
Action on_tier(std::size_t tier) {
    Action action;
    action.tier = tier;
    return action;
}

// Does what the test tells it to, and writes down what it was told.
class Script final : public Decider {
public:
    struct Shared {
        std::vector<authority::FleetEvent> seen;
        authority::FleetActions next;  // answer to the next event
        authority::FleetStatus status;
    };
    explicit Script(Shared& shared) : shared_(shared) {}
    void start(authority::Moment, authority::FleetActions& out) override { play(out); }
    void step(authority::Moment,
              authority::FleetEvent&& event,
              authority::FleetActions& out) override {
        shared_.seen.push_back(std::move(event));
        play(out);
    }
    std::optional<Time> next_deadline() const override { return std::nullopt; }
    authority::FleetStatus status(Time) const override { return shared_.status; }

private:
    void play(authority::FleetActions& out) {
        for (auto& action : shared_.next) out.push_back(std::move(action));
        shared_.next.clear();
    }
    Shared& shared_;
};

struct FakeTier final : Tier {
    FakeTier(std::string tier_name, Sink& to, std::vector<std::string>& log)
        : name(std::move(tier_name)), sink(to), said(log) {}
    void start() override {}
    void stop() override {}
    void submit(core::OperationId id, core::Operation&&) override {
        said.push_back(name + " submit " + std::to_string(static_cast<std::uint64_t>(id)));
        if (answers) sink.deliver(core::StoreReplied{id, {}});
    }
    Health health() const override {
        Health health;
        health.name = health.type = name;
        health.state = "up";
        return health;
    }
    void act(authority::TierLook&&) override { said.push_back(name + " look"); }
    void act(authority::TierInitialise&&) override { said.push_back(name + " initialise"); }
    void act(authority::TierLoad&&) override { said.push_back(name + " load"); }
    void act(authority::TierCloseAndRead&&) override { said.push_back(name + " close"); }
    void act(authority::TierNote&&) override { said.push_back(name + " note"); }
    void act(authority::TierServe&&) override { said.push_back(name + " serve"); }
    void act(authority::TierWithdraw&&) override {
        said.push_back(name + " withdraw");
        // A tier that does what it must not: the caller has failed these already.
        if (late) sink.deliver(core::StoreReplied{*late, {}});
    }

    std::string name;
    Sink& sink;
    std::vector<std::string>& said;
    bool answers = false;
    std::optional<core::OperationId> late;
};

struct FakeArbiter final : Arbiter {
    void start() override {}
    void stop() override {}
    void act(authority::ArbiterDo&& action) override { calls.push_back(std::move(action)); }
    Health health() const override { return {}; }
    std::vector<authority::ArbiterDo> calls;
};

struct FakeNode final : Sink {
    void deliver(core::Event&& event) override {
        std::visit([this](const auto& one) { note(one); }, event);
        if (const auto* wanted = std::get_if<core::ClaimsWanted>(&event)) {
            core::Claims claims;
            claims.gone.push_back({{ResourceName("r"), LockId("1")}, 7});
            store->claims_given({wanted->epoch, claims});
        }
        // What a real node does with an operation in doubt: it looks at once.
        const auto* failed = std::get_if<core::StoreFailed>(&event);
        if (resend && failed != nullptr && failed->failure == core::Failure::in_doubt) {
            store->submit(core::OperationId{static_cast<std::uint64_t>(failed->id) + 100},
                          core::Inspect{});
        }
    }
    void note(const core::StoreOpened& event) { heard.push_back("opened " + event.tier); }
    void note(const core::StoreClosed& event) { heard.push_back("closed " + event.reason); }
    void note(const core::StoreReplied& event) {
        heard.push_back("replied " + id(event.id));
        last = event.reply.reply.status;
    }
    void note(const core::StoreFailed& event) {
        heard.push_back((event.failure == core::Failure::in_doubt ? "doubt " : "unsent ") +
                        id(event.id));
    }
    void note(const core::ClaimsWanted& event) {
        heard.push_back("claims " + std::to_string(event.epoch));
    }
    void note(const core::MessagesResumed&) { heard.emplace_back("messages"); }
    template <class T>
    void note(const T&) {
        heard.emplace_back("other");
    }
    static std::string id(core::OperationId one) {
        return std::to_string(static_cast<std::uint64_t>(one));
    }

    Store* store = nullptr;
    bool resend = false;
    std::vector<std::string> heard;
    core::Status last{};  // of a reply
};

class FleetStoreTest : public testing::Test {
protected:
    FleetStoreTest() {
        registry.set(ResourceName("mine"), with_ttl(5s));
        registry.set(ResourceName("old"), {});
    }

    void make() {
        Options options;
        options.local_name = "host";
        options.cancelled_of_host = cancelled;
        options.proposed = {{ResourceName("mine"), with_ttl(5s)}};
        Surroundings around;
        around.boot_now = [this] { return now; };
        around.wall_ms = [] { return std::int64_t{1'767'225'600'000}; };
        around.registry = &registry;
        around.save = [this](const authority::Known& known) { saved = known.epoch; };
        around.keep_cancelled = [this](const core::CancelledRequest& barred, Time) {
            cancelled.push_back(barred);
        };
        around.keep_offset = [this](Duration offset) { kept_offset = offset; };
        around.changed = [this](const authority::Changed& change) {
            changes.push_back(change.tier);
        };
        Makers makers;
        for (const char* name : {"redis", "mysql"}) {
            makers.tiers.emplace_back([this, name](FleetSink&, Sink& sink) {
                auto tier = std::make_unique<FakeTier>(name, sink, said);
                tiers.push_back(tier.get());
                return tier;
            });
        }
        makers.arbiter = [this](FleetSink& sink) {
            fleet_sink = &sink;
            auto made = std::make_unique<FakeArbiter>();
            arbiter = made.get();
            return made;
        };
        makers.decider = std::make_unique<Script>(script);
        store = make_store(context, std::move(options), std::move(around), std::move(makers), node);
        node.store = store.get();
        store->start();
    }

    // The next event is answered by these actions.
    template <class... Actions>
    void play(Actions... actions) {
        (script.next.push_back(std::move(actions)), ...);
        fleet_sink->happened(authority::TimeCame{});
    }
    void open(std::size_t tier, std::string name, Epoch epoch) {
        play(on_tier<authority::TierServe>(tier),
             authority::ToNode{core::StoreOpened{.tier = std::move(name), .epoch = epoch}});
    }
    void submit(std::uint64_t id) { store->submit(core::OperationId{id}, core::Inspect{}); }
    void answer(const authority::ArbiterDo& call, bool done, authority::View view = {}) {
        fleet_sink->happened(authority::ArbiterAnswered{
            call.id,
            now,
            now,
            {.done = done, .view = std::move(view), .claims = {}, .resources = {}}});
    }
    static authority::View open_view(std::uint64_t registry_version) {
        authority::View view;
        view.record.emplace();
        view.record->placement.state = authority::RecordState::open;
        view.registry_version = registry_version;
        return view;
    }

    boost::asio::io_context context{1};
    Time now{100s};
    core::Registry registry;
    Script::Shared script;
    FakeNode node;
    std::vector<std::string> said;  // by the tiers
    std::vector<FakeTier*> tiers;
    FakeArbiter* arbiter = nullptr;
    FleetSink* fleet_sink = nullptr;
    Epoch saved = 0;
    std::optional<Duration> kept_offset;
    std::vector<core::CancelledRequest> cancelled;  // as a journal has them
    std::vector<std::string> changes;
    std::unique_ptr<Store> store;
};

TEST_F(FleetStoreTest, sends_nothing_before_a_tier_serves) {
    make();
    submit(1);
    EXPECT_THAT(node.heard, ElementsAre("unsent 1"));
    EXPECT_TRUE(said.empty());
    EXPECT_EQ(store->health().state, "down");
}

TEST_F(FleetStoreTest, routes_to_the_tier_that_serves_and_back) {
    make();
    open(1, "mysql", 5);
    tiers[1]->answers = true;
    submit(1);
    EXPECT_THAT(said, ElementsAre("mysql serve", "mysql submit 1"));
    EXPECT_THAT(node.heard, ElementsAre("opened mysql", "replied 1"));
    EXPECT_EQ(store->health().name, "mysql");
}

TEST_F(FleetStoreTest, fails_what_is_under_way_at_a_withdrawal_and_believes_nothing_later) {
    make();
    open(0, "redis", 5);
    submit(2);
    submit(1);
    tiers[0]->late = core::OperationId{1};
    play(authority::TierWithdraw{0, "epoch 6"},
         authority::ToNode{core::StoreClosed{.reason = "settling", .settling = true}});
    EXPECT_THAT(node.heard, ElementsAre("opened redis", "closed settling", "doubt 1", "doubt 2"));
    tiers[0]->sink.deliver(core::StoreReplied{core::OperationId{2}, {}});
    tiers[0]->sink.deliver(core::StoreFailed{core::OperationId{2}, core::Failure::unsent, ""});
    EXPECT_EQ(node.heard.size(), 4U);
}

TEST_F(FleetStoreTest, fails_doubtful_operations_before_the_next_store_opens) {
    make();
    open(0, "redis", 5);
    submit(1);
    node.resend = true;
    play(authority::TierWithdraw{0, "gone"},
         authority::ToNode{core::StoreClosed{.reason = "gone"}},
         on_tier<authority::TierServe>(1),
         authority::ToNode{core::StoreOpened{.tier = "mysql", .epoch = 6}});
    EXPECT_THAT(node.heard, ElementsAre("opened redis", "closed gone", "doubt 1", "opened mysql"));
    EXPECT_THAT(
        said,
        ElementsAre(
            "redis serve", "redis submit 1", "redis withdraw", "mysql serve", "mysql submit 101"));
}

TEST_F(FleetStoreTest, sends_nothing_on_after_the_connection_of_the_tier_ended) {
    make();
    authority::TierFailed refused;
    refused.reason = "refused";
    fleet_sink->happened(std::move(refused));
    EXPECT_THAT(node.heard, ElementsAre("closed refused"));
    node.heard.clear();
    open(0, "redis", 5);
    submit(1);
    submit(2);
    tiers[0]->sink.deliver(core::StoreFailed{core::OperationId{1}, core::Failure::in_doubt, ""});
    fleet_sink->happened(authority::TierFailed{});
    EXPECT_THAT(node.heard, ElementsAre("opened redis", "doubt 1", "doubt 2"));
    submit(3);
    EXPECT_EQ(node.heard.back(), "unsent 3");
    open(0, "redis", 5);
    submit(4);
    EXPECT_EQ(said.back(), "redis submit 4");
}

TEST_F(FleetStoreTest, passes_messages_of_the_serving_tier_only) {
    make();
    open(1, "mysql", 5);
    tiers[0]->sink.deliver(core::MessagesResumed{});
    EXPECT_THAT(node.heard, ElementsAre("opened mysql"));
    tiers[1]->sink.deliver(core::MessagesResumed{});
    EXPECT_THAT(node.heard, ElementsAre("opened mysql", "messages"));
}

TEST_F(FleetStoreTest, answers_from_the_hosts_table_in_local_mode) {
    make();
    play(authority::LocalServe{},
         authority::ToNode{core::StoreOpened{.tier = "local", .shared = false}});
    submit(1);
    EXPECT_THAT(node.heard, ElementsAre("opened local", "replied 1"));
    EXPECT_EQ(store->health().type, "local");
    EXPECT_EQ(store->fleet()->stores().back().state, "serving");
    play(authority::LocalWithdraw{}, authority::ToNode{core::StoreClosed{.reason = "back"}});
    submit(2);
    EXPECT_EQ(node.heard.back(), "unsent 2");
    EXPECT_EQ(store->fleet()->stores().back().state, "standby");
}

TEST_F(FleetStoreTest, what_was_cancelled_in_the_hosts_table_stays_so) {
    const auto serve_locally = [this] {
        play(authority::LocalServe{},
             authority::ToNode{core::StoreOpened{.tier = "local", .shared = false}});
    };
    core::Acquire wish;
    wish.key = {ResourceName("r"), LockId("1")};
    wish.request = RequestId("q");
    wish.token = Token("t");
    wish.ttl = 10s;
    const auto ask = [&] {
        ++wish.attempt.number;
        store->submit(core::OperationId{wish.attempt.number}, core::Acquire(wish));
        return node.last;
    };
    make();
    serve_locally();
    store->submit(core::OperationId{100}, core::Cancel{wish.key, wish.request, NodeName("n"), 60s});
    EXPECT_EQ(ask(), core::Status::cancelled);
    now += 10s;
    play(authority::LocalWithdraw{}, authority::ToNode{core::StoreClosed{.reason = "back"}});
    serve_locally();
    EXPECT_EQ(ask(), core::Status::cancelled) << "the table was given up meanwhile";

    ASSERT_EQ(cancelled.size(), 1U);
    cancelled[0].left -= 10s;
    make();  // another process
    serve_locally();
    EXPECT_EQ(ask(), core::Status::cancelled) << "by the journal";
    now += 50s;
    EXPECT_EQ(ask(), core::Status::granted);
}

TEST_F(FleetStoreTest, brings_the_claims_of_the_node_to_the_authority) {
    make();
    play(authority::CollectClaims{6});
    ASSERT_EQ(script.seen.size(), 2U);
    const auto* collected = std::get_if<authority::ClaimsCollected>(&script.seen.back());
    ASSERT_NE(collected, nullptr);
    EXPECT_EQ(collected->epoch, 6U);
    EXPECT_EQ(collected->claims.gone.size(), 1U);
    store->strict_asked({ResourceName("r"), 3s});
    EXPECT_TRUE(std::holds_alternative<authority::StrictWanted>(script.seen.back()));
}

TEST_F(FleetStoreTest, carries_out_the_rest) {
    make();
    play(authority::ArbiterDo{authority::CallId{3}, authority::ReadView{}},
         authority::TierLook{0},
         on_tier<authority::TierInitialise>(1),
         on_tier<authority::TierLoad>(1),
         on_tier<authority::TierCloseAndRead>(0),
         authority::SaveKnown{{authority::ClusterUuid("u"), 9}},
         authority::KeepOffsets{7ms});
    EXPECT_EQ(arbiter->calls.size(), 1U);
    EXPECT_THAT(said, ElementsAre("redis look", "mysql initialise", "mysql load", "redis close"));
    EXPECT_EQ(saved, 9U);
    EXPECT_EQ(kept_offset, Duration(7ms));
}

TEST_F(FleetStoreTest, counts_openings_in_another_tier) {
    make();
    using authority::Changed;
    using authority::RecordState;
    play(Changed{5, RecordState::open, "redis", "first"},
         Changed{6, RecordState::settling, "mysql", "refused"},
         Changed{6, RecordState::open, "mysql", "refused"});
    const FleetDesk::Counts counts = store->fleet()->counts();
    EXPECT_EQ(counts.failovers, 1U);
    EXPECT_EQ(counts.last_failover_from, "redis");
    EXPECT_EQ(counts.last_failover_unix, 1'767'225'600);
    EXPECT_THAT(changes, ElementsAre("redis", "mysql", "mysql"));
}

TEST_F(FleetStoreTest, tells_an_operator_what_came_of_a_command) {
    make();
    std::vector<std::string> answers;
    const auto hear = [&answers](bool done, const std::string& text) {
        answers.push_back((done ? "+" : "-") + text);
    };
    store->fleet()->move("mysql", false, "ops", hear);
    const auto* command = std::get_if<authority::Command>(&script.seen.back());
    ASSERT_NE(command, nullptr);
    EXPECT_EQ(command->store, "mysql");
    EXPECT_FALSE(command->back);
    play(authority::Commanded{command->id, true, "epoch 6 begins"},
         authority::Commanded{command->id, true, "twice"});
    EXPECT_THAT(answers, ElementsAre("+epoch 6 begins"));
}

TEST_F(FleetStoreTest, tells_an_operator_what_came_of_a_change_and_what_leases_may_be) {
    make();
    std::vector<std::string> answers;
    const auto hear = [&answers](bool done, const std::string& text) {
        answers.push_back((done ? "+" : "-") + text);
    };
    store->fleet()->change({.ttl_max = 5s}, hear);
    const auto* wish = std::get_if<authority::BasisWanted>(&script.seen.back());
    ASSERT_NE(wish, nullptr);
    EXPECT_EQ(wish->ttl_max, Duration(5s));
    EXPECT_FALSE(wish->delay_max);
    EXPECT_FALSE(store->fleet()->limits());
    core::PermitChanged permit;
    permit.limits = core::LeaseLimits{5s, 6s, 7s, 8s, 9s};
    play(authority::ToNode{permit}, authority::Commanded{wish->id, false, "no"});
    EXPECT_THAT(answers, ElementsAre("-no"));
    EXPECT_EQ(store->fleet()->limits(), permit.limits);
}

TEST_F(FleetStoreTest, writes_resources_through_the_arbiter) {
    make();
    std::vector<bool> answers;
    const auto hear = [&answers](bool done, const std::string&) { answers.push_back(done); };
    store->fleet()->write({ResourceName("new"), with_ttl(9s)}, hear);
    store->fleet()->write({ResourceName("old"), std::nullopt}, hear);
    store->fleet()->write({ResourceName("bad"), core::ResourceSettings{}}, hear);
    ASSERT_EQ(arbiter->calls.size(), 3U);
    EXPECT_EQ(registry.find("new"), nullptr);
    answer(arbiter->calls[0], true);
    answer(arbiter->calls[1], true);
    fleet_sink->happened(authority::ArbiterFailed{arbiter->calls[2].id, true, "gone"});
    EXPECT_THAT(answers, ElementsAre(true, true, false));
    ASSERT_NE(registry.find("new"), nullptr);
    EXPECT_EQ(registry.find("new")->ttl, Duration(9s));
    EXPECT_EQ(registry.find("old"), nullptr);
    EXPECT_EQ(registry.find("bad"), nullptr);
    EXPECT_TRUE(script.seen.empty());  // nobody else's business
}

TEST_F(FleetStoreTest, proposes_its_resources_to_a_new_cluster_once) {
    make();
    const authority::ArbiterDo call{authority::CallId{1}, authority::ReadView{}};
    answer(call, true);  // no record yet
    EXPECT_TRUE(arbiter->calls.empty());
    answer(call, true, open_view(0));
    answer(call, true, open_view(0));
    ASSERT_EQ(arbiter->calls.size(), 1U);
    const auto& write = std::get<authority::WriteResource>(arbiter->calls[0].call);
    EXPECT_EQ(write.name, ResourceName("mine"));
    EXPECT_EQ(script.seen.size(), 3U);  // the decider hears of its calls all the same
}

TEST_F(FleetStoreTest, proposes_nothing_where_a_registry_is) {
    make();
    answer({authority::CallId{1}, authority::ReadView{}}, true, open_view(4));
    EXPECT_TRUE(arbiter->calls.empty());
}

TEST_F(FleetStoreTest, takes_the_registry_of_the_fleet_over_and_shows_what_differs) {
    make();
    answer({authority::CallId{1}, authority::ReadView{}}, true, open_view(0));
    play(authority::RegistryRead{});  // nobody has registered anything yet
    EXPECT_NE(registry.find("mine"), nullptr);
    answer({authority::CallId{2}, authority::ReadView{}}, true, open_view(1));
    play(authority::RegistryRead{{{ResourceName("mine"), with_ttl(7s)}, {ResourceName("b"), {}}}});
    EXPECT_EQ(registry.all().size(), 2U);
    EXPECT_EQ(registry.find("mine")->ttl, Duration(7s));
    EXPECT_EQ(registry.find("old"), nullptr);
    EXPECT_THAT(store->fleet()->differing(), ElementsAre("mine"));
    play(authority::RegistryRead{{{ResourceName("mine"), with_ttl(5s)}}});
    EXPECT_TRUE(store->fleet()->differing().empty());
}

// Nodes that start together see a registry that others are still filling.
TEST_F(FleetStoreTest, logs_what_differs_once_it_has_done_so_for_a_while) {
    std::vector<std::string> logged;
    telemetry::open_log({}, [&logged](telemetry::Level, std::string_view event, std::string_view) {
        if (event == "registry.differs") logged.emplace_back(event);
    });
    make();
    answer({authority::CallId{1}, authority::ReadView{}}, true, open_view(1));
    play(authority::RegistryRead{{{ResourceName("b"), {}}}});
    EXPECT_THAT(store->fleet()->differing(), ElementsAre("mine"));
    now += 1s;
    play(authority::RegistryRead{{{ResourceName("mine"), with_ttl(5s)}, {ResourceName("b"), {}}}});
    now += 1min;
    play();
    EXPECT_TRUE(logged.empty());
    play(authority::RegistryRead{{{ResourceName("mine"), with_ttl(7s)}}});
    now += 1s;
    play();
    EXPECT_TRUE(logged.empty());
    now += 1min;
    play();
    play();
    EXPECT_EQ(logged.size(), 1U);
    telemetry::open_log({});
}

TEST_F(FleetStoreTest, leaves_with_what_the_node_holds) {
    make();
    int left = 0;
    store->fleet()->leave([&left](bool done, const std::string&) { left += done ? 1 : 100; });
    ASSERT_FALSE(script.seen.empty());
    const auto* wanted = std::get_if<authority::LeaveWanted>(&script.seen.back());
    ASSERT_NE(wanted, nullptr);
    EXPECT_EQ(wanted->claims.gone.size(), 1U);
    EXPECT_EQ(left, 0);
    play(authority::Gone{true});
    EXPECT_EQ(left, 1);
}

}  // namespace
}  // namespace latchd::store::fleet
