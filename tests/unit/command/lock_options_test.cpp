// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "lock_options.hpp"

#include "fake_host.hpp"

#include <gtest/gtest.h>

namespace latchd::command {
namespace {

using std::chrono::milliseconds;
using Words = std::vector<std::string_view>;

Words lock_with(std::initializer_list<std::string_view> options) {
    Words words = {"LOCK", "order:settle", "1001"};
    words.insert(words.end(), options);
    return words;
}

core::LockCommand accepted(const Words& words) {
    core::LockCommand command;
    const Complaint complaint = read_lock(Options{}, words, command);
    EXPECT_FALSE(complaint) << complaint.value_or("");
    return command;
}

std::string refused(const Words& words) {
    core::LockCommand command;
    return read_lock(Options{}, words, command).value_or("accepted");
}

TEST(LockOptions, are_all_read_in_any_order_and_case) {
    const core::LockCommand command =
        accepted(lock_with({"require", "Shared",  "trace", "t-1",     "DELAY",   "5",    "expect",
                            "10",      "maxhold", "60000", "onclose", "release", "KEEP", "req",
                            "r1",      "Owner",   "o1",    "wait",    "60000",   "px",   "30000"}));
    EXPECT_EQ(command.key, (LockKey{ResourceName("order:settle"), LockId("1001")}));
    EXPECT_EQ(command.ttl, milliseconds(30'000));
    EXPECT_EQ(command.wait, milliseconds(60'000));
    EXPECT_EQ(command.owner, OwnerName("o1"));
    EXPECT_EQ(command.request, RequestId("r1"));
    EXPECT_TRUE(command.keep);
    EXPECT_TRUE(command.release_on_close);
    EXPECT_EQ(command.hold_max, milliseconds(60'000));
    EXPECT_EQ(command.expect, milliseconds(10));
    EXPECT_EQ(command.delay, milliseconds(5));
    EXPECT_EQ(command.trace, "t-1");
    EXPECT_EQ(command.require, core::Require::shared);
}

TEST(LockOptions, may_all_be_absent) {
    const core::LockCommand command = accepted(lock_with({}));
    EXPECT_FALSE(command.ttl);
    EXPECT_EQ(command.wait, milliseconds(0));
    EXPECT_TRUE(command.owner.empty());
    EXPECT_FALSE(command.request);
    EXPECT_FALSE(command.keep);
    EXPECT_FALSE(command.hold_max || command.expect || command.delay);
    EXPECT_EQ(command.require, core::Require::any);
}

TEST(LockOptions, cut_a_ttl_to_the_largest) {
    EXPECT_EQ(accepted(lock_with({"PX", "60001"})).ttl, milliseconds(60'000));
    EXPECT_EQ(accepted(lock_with({"PX", "9007199254740991"})).ttl, milliseconds(60'000));
    EXPECT_EQ(accepted(lock_with({"EX", "3600"})).ttl, milliseconds(60'000));
    EXPECT_EQ(accepted(lock_with({"EX", "2"})).ttl, milliseconds(2'000));
    EXPECT_EQ(accepted(lock_with({"PX", "100"})).ttl, milliseconds(100));
}

TEST(LockOptions, take_a_wait_of_0_as_no_waiting) {
    EXPECT_EQ(accepted(lock_with({"WAIT", "0"})).wait, milliseconds(0));
}

// Every option with a number refuses every text that is no plain decimal number in its range.
TEST(LockOptions, refuse_what_is_no_number_and_name_it) {
    for (const std::string_view option : {"PX", "EX", "WAIT", "MAXHOLD", "EXPECT", "DELAY"}) {
        for (const std::string_view input : {"-1",
                                             "abc",
                                             "",
                                             "NaN",
                                             "inf",
                                             "1.5",
                                             "1e3",
                                             "+5000",
                                             " 5000",
                                             "5000 ",
                                             "05000",
                                             "0x10",
                                             "99999999999999999999",
                                             "18446744073709551616",
                                             "-0",
                                             "5,000",
                                             "5000ms"}) {
            const std::string text = refused(lock_with({option, input}));
            const std::string begin =
                "ERR " + std::string(option) + " '" + std::string(input) + "': a whole number of ";
            EXPECT_EQ(text.substr(0, begin.size()), begin);
            EXPECT_NE(text.find(" is needed"), std::string::npos) << text;
        }
    }
}

TEST(LockOptions, refuse_zero_where_it_means_nothing) {
    for (const std::string_view option : {"PX", "EX", "MAXHOLD", "EXPECT", "DELAY"}) {
        EXPECT_EQ(refused(lock_with({option, "0"})).substr(0, 7 + option.size()),
                  "ERR " + std::string(option) + " '0");
    }
}

struct Refusal {
    Words words;
    std::string_view text;
};

TEST(LockOptions, refuse_with_texts_that_name_the_way_out) {
    const std::string long_id(129, 'x');
    const std::string long_name(65, 'x');
    const std::string binary("\x00\x1b[", 3);
    const std::vector<Refusal> table = {
        {lock_with({"PX", "abc"}),
         "ERR PX 'abc': a whole number of milliseconds from 100 to 60000 is needed"},
        {lock_with({"PX", "99"}),
         "ERR PX '99': a whole number of milliseconds from 100 to 60000 is needed"},
        {lock_with({"EX", "0"}), "ERR EX '0': a whole number of seconds from 1 to 60 is needed"},
        {lock_with({"WAIT", "60001"}),
         "ERR WAIT '60001': a whole number of milliseconds from 0 to 60000 is needed (0: answer at "
         "once)"},
        {lock_with({"DELAY", "60001"}),
         "ERR DELAY '60001': a whole number of milliseconds from 1 to 60000 is needed"},
        {lock_with({"PX", "500", "px", "500"}), "ERR PX is given twice: once is enough"},
        {lock_with({"KEEP", "keep"}), "ERR KEEP is given twice: once is enough"},
        {lock_with({"PX", "500", "EX", "5"}),
         "ERR PX and EX are both given: one of them is enough"},
        {lock_with({"EX", "5", "PX", "500"}),
         "ERR PX and EX are both given: one of them is enough"},
        {lock_with({"PX"}), "ERR PX without its value: a whole number of milliseconds is needed"},
        {lock_with({"KEEP", "OWNER"}),
         "ERR OWNER without its value: a name of 1 to 64 bytes is needed"},
        {lock_with({"REQUIRE"}), "ERR REQUIRE without its value: redis, shared or any is needed"},
        {lock_with({"REQUIRE", "mysql"}), "ERR REQUIRE 'mysql': redis, shared or any is needed"},
        {lock_with({"ONCLOSE", "RELEASE"}),
         "ERR ONCLOSE RELEASE without KEEP: give KEEP too, or neither"},
        {lock_with({"KEEP", "ONCLOSE", "KEEP"}), "ERR ONCLOSE 'KEEP': RELEASE is needed"},
        {lock_with({"30000"}),
         "ERR '30000' is no option of LOCK: it has PX, EX, WAIT, OWNER, REQ, KEEP, ONCLOSE, "
         "MAXHOLD, EXPECT, DELAY, TRACE, REQUIRE"},
        {lock_with({"OWNER", ""}), "ERR OWNER of 0 bytes: 1 to 64 bytes are needed"},
        {lock_with({"REQ", long_name}), "ERR REQ of 65 bytes: 1 to 64 bytes are needed"},
        {lock_with({"TRACE", "a b"}), "ERR TRACE 'a b': printable ASCII without blanks is needed"},
        {{"LOCK", "", "1"}, "ERR resource '': 1 to 64 bytes of A-Z a-z 0-9 _ . : - are needed"},
        {{"LOCK", "a/b", "1"},
         "ERR resource 'a/b': 1 to 64 bytes of A-Z a-z 0-9 _ . : - are needed"},
        {{"LOCK", binary, "1"},
         "ERR resource '\\x00\\x1b[': 1 to 64 bytes of A-Z a-z 0-9 _ . : - are needed"},
        {{"LOCK", long_name, "1"},
         "ERR resource 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...': 1 to "
         "64 bytes of A-Z a-z 0-9 _ . : - are needed"},
        {{"LOCK", "a", ""}, "ERR id of 0 bytes: 1 to 128 bytes are needed"},
        {{"LOCK", "a", long_id}, "ERR id of 129 bytes: 1 to 128 bytes are needed"},
    };
    for (const Refusal& row : table) EXPECT_EQ(refused(row.words), row.text);
}

TEST(LockOptions, take_ids_and_names_of_any_bytes_up_to_the_limit) {
    const std::string bytes("\x00\xff\r\n: %{}", 9);
    const std::string longest_id(128, '\0');
    const std::string longest(64, 'x');
    EXPECT_EQ(accepted({"LOCK", "a", bytes}).key.id.view(), bytes);
    EXPECT_EQ(accepted({"LOCK", "a", longest_id}).key.id.view(), longest_id);
    EXPECT_EQ(accepted({"LOCK", longest, "1", "OWNER", bytes, "REQ", longest}).owner.view(), bytes);
}

// resource a:b and id c, resource a and id b:c: both keys stay apart.
TEST(LockOptions, keep_pairs_apart_whose_joined_names_are_equal) {
    EXPECT_NE(accepted({"LOCK", "a:b", "c"}).key, accepted({"LOCK", "a", "b:c"}).key);
}

TEST(LockOptions, of_renew_are_px_ex_and_keep) {
    core::RenewCommand command;
    EXPECT_FALSE(read_renew(Options{}, Words{"RENEW", "a", "b", "t", "keep", "ex", "5"}, command));
    EXPECT_TRUE(command.keep);
    EXPECT_EQ(command.ttl, milliseconds(5'000));
    EXPECT_EQ(command.token, Token("t"));
    EXPECT_EQ(read_renew(Options{}, Words{"RENEW", "a", "b", "t", "WAIT", "5"}, command),
              "ERR 'WAIT' is no option of RENEW: it has PX, EX, KEEP");
    EXPECT_EQ(read_renew(Options{}, Words{"RENEW", "a", "b", ""}, command),
              "ERR token of 0 bytes: 1 to 64 bytes are needed");
}

TEST(LockOptions, of_locks_are_read) {
    core::ListCommand command;
    EXPECT_FALSE(read_list(
        Words{"LOCKS", "count", "50", "FLEET", "MATCH", "a*", "CURSOR", "18446744073709551615"},
        command));
    EXPECT_TRUE(command.fleet);
    EXPECT_EQ(command.count, 50u);
    EXPECT_EQ(command.pattern, "a*");
    EXPECT_EQ(command.cursor, ~std::uint64_t{0});
    EXPECT_EQ(read_list(Words{"LOCKS", "COUNT", "0"}, command),
              "ERR COUNT '0': a whole number from 1 to 1000 is needed");
    EXPECT_EQ(read_list(Words{"LOCKS", "CURSOR", "-1"}, command),
              "ERR CURSOR '-1': a whole number from 0 to 18446744073709551615 is needed");
}

}  // namespace
}  // namespace latchd::command
