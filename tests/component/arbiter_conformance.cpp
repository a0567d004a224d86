// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "arbiter_conformance.hpp"

#include "../support/arbiter_samples.hpp"

#include <latchd/store/arbiter/codec.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

// A namespace of its own: files of a test may be compiled as one.
namespace latchd::testing::conformance {
namespace {

using namespace core;
using namespace core::authority;

// A call that was sent again leaves claims twice, and their order says nothing.
template <class T>
void sort_out(std::vector<T>& all) {
    const auto text = [](const T& each) { return store::arbiter::to_json(each); };
    std::ranges::sort(all, {}, text);
    // Not std::ranges::unique: clang 14 and libstdc++ 12 don't agree about its subrange.
    all.erase(std::unique(all.begin(), all.end()), all.end());
}

void append(Claims& to, Claims&& from) {
    const auto move = [](auto& all, auto& some) {
        std::move(some.begin(), some.end(), std::back_inserter(all));
    };
    move(to.records, from.records);
    move(to.gone, from.gone);
    move(to.cancelled, from.cancelled);
}

// All pages, put together by who gave them and when, in the arbiter's time.
struct Fetched {
    using Given = std::map<std::pair<Epoch, Incarnation>, std::pair<std::int64_t, Claims>>;
    Given given;
    StoreMs shown{};  // by the last page
    std::size_t pages = 0;
};
template <class Ask>
Fetched fetch(FetchClaims call, const Ask& ask) {
    Fetched all;
    do {
        ArbiterReply page = ask(call);
        all.shown = page.view.shown;
        ++all.pages;
        for (HandedOver& each : page.claims) {
            const std::int64_t date = static_cast<std::int64_t>(page.view.shown) - to_ms(each.age);
            auto& [at, claims] =
                all.given.try_emplace({each.epoch, each.from}, date, Claims{}).first->second;
            at = std::min(at, date);
            append(claims, std::move(each.claims));
        }
        call.after = page.next;
    } while (!call.after.empty());
    for (auto& [from, each] : all.given) {
        sort_out(each.second.records);
        sort_out(each.second.gone);
        sort_out(each.second.cancelled);
    }
    return all;
}

// Calls that mostly make sense after one another: a few nodes, locks and nonces.
class Calls {
public:
    explicit Calls(std::uint64_t seed) : samples_(seed), leavers_count_(seed % 3 != 0) {
        for (LockKey& key : keys_) key = samples_.key();
        keys_[0].id = LockId(std::string("a\nb\0 7 {x}\xff\r", 12));
    }

    ArbiterCall next(const ArbiterTable& table) {
        switch (samples_.number(16)) {
            case 0:
            case 1:
                return beat();
            case 2:
            case 3:
                return propose(table);
            case 4:
            case 5:
            case 6:
                return hand_over(table);
            case 7:
            case 8:
                return FetchClaims{epoch(table)};
            case 9:
                return open(table);
            case 10:
                return authority::Leave{incarnation(), claims(), samples_.chance(50)};
            case 11:
                return settled();
            case 12:
                return samples_.chance(50) ? ArbiterCall(Forget{incarnation()}) : resource(table);
            case 13:
                return uses();
            case 14:
                return samples_.chance(60) ? ArbiterCall(basis(table)) : ReadView{};
            default:
                return samples_.chance(40) ? ArbiterCall(ReadView{}) : ReadRegistry{};
        }
    }
    std::uint64_t claims_version = 0;  // of the last fetch
    std::uint64_t basis_number = 0;    // of the last change

private:
    Incarnation incarnation() { return incarnations_[samples_.number(incarnations_.size())]; }
    Nonce nonce() { return Nonce(samples_.chance(50) ? "n" : "m"); }
    // Mostly that of the record.
    Epoch epoch(const ArbiterTable& table) {
        const Epoch is = table.record() ? table.record()->epoch : 0;
        if (samples_.chance(85)) return is;
        return is + static_cast<Epoch>(samples_.number(3)) - (is > 0 ? 1 : 0);
    }
    NodeRow row() {
        NodeRow row = samples_.row(incarnation());
        row.name = NodeName(row.incarnation % 2 == 0 ? "even" : "odd");
        row.beat = samples_.number(20);
        row.acked = static_cast<Epoch>(samples_.number(40));
        return row;
    }
    Beat beat() {
        Beat call{row(), {}};
        if (samples_.chance(20)) call.replaces = incarnation();
        return call;
    }
    Propose propose(const ArbiterTable& table) {
        Propose call;
        const Epoch is = table.record() ? table.record()->epoch : 0;
        call.next = samples_.record(is + 1 + static_cast<Epoch>(samples_.number(2)));
        if (samples_.chance(10)) call.next = samples_.record(std::max<Epoch>(is, 1));
        call.next.placement.nonce = nonce();
        call.next.basis.ttl_max = std::chrono::milliseconds(samples_.number(8));
        call.next.basis.delay_max = std::chrono::milliseconds(samples_.number(8));
        if (leavers_count_) call.next.basis.ttl_max = std::chrono::minutes(1);
        if (table.record() && samples_.chance(95)) {
            const Placement& placement = table.record()->placement;
            call.expected = {is, placement.state, placement.nonce};
            if (samples_.chance(10)) call.expected->nonce = nonce();
            if (samples_.chance(10)) call.expected->state = RecordState::open;
            if (samples_.chance(10)) call.expected->epoch += 1;
        }
        return call;
    }
    HandOver hand_over(const ArbiterTable& table) {
        return {epoch(table), claims(), samples_.chance(60), samples_.chance(60), row()};
    }
    OpenEpoch open(const ArbiterTable& table) {
        OpenEpoch call;
        call.epoch = epoch(table);
        call.settling =
            samples_.chance(80) && table.record() ? table.record()->placement.nonce : nonce();
        call.next = samples_.placement(std::max<Epoch>(call.epoch, 1));
        call.next.nonce = nonce();
        if (samples_.chance(50)) call.claims_version = claims_version;
        return call;
    }
    Claims claims() {
        Claims all = samples_.chance(20) ? Claims{} : samples_.claims(3);
        for (GrantRecord& record : all.records) {
            record.key = keys_[samples_.number(keys_.size())];
            record.fence = 1 + samples_.number(5);
        }
        return all;
    }
    Settled settled() {
        Settled call;
        for (auto i = samples_.number(4); i > 0; --i) {
            call.locks.push_back({keys_[samples_.number(keys_.size())], samples_.number(7)});
        }
        return call;
    }
    ResourceName resource_name() {
        return ResourceName(samples_.chance(50) ? "order:settle" : "r");
    }
    // Mostly the next period begins with each.
    NoteUses uses() {
        NoteUses call;
        if (samples_.chance(85)) call.period = std::chrono::milliseconds(1 + samples_.number(2));
        if (samples_.chance(30)) call.used.push_back(resource_name());
        if (samples_.chance(3)) call.used.emplace_back("idle");
        if (samples_.chance(10)) call.used.emplace_back("never:registered");
        return call;
    }
    WriteResource resource(const ArbiterTable& table) {
        WriteResource call;
        call.name = resource_name();
        if (samples_.chance(70)) call.settings = samples_.settings();
        if (samples_.chance(40)) call.epoch = epoch(table);
        return call;
    }

    WriteBasis basis(const ArbiterTable& table) {
        WriteBasis call{samples_.change(), epoch(table)};
        call.change.number = basis_number + (samples_.chance(80) ? 1 : samples_.number(3));
        call.change.number = std::max<std::uint64_t>(call.change.number, 1);
        call.change.from = call.epoch + 1;
        for (Basis* const each : {&call.change.now, &call.change.next}) {
            each->ttl_max = std::chrono::milliseconds(samples_.number(8));
            each->delay_max = std::chrono::milliseconds(samples_.number(8));
            if (leavers_count_) each->ttl_max = std::chrono::minutes(1);
        }
        call.change.ttl_before = call.change.next.ttl_max;
        call.change.delay_before = call.change.now.delay_max;
        return call;
    }

    test::ArbiterSamples samples_;
    // For longer than a run takes, or for some milliseconds. Never in turn: while a cluster lives
    // it does not change, and what a store dropped by the one would come back by the other.
    bool leavers_count_;
    std::array<LockKey, 4> keys_;
    std::array<Incarnation, 5> incarnations_{1, 2, 3, 4, (Incarnation{1} << 53) - 1};
};

}  // namespace
}  // namespace latchd::testing::conformance

namespace latchd::testing {

void expect_conformance(ArbiterRun& arbiter, std::uint64_t seed, int calls) {
    using namespace core::authority;
    ArbiterTable table;
    conformance::Calls random(seed);
    std::array<int, std::variant_size_v<ArbiterCall>> done{};
    std::size_t claims_seen = 0;
    std::size_t retired_seen = 0;
    for (int i = 0; i < calls; ++i) {
        const ArbiterCall call =
            i == 0 ? ArbiterCall(WriteResource{ResourceName("idle"), core::ResourceSettings{}})
                   : random.next(table);
        const std::string where = "seed " + std::to_string(seed) + ", call " + std::to_string(i) +
                                  ", kind " + std::to_string(call.index());
        ArbiterReply is = arbiter.reply(call);
        table.identity = is.view.arbiter;
        ArbiterReply should = table.apply(is.view.shown, call);
        ASSERT_EQ(is.done, should.done) << where;
        ASSERT_EQ(is.view.record, should.view.record) << where;
        ASSERT_EQ(is.view.nodes, should.view.nodes) << where;
        ASSERT_EQ(is.view, should.view) << where;
        ASSERT_EQ(is.claims_version, should.claims_version) << where;
        ASSERT_EQ(is.resources, should.resources) << where;
        ASSERT_EQ(is.use_period, should.use_period) << where;
        for (const auto& [name, settings] : is.resources) retired_seen += settings.retired;
        if (is.done) ++done[call.index()];
        random.basis_number = is.view.basis_change ? is.view.basis_change->number : 0;
        if (is.done && std::holds_alternative<FetchClaims>(call)) {
            random.claims_version = is.claims_version;
            const auto& wish = std::get<FetchClaims>(call);
            const auto all = conformance::fetch(
                wish, [&](const FetchClaims& page) { return arbiter.reply(page); });
            const auto wanted = conformance::fetch(
                wish, [&](const FetchClaims& page) { return table.apply(all.shown, page); });
            ASSERT_EQ(all.given, wanted.given) << where;
            claims_seen += all.given.size();
        }
    }
    for (std::size_t kind = 0; kind < done.size(); ++kind) {
        EXPECT_GT(done[kind], 0) << "seed " << seed << " never did a call of kind " << kind;
    }
    EXPECT_GT(claims_seen, 0u) << "seed " << seed;
    EXPECT_GT(retired_seen, 0u) << "seed " << seed;
}

void expect_room(ArbiterRun& arbiter) {
    using namespace core;
    using namespace core::authority;
    test::ArbiterSamples samples(1);
    Claims claims;
    for (std::size_t i = 0; i < claims_per_call_max; ++i) {
        claims.records.push_back(samples.grant());
        claims.records.back().key.id = LockId(std::to_string(i));
    }
    Propose begin;
    begin.next = samples.record(1);
    begin.next.basis.ttl_max = begin.next.basis.delay_max = std::chrono::minutes(10);
    ASSERT_TRUE(arbiter.reply(begin).done);
    // A hash is scanned by buckets, of which some hold several fields: enough nodes for two pages
    // wherever they fall, of which not all need to hold a lot.
    constexpr Incarnation nodes = 63;
#ifdef __SANITIZE_ADDRESS__  // the same way is gone for each; all of them would be 100 s
    constexpr Incarnation nodes_with_many = 3;
    constexpr int parts = 2;
#else
    constexpr Incarnation nodes_with_many = 21;
    constexpr int parts = 6;
#endif
    Claims one;
    one.records.push_back(claims.records.front());
    for (Incarnation node = 1; node <= nodes; ++node) {
        const Claims& given = node <= nodes_with_many ? claims : one;
        ASSERT_TRUE(arbiter.reply(HandOver{1, given, true, true, samples.row(node)}).done);
    }
    for (int part = 1; part <= parts; ++part) {
        for (GrantRecord& record : claims.records) {
            record.key.resource = ResourceName("left" + std::to_string(part));
        }
        ASSERT_TRUE(arbiter.reply(authority::Leave{nodes + 1, claims, part == parts}).done);
    }
    const auto ask = [&](const FetchClaims& page) { return arbiter.reply(page); };
    const auto all = conformance::fetch(FetchClaims{1}, ask);
    EXPECT_GT(all.pages, 3u) << "no reply holds all that a large fleet has";
    ASSERT_EQ(all.given.size(), nodes + 1);
    for (const auto& [from, given] : all.given) {
        const bool has_many = from.second <= nodes_with_many;
        EXPECT_EQ(given.second.records.size(),
                  from.first == 0 ? parts * claims_per_call_max
                                  : (has_many ? claims_per_call_max : one.records.size()));
    }
    Settled settled;
    for (const GrantRecord& record : claims.records) {
        settled.locks.push_back({record.key, record.fence});
    }
    ASSERT_TRUE(arbiter.reply(settled).done);
    const auto fewer = conformance::fetch(FetchClaims{1}, ask);
    EXPECT_EQ(fewer.given.at({0, nodes + 1}).second.records.size(),
              (parts - 1) * claims_per_call_max);
    const std::uint64_t version = arbiter.reply(FetchClaims{1}).claims_version;
    OpenEpoch open{1, begin.next.placement.nonce, samples.placement(1), version};
    EXPECT_TRUE(arbiter.reply(open).done);
    const auto after = conformance::fetch(FetchClaims{1}, ask);
    EXPECT_EQ(after.given.size(), 1u) << "the leaver's";
}

}  // namespace latchd::testing
