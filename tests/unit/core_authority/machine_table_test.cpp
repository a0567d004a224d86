// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fixture.hpp"

#include <array>
#include <functional>

// Every state with every event: which actions come, and the state after it.
namespace latchd::core::authority {
namespace {

using State = Machine::State;

const char* name_of(State state) {
    switch (state) {
        case State::away:
            return "away";
        case State::looking:
            return "looking";
        case State::waiting:
            return "waiting";
        case State::serving:
            return "serving";
        case State::pausing:
            return "pausing";
    }
    return "?";
}

struct ActionName {
    std::string operator()(const LookUp& a) const { return a.with_identity ? "look+id" : "look"; }
    std::string operator()(const Settle&) const { return "settle"; }
    std::string operator()(const Open&) const { return "open"; }
    std::string operator()(const Serve&) const { return "serve"; }
    std::string operator()(const StopServing& a) const { return a.settling ? "settle!" : "stop"; }
    std::string operator()(const DropConnection&) const { return "drop"; }
    std::string operator()(const SaveKnown&) const { return "save"; }
    std::string operator()(const Notice&) const { return "notice"; }
};

struct Bench {
    FakeStore store;
    Fleet1 node{Known{ClusterUuid("u"), 150'000}};
    FakeStore opened;  // what the store shows once it is open

    void bring_to(State state) {
        FakeStore first;
        Fleet1 other(Known{ClusterUuid("u"), 150'000}, 'O');
        EXPECT_TRUE(other.serve(first));
        opened = first;
        switch (state) {
            case State::away:
                return;
            case State::looking:
                node.step(Identified{store.identity});
                return;
            case State::waiting:
                node.step(Identified{store.identity});
                node.answer(store);
                return;
            case State::serving:
                store = opened;
                EXPECT_TRUE(node.serve(store));
                return;
            case State::pausing:
                node.step(Identified{store.identity});
                node.step(AttemptFailed{"OOM"});
                return;
        }
    }
    std::string names() const {
        std::string text;
        for (const auto& action : node.actions) {
            if (!text.empty()) text += ' ';
            text += std::visit(ActionName{}, action);
        }
        return text;
    }
};

using MakeEvent = std::function<AuthorityEvent(Bench&)>;
constexpr std::array states{
    State::away, State::looking, State::waiting, State::serving, State::pausing};

struct Row {
    const char* event;
    MakeEvent make;
    std::array<const char*, 5> expected;  // by state: "actions > state after"; "-": ignored
};

const Row rows[] = {
    {"identified",
     [](Bench& b) { return Identified{b.store.identity}; },
     {"look > looking", "-", "-", "-", "look > looking"}},
    {"another process",
     [](Bench& b) {
         Identity other = b.store.identity;
         other.run_id = "run-z";
         return Identified{other};
     },
     {"look > looking", "-", "-", "settle! look > looking", "look > looking"}},
    {"a replica",
     [](Bench& b) {
         Identity other = b.store.identity;
         other.role = Role::replica;
         return Identified{other};
     },
     {"stop drop > away",
      "stop drop > away",
      "stop drop > away",
      "stop drop > away",
      "stop drop > away"}},
    {"connection lost",
     [](Bench&) { return ConnectionLost{"reset"}; },
     {"stop > away", "stop > away", "stop > away", "stop > away", "stop > away"}},
    {"seen nothing",
     [](Bench&) { return Seen{}; },
     {"-", "settle! notice settle > looking", "-", "-", "-"}},
    {"seen open",
     [](Bench& b) { return Seen{b.opened.sight}; },
     {"-", "save serve > serving", "-", "-", "-"}},
    {"attempt failed",
     [](Bench&) { return AttemptFailed{"READONLY"}; },
     {"-", "notice stop > pausing", "-", "-", "-"}},
    {"stale",
     [](Bench&) { return Doubted{Doubted::Kind::stale}; },
     {"-", "-", "-", "look+id > looking", "-"}},
    {"unknown script",
     [](Bench&) { return Doubted{Doubted::Kind::unknown_script}; },
     {"-", "-", "-", "look+id > looking", "-"}},
    {"clock jumped",
     [](Bench&) { return ClockJumped{"3000 ms"}; },
     {"-", "-", "-", "look+id > looking", "-"}},
    {"counter full",
     [](Bench&) { return CounterSeen{counter_full}; },
     {"-", "-", "-", "look+id > looking", "-"}},
    {"time came early", [](Bench&) { return TimeCame{}; }, {"-", "-", "-", "-", "-"}},
    {"time came",
     [](Bench& b) {
         b.node.pass(std::chrono::milliseconds(250));
         return TimeCame{};
     },
     {"-", "-", "look > looking", "-", "look+id > looking"}},
};

TEST(AuthorityTable, every_state_knows_every_event) {
    for (const Row& row : rows) {
        for (std::size_t i = 0; i < states.size(); ++i) {
            Bench bench;
            bench.bring_to(states[i]);
            ASSERT_EQ(bench.node.machine.state(), states[i]) << name_of(states[i]);
            bench.node.step(row.make(bench));
            const State after = bench.node.machine.state();
            std::string got = bench.names() + " > " + name_of(after);
            if (bench.node.actions.empty() && after == states[i]) got = "-";
            EXPECT_EQ(got, row.expected[i]) << row.event << " while " << name_of(states[i]);
        }
    }
}

}  // namespace
}  // namespace latchd::core::authority
