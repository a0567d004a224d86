// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/arbiter_samples.hpp"

#include <latchd/store/arbiter/codec.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace latchd::store::arbiter {
namespace {

using namespace core;
using namespace core::authority;

template <class T>
void expect_kept(const T& value) {
    const std::string text = to_json(value);
    EXPECT_EQ(from_json<T>(text), value) << text;
    EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c != '\n' && c != '\0'; })) << text;
}

TEST(Codec, everything_comes_back_as_it_was) {
    test::ArbiterSamples samples(1);
    for (int i = 0; i < 200; ++i) {
        expect_kept(samples.record(1 + static_cast<Epoch>(samples.number((1u << 21) - 1))));
        expect_kept(samples.change());
        expect_kept(samples.row(samples.large()));
        expect_kept(samples.grant());
        expect_kept(samples.claims(3));
        expect_kept(samples.settings());
        expect_kept(GoneFence{samples.key(), samples.large()});
        expect_kept(CancelledRequest{samples.key(), RequestId(samples.bytes(64)), samples.time()});
    }
    expect_kept(Claims{});
    expect_kept(ResourceSettings{});
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    const auto at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return text.replace(at, what.size(), with);
}

// The form is what other versions of latchd read: it changes by adding fields only.
TEST(Codec, has_this_form) {
    GrantRecord record;
    record.key = {ResourceName("r"), LockId("a\xff\"\n")};
    record.holds.push_back({Token("t"), RequestId("q"), {{1, 2}}, Duration(3)});
    record.owner = OwnerName("o");
    record.fence = 4;
    record.version = 5;
    record.left = Duration(-6);
    record.ttl = Duration(7);
    record.node = NodeName("n");
    record.client = ClientName("c");
    EXPECT_EQ(to_json(record),
              "{\"key\":{\"resource\":\"r\",\"id\":\"a\xc3\xbf\\\"\\n\"},"
              "\"holds\":[{\"token\":\"t\",\"request\":\"q\",\"attempts\":[[1,2]],"
              "\"adopt_left_us\":3}],\"owner\":\"o\",\"fence\":4,\"version\":5,\"left_us\":-6,"
              "\"ttl_us\":7,\"hard_left_us\":null,\"renewals\":0,\"renew_max\":0,\"delay_us\":0,"
              "\"age_us\":0,\"node\":\"n\",\"client\":\"c\"}");
    ResourceSettings settings;
    settings.degrade = Degrade::mysql;
    settings.safety = Safety::strict;
    EXPECT_EQ(to_json(settings),
              "{\"ttl_us\":null,\"renew_max\":null,\"degrade\":\"mysql\",\"safety\":\"strict\","
              "\"queue_max\":null,\"locks_expected\":null,\"hold_max_us\":null,"
              "\"expect_us\":null,\"delay_us\":null,\"pending\":null,\"busy_cache_us\":null}");
    std::string earlier = to_json(settings);
    earlier.erase(earlier.find(",\"busy_cache_us\""), 21);
    EXPECT_EQ(from_json<ResourceSettings>(earlier), settings) << earlier;
    BasisChange change;
    change.number = 1;
    change.next.stores = {"redis"};
    change.from = 2;
    EXPECT_EQ(
        to_json(change),
        "{\"number\":1,\"now\":{\"ttl_max_us\":60000000,\"delay_max_us\":60000000,\"stores\":[]},"
        "\"next\":{\"ttl_max_us\":60000000,\"delay_max_us\":60000000,\"stores\":[\"redis\"]},"
        "\"from\":2,\"ttl_before_us\":0,\"delay_before_us\":0}");
    change.number = 0;
    EXPECT_FALSE(from_json<BasisChange>(to_json(change)));
    NodeRow row = test::ArbiterSamples(3).row(7);
    row.clock_unsure = row.clock_vouched = false;
    row.former = 0;
    earlier = replaced(to_json(row), ",\"clock_unsure\":false,\"clock_vouched\":false", "");
    earlier = replaced(earlier, ",\"former\":0", "");
    EXPECT_EQ(from_json<NodeRow>(earlier), row) << earlier;
}

TEST(Codec, passes_over_what_a_newer_node_added) {
    test::ArbiterSamples samples(2);
    const NodeRow row = samples.row(7);
    std::string text = to_json(row);
    text.insert(1, "\"new\":{\"a\":[1,null]},");
    EXPECT_EQ(from_json<NodeRow>(text), row);
}

TEST(Codec, refuses_nonsense) {
    const std::string gone = to_json(GoneFence{{ResourceName("r"), LockId("i")}, 4});
    EXPECT_TRUE(from_json<GoneFence>(gone));
    for (const std::string& text : {std::string(),
                                    std::string("null"),
                                    std::string("[]"),
                                    std::string("{}"),
                                    gone.substr(0, gone.size() - 1),
                                    gone + "x",
                                    replaced(gone, "\"fence\"", "\"fense\""),
                                    replaced(gone, ":4", ":\"4\""),
                                    replaced(gone, ":4", ":4.5"),
                                    replaced(gone, ":4", ":-4"),
                                    replaced(gone, ":4", ":9007199254740992"),
                                    replaced(gone, ":4", ":18446744073709551615"),
                                    replaced(gone, "\"r\"", "\"\""),
                                    replaced(gone, "\"i\"", "\"\""),
                                    replaced(gone, "\"i\"", "\"\\u0100\""),
                                    replaced(gone, "\"i\"", "\"\xff\""),
                                    replaced(gone, "\"i\"", "7")}) {
        EXPECT_FALSE(from_json<GoneFence>(text)) << text;
    }
}

TEST(Codec, refuses_what_makes_no_sense_together) {
    test::ArbiterSamples samples(3);
    GrantRecord grant = samples.grant();
    EXPECT_TRUE(from_json<GrantRecord>(to_json(grant)));
    grant.fence = 0;
    EXPECT_FALSE(from_json<GrantRecord>(to_json(grant)));
    grant.fence = 1;
    grant.holds.clear();
    EXPECT_FALSE(from_json<GrantRecord>(to_json(grant)));
    FleetRecord record = samples.record(9);
    record.placement.since_epoch = 10;
    EXPECT_FALSE(from_json<FleetRecord>(to_json(record)));
    record = samples.record(1u << 21);
    EXPECT_FALSE(from_json<FleetRecord>(to_json(record)));
    record = samples.record(9);
    const std::string text = to_json(record);
    const bool is_open = record.placement.state == RecordState::open;
    EXPECT_FALSE(
        from_json<FleetRecord>(replaced(text, is_open ? "\"open\"" : "\"settling\"", "\"ajar\"")));
    NodeRow row = samples.row(5);
    row.incarnation = 0;
    EXPECT_FALSE(from_json<NodeRow>(to_json(row)));
}

TEST(Codec, is_not_led_into_the_deep) {
    EXPECT_FALSE(from_json<Claims>(std::string(100'000, '[')));
}

}  // namespace
}  // namespace latchd::store::arbiter
