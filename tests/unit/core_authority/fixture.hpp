// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/authority/machine.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace latchd::core::authority {

class CountedNames final : public NameSource {
public:
    explicit CountedNames(char mark) : mark_(mark) {}
    std::string draw() override {
        std::string name = std::to_string(++count_);
        return std::string(1, mark_) + std::string(21 - name.size(), '0') + name;
    }

private:
    char mark_;
    int count_ = 0;
};

// A store that carries out what a machine asks for, at once and as the scripts do.
struct FakeStore {
    Identity identity{"run-a", Role::master, "replid-a", ""};
    Sight sight;

    Sight settle(const Settle& settle) {
        const auto& was = settle.expected;
        const auto& is = sight.record;
        const bool same = was.has_value() == is.has_value() &&
                          (!was || (was->epoch == is->epoch && was->state == is->state &&
                                    was->nonce == is->nonce));
        if (same) sight.record = settle.next;
        return sight;
    }
    Sight open(const Open& open) {
        const bool same_record = sight.record && sight.record->epoch == open.settling.epoch &&
                                 sight.record->state == RecordState::settling &&
                                 sight.record->nonce == open.settling.nonce;
        const bool same_marker = open.marker.has_value() == sight.marker.has_value() &&
                                 (!open.marker || (open.marker->epoch == sight.marker->epoch &&
                                                   open.marker->nonce == sight.marker->nonce));
        if (same_record && same_marker) {
            sight.record = open.next;
            sight.marker = Marker{open.next.uuid,
                                  open.next.epoch,
                                  open.next.nonce,
                                  open.next.store.run_id,
                                  open.counter};
        }
        return sight;
    }
};

// A machine with its clocks, its actions and, where a test wants it, a store that answers.
struct Fleet1 {
    explicit Fleet1(Known known = {}, char mark = 'A')
        : names(mark), machine({}, std::move(known), names) {}

    CountedNames names;
    Machine machine;
    Time now{std::chrono::seconds(50)};
    std::int64_t wall = 1'735'689'600'000 + 150'000ll * 300'000 + 2'000;
    AuthorityActions actions;  // of the last step

    AuthorityActions& step(AuthorityEvent event) {
        actions.clear();
        machine.step({now, WallMs{wall}}, std::move(event), actions);
        return actions;
    }
    template <class Action>
    const Action* find() const {
        for (const auto& action : actions) {
            if (const auto* found = std::get_if<Action>(&action)) return found;
        }
        return nullptr;
    }
    void pass(Duration duration) {
        now += duration;
        wall += to_ms(duration);
    }
    // Lets the store answer until nothing is outstanding; returns whether something was.
    bool answer(FakeStore& store) {
        bool any = false;
        for (;;) {
            Sight sight = store.sight;
            if (const auto* settle = find<Settle>()) {
                sight = store.settle(*settle);
            } else if (const auto* open = find<Open>()) {
                sight = store.open(*open);
            } else if (const auto* look = find<LookUp>()) {
                if (look->with_identity) step(Identified{store.identity});
            } else {
                return any;
            }
            any = true;
            step(Seen{std::move(sight)});
        }
    }
    // Connects to the store and runs until this machine serves, or for two seconds.
    bool serve(FakeStore& store) {
        step(Identified{store.identity});
        answer(store);
        for (int i = 0; i < 40 && machine.state() != Machine::State::serving; ++i) {
            pass(std::chrono::milliseconds(50));
            step(TimeCame{});
            answer(store);
        }
        return machine.state() == Machine::State::serving;
    }
};

}  // namespace latchd::core::authority
