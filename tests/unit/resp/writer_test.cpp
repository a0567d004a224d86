// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/resp/command_writer.hpp>
#include <latchd/resp/writer.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace latchd::resp::test {
namespace {

using namespace std::string_literals;

struct WriterRow {
    const char* what;
    std::function<void(Writer&)> write;
    std::string resp2;
    std::string resp3;
};

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(WriterTest, writes_each_type_in_both_protocols) {
    const std::vector<WriterRow> table{
        {"ok", [](Writer& w) { w.simple_string("OK"); }, "+OK\r\n", "+OK\r\n"},
        {"error", [](Writer& w) { w.error("ERR no"); }, "-ERR no\r\n", "-ERR no\r\n"},
        {"zero", [](Writer& w) { w.integer(0); }, ":0\r\n", ":0\r\n"},
        {"minus", [](Writer& w) { w.integer(-1); }, ":-1\r\n", ":-1\r\n"},
        {"integer min",
         [](Writer& w) { w.integer(std::numeric_limits<std::int64_t>::min()); },
         ":-9223372036854775808\r\n",
         ":-9223372036854775808\r\n"},
        {"integer max",
         [](Writer& w) { w.integer(std::numeric_limits<std::int64_t>::max()); },
         ":9223372036854775807\r\n",
         ":9223372036854775807\r\n"},
        {"bulk",
         [](Writer& w) { w.bulk("a\r\nb\0c"s); },
         "$6\r\na\r\nb\0c\r\n"s,
         "$6\r\na\r\nb\0c\r\n"s},
        {"empty bulk", [](Writer& w) { w.bulk(""); }, "$0\r\n\r\n", "$0\r\n\r\n"},
        {"null", [](Writer& w) { w.null(); }, "$-1\r\n", "_\r\n"},
        {"true", [](Writer& w) { w.boolean(true); }, ":1\r\n", "#t\r\n"},
        {"false", [](Writer& w) { w.boolean(false); }, ":0\r\n", "#f\r\n"},
        {"real", [](Writer& w) { w.real(0.1); }, "$3\r\n0.1\r\n", ",0.1\r\n"},
        {"whole real", [](Writer& w) { w.real(-3.0); }, "$2\r\n-3\r\n", ",-3\r\n"},
        {"small real", [](Writer& w) { w.real(5e-324); }, "$6\r\n5e-324\r\n", ",5e-324\r\n"},
        {"large real",
         [](Writer& w) { w.real(-1.7976931348623157e308); },
         "$24\r\n-1.7976931348623157e+308\r\n",
         ",-1.7976931348623157e+308\r\n"},
        {"inf", [](Writer& w) { w.real(infinity); }, "$3\r\ninf\r\n", ",inf\r\n"},
        {"-inf", [](Writer& w) { w.real(-infinity); }, "$4\r\n-inf\r\n", ",-inf\r\n"},
        {"nan", [](Writer& w) { w.real(nan); }, "$3\r\nnan\r\n", ",nan\r\n"},
        {"-nan", [](Writer& w) { w.real(-nan); }, "$3\r\nnan\r\n", ",nan\r\n"},
        {"verbatim",
         [](Writer& w) { w.verbatim("a\r\n"); },
         "$3\r\na\r\n\r\n",
         "=7\r\ntxt:a\r\n\r\n"},
        {"array", [](Writer& w) { w.array(12); }, "*12\r\n", "*12\r\n"},
        {"empty array", [](Writer& w) { w.array(0); }, "*0\r\n", "*0\r\n"},
        {"map", [](Writer& w) { w.map(3); }, "*6\r\n", "%3\r\n"},
        {"set", [](Writer& w) { w.set(2); }, "*2\r\n", "~2\r\n"},
        {"push", [](Writer& w) { w.push(2); }, "*2\r\n", ">2\r\n"},
    };
    for (const WriterRow& row : table) {
        std::string out = "before";
        Writer resp2(out, Protocol::resp2);
        row.write(resp2);
        EXPECT_EQ(out, "before" + row.resp2) << row.what;
        out.clear();
        Writer resp3(out, Protocol::resp3);
        row.write(resp3);
        EXPECT_EQ(out, row.resp3) << row.what;
    }
}

TEST(WriterTest, no_text_can_split_a_line) {
    std::string out;
    Writer writer(out, Protocol::resp2);
    writer.error("ERR unknown command 'a\r\n+OK\r\n'");
    writer.simple_string("\nx\r");
    EXPECT_EQ(out, "-ERR unknown command 'a  +OK  '\r\n+ x \r\n");
}

TEST(CommandWriterTest, writes_arrays_of_bulk_strings) {
    std::string out = "x";
    append_command(out, {"SET", "k\r\n", ""});
    EXPECT_EQ(out, "x*3\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$0\r\n\r\n");
    out.clear();
    const std::vector<std::string_view> arguments{"PING", "a\0b"};
    append_command(out, arguments);
    EXPECT_EQ(out, "*2\r\n$4\r\nPING\r\n$1\r\na\r\n");
}

TEST(CommandWriterTest, writes_numbers_as_decimal_text) {
    std::string out;
    CommandWriter(out, 4)
        .argument("PEXPIRE")
        .argument(std::int64_t{0})
        .argument(std::int64_t{-30000})
        .argument(std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(out,
              "*4\r\n$7\r\nPEXPIRE\r\n$1\r\n0\r\n$6\r\n-30000\r\n$20\r\n-9223372036854775808\r\n");
}

}  // namespace
}  // namespace latchd::resp::test
