// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <errors.hpp>
#include <utility>
#include <vector>

namespace latchd::testing {
namespace {

using namespace store::mysql;

// safety.md 4.3, row by row.
TEST(MysqlErrors, each_row_of_the_table_has_its_class) {
    const std::vector<std::pair<ErrorClass, std::vector<unsigned>>> rows{
        {ErrorClass::duplicate, {1062}},
        {ErrorClass::busy, {1205}},
        {ErrorClass::deadlock, {1213}},
        {ErrorClass::read_only, {1290, 1792, 1836, 1047}},
        {ErrorClass::full, {1040, 1129, 1203, 1226}},
        {ErrorClass::configuration, {1044, 1045, 1142, 1146, 1054}},
        {ErrorClass::interrupted, {1317, 1969, 3024}},
        {ErrorClass::unknown, {1053, 1180, 2006, 2013}},
        {ErrorClass::misuse, {2014}},
        {ErrorClass::refused, {1105, 1114, 3988}},
    };
    for (const auto& [kind, codes] : rows) {
        for (const unsigned code : codes) EXPECT_EQ(class_of(code), kind) << code;
    }
}

TEST(MysqlErrors, only_the_doubtful_are_not_definite) {
    for (const unsigned code : {1062u, 1205u, 1213u, 1290u, 1040u, 1045u, 1317u, 1105u}) {
        EXPECT_TRUE((Error{code, "", "", class_of(code), false}.is_definite())) << code;
    }
    for (const unsigned code : {1053u, 1180u, 2006u, 2013u, 2014u, 2027u}) {
        const Error error{code, "", "", class_of(code), false};
        EXPECT_FALSE(error.is_definite()) << code;
        EXPECT_TRUE(error.ends_connection()) << code;
    }
    EXPECT_FALSE((Error{1205, "", "", class_of(1205), false}.ends_connection()));
    EXPECT_TRUE((Error{1290, "", "", class_of(1290), false}.ends_connection()));
}

TEST(MysqlErrors, nothing_was_executed_by_a_connect_that_failed) {
    EXPECT_EQ(class_of_connect(2013), ErrorClass::unsent);
    EXPECT_EQ(class_of_connect(2003), ErrorClass::unsent);
    EXPECT_EQ(class_of_connect(1040), ErrorClass::full);
    EXPECT_EQ(class_of_connect(1129), ErrorClass::full);
    EXPECT_EQ(class_of_connect(1045), ErrorClass::configuration);
}

TEST(MysqlErrors, a_refusal_is_told_from_other_ways_not_to_connect) {
    EXPECT_TRUE(is_refusal(2003, "Can't connect to server on '127.0.0.1' (111)"));
    EXPECT_TRUE(is_refusal(2002, "Can't connect to local server through socket '/x' (2)"));
    EXPECT_FALSE(is_refusal(2003, "Can't connect to server on '10.0.0.1' (113)"));
    EXPECT_FALSE(is_refusal(2013, "Lost connection (111)"));
}

TEST(MysqlErrors, describes_itself_with_its_numbers) {
    EXPECT_EQ(describe({1213, "40001", "Deadlock found", ErrorClass::deadlock, false}),
              "1213 (40001): Deadlock found");
    EXPECT_EQ(describe({0, "", "connecting timed out", ErrorClass::unsent, false}),
              "connecting timed out");
}

}  // namespace
}  // namespace latchd::testing
