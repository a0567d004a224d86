// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "../support/arbiter_samples.hpp"
#include "arbiter_conformance.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

// A namespace of its own: files of a test may be compiled as one.
namespace latchd::testing::agreement {
namespace {

using namespace core;
using namespace core::authority;

using Locks = std::set<std::string>;

class Agreement {
public:
    Agreement(const ArbiterRun::Make& make, std::uint64_t seed) : seed_(seed), samples_(seed) {
        for (int i = 0; i < 4; ++i)
            nodes_.emplace_back().arbiter = std::make_unique<ArbiterRun>(make);
        for (Node& node : nodes_) note(node, node.arbiter->reply(ReadView{}));
    }

    void round() {
        is_quiet_ = samples_.chance(50);
        std::vector<ArbiterCall> calls;
        std::vector<std::uint64_t> ids;
        for (Node& node : nodes_) {
            calls.push_back(next(node));
            ids.push_back(node.arbiter->send(calls.back()));
        }
        for (Node& node : nodes_) node.arbiter->turn();
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            auto outcome = nodes_[i].arbiter->outcome(ids[i]);
            const auto* const answered = std::get_if<ArbiterAnswered>(&outcome);
            ASSERT_NE(answered, nullptr)
                << "seed " << seed_ << ": " << std::get<ArbiterFailed>(outcome).text;
            note(nodes_[i], answered->reply);
            std::visit([&](const auto& call) { check(nodes_[i], call, answered->reply); },
                       calls[i]);
        }
    }
    // Once all answers are there: some came after the opening that they had been before.
    void check_openings() const {
        Epoch before = 0;
        for (const auto& [opened, locks] : opened_with_) {
            for (auto it = due_.upper_bound(before); it != due_.end() && it->first <= opened;
                 ++it) {
                for (const std::string& lock : it->second) {
                    EXPECT_TRUE(locks.contains(lock))
                        << "seed " << seed_ << ": " << lock << ", handed over for epoch "
                        << it->first << ", is not in epoch " << opened;
                }
            }
            before = opened;
        }
    }
    [[nodiscard]] bool has_met_enough() const {
        return proposed_.size() > 5 && opened_.size() > 5 && handed_over_ > 20;
    }

private:
    struct Node {
        std::unique_ptr<ArbiterRun> arbiter;
        View view;
        // Of its last fetch.
        std::uint64_t claims_version = 0;
        std::optional<Epoch> fetched;
        Locks locks;
    };

    ArbiterCall next(Node& node) {
        const auto& record = node.view.record;
        const bool is_settling = record && record->placement.state == RecordState::settling;
        switch (samples_.number(10)) {
            case 0:
            case 1:
                if (!is_settling || samples_.chance(20)) return propose(node);
                [[fallthrough]];
            case 2:
            case 3:
                if (is_quiet_) return ReadView{};
                return HandOver{record ? record->epoch : 1, claims(), true, false, row()};
            case 4:
                if (is_quiet_) return ReadView{};
                return authority::Leave{++incarnation_, claims(), true};
            case 5:
                return Beat{row(), {}};
            case 6:
                return Settled{{{LockKey{ResourceName("r"), LockId("other")}, 9}}};
            default:
                if (is_settling && node.fetched == record->epoch) return open(node);
                return FetchClaims{record ? record->epoch : 1};
        }
    }
    Propose propose(const Node& node) {
        Propose call;
        const auto& record = node.view.record;
        if (record) {
            call.expected = {record->epoch, record->placement.state, record->placement.nonce};
        }
        call.next = samples_.record(record ? record->epoch + 1 : 1);
        call.next.placement.nonce = Nonce("n" + std::to_string(++number_));
        call.next.basis.ttl_max = std::chrono::minutes(1);
        return call;
    }
    OpenEpoch open(const Node& node) {
        const FleetRecord& record = *node.view.record;
        OpenEpoch call;
        call.epoch = record.epoch;
        call.settling = record.placement.nonce;
        call.next = samples_.placement(record.epoch);
        call.next.nonce = Nonce("o" + std::to_string(++number_));
        call.claims_version = node.claims_version;
        return call;
    }
    NodeRow row() {
        NodeRow row = samples_.row(++incarnation_ % 7 + 1);
        row.incarnation = incarnation_;
        return row;
    }
    Claims claims() {
        Claims claims;
        claims.records.push_back(samples_.grant());
        claims.records[0].key.id = LockId("lock-" + std::to_string(++number_));
        return claims;
    }

    void note(Node& node, const ArbiterReply& reply) {
        if (node.view.record) {
            ASSERT_TRUE(reply.view.record) << "seed " << seed_;
            EXPECT_GE(reply.view.record->epoch, node.view.record->epoch) << "seed " << seed_;
        }
        node.view = reply.view;
    }
    // What came for an epoch that had not opened has to be in what it is opened with.
    void came(const Claims& claims, const ArbiterReply& reply) {
        const auto& record = reply.view.record;
        if (!reply.done || !record || record->placement.state != RecordState::settling) return;
        ++handed_over_;
        due_[record->epoch].insert(claims.records[0].key.id.str());
    }
    template <class Call>
    void check(Node&, const Call&, const ArbiterReply&) {}
    void check(Node&, const Propose& call, const ArbiterReply& reply) {
        if (!reply.done) return;
        EXPECT_TRUE(proposed_.insert(call.next.epoch).second)
            << "seed " << seed_ << ": epoch " << call.next.epoch << " began twice";
    }
    void check(Node&, const HandOver& call, const ArbiterReply& reply) {
        // In MySQL the view is read after the commit: what came late for an epoch that was open
        // may show the next one.
        if (reply.view.record && reply.view.record->epoch == call.epoch) came(call.claims, reply);
    }
    void check(Node&, const authority::Leave& call, const ArbiterReply& reply) {
        came(call.claims, reply);
    }
    void check(Node& node, const FetchClaims& call, const ArbiterReply& reply) {
        if (!reply.done) return;
        node.fetched = call.epoch;
        node.claims_version = reply.claims_version;
        node.locks.clear();
        ArbiterReply page = reply;
        while (true) {
            for (const HandedOver& given : page.claims) {
                for (const GrantRecord& record : given.claims.records) {
                    node.locks.insert(record.key.id.str());
                }
            }
            if (page.next.empty()) return;
            page = node.arbiter->reply(FetchClaims{call.epoch, page.next});
            // Somebody handed over meanwhile: the opening will be refused.
            if (!page.done || page.claims_version != node.claims_version) return;
        }
    }
    void check(Node& node, const OpenEpoch& call, const ArbiterReply& reply) {
        node.fetched.reset();
        if (!reply.done) return;
        EXPECT_TRUE(opened_.insert(call.epoch).second)
            << "seed " << seed_ << ": epoch " << call.epoch << " opened twice";
        opened_with_[call.epoch] = node.locks;
    }

    std::uint64_t seed_;
    test::ArbiterSamples samples_;
    std::vector<Node> nodes_;
    bool is_quiet_ = false;  // this round nobody hands over, so an epoch can be opened
    std::uint64_t number_ = 0;
    Incarnation incarnation_ = 0;
    std::size_t handed_over_ = 0;
    std::set<Epoch> proposed_;
    std::set<Epoch> opened_;
    std::map<Epoch, Locks> due_;
    std::map<Epoch, Locks> opened_with_;
};

}  // namespace
}  // namespace latchd::testing::agreement

namespace latchd::testing {

void expect_agreement(const ArbiterRun::Make& make, std::uint64_t seed, int rounds) {
    agreement::Agreement nodes(make, seed);
    // How the nodes' calls meet in the server is not the seed's to say: some runs take longer.
    for (int i = 0; i < rounds || (!nodes.has_met_enough() && i < 10 * rounds); ++i) {
        nodes.round();
        if (::testing::Test::HasFatalFailure()) return;
    }
    nodes.check_openings();
    EXPECT_TRUE(nodes.has_met_enough()) << "seed " << seed;
}

}  // namespace latchd::testing
