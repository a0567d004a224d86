// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <latchd/journal/state.hpp>

namespace latchd::journal::test {
namespace {

using Read = StateRead::Origin;

const State example{"6f1c1a52-7a43-4f0c-9b57-0d1a0f6f9d10",
                    12,
                    4711,
                    "epoch=12 state=open\nplacement=redis 100%\xc3\xa9",
                    18'000'000'000'000'000'001U,
                    "b007 id",
                    true,
                    -5};

class StateTest : public testing::Test {
protected:
    TemporaryFolder folder;
    NodeDirectory directory = open_directory(folder.path());
    std::string file = directory.path() + "/state";
};

TEST_F(StateTest, is_missing_on_a_new_host_without_a_warning) {
    const StateRead read = load_state(directory);
    EXPECT_EQ(read.origin, Read::missing);
    EXPECT_EQ(read.warning, "");
}

TEST_F(StateTest, comes_back_as_it_was_saved) {
    ASSERT_EQ(save_state(directory, example), "");
    const StateRead read = load_state(directory);
    EXPECT_EQ(read.origin, Read::read) << read.warning;
    EXPECT_EQ(read.state, example);
    ASSERT_EQ(save_state(directory, {}), "");
    EXPECT_EQ(load_state(directory).state, State{});
    ASSERT_EQ(save_state(directory, example), "");
    EXPECT_EQ(load_state(directory).state, example) << "over the longer and the shorter one";
}

TEST_F(StateTest, is_text_that_a_person_can_read) {
    EXPECT_EQ(format_state(example).substr(0, format_state(example).rfind("checksum")),
              "latchd-state 1\n"
              "cluster 6f1c1a52-7a43-4f0c-9b57-0d1a0f6f9d10\n"
              "epoch 12\n"
              "local-fence-floor 4711\n"
              "authority epoch=12 state=open%0aplacement=redis 100%25%c3%a9\n"
              "incarnation 18000000000000000001\n"
              "boot b007 id\n"
              "journal yes\n"
              "arbiter-clock -5\n");
}

TEST_F(StateTest, stays_the_former_one_when_saving_fails) {
    ASSERT_EQ(save_state(directory, example), "");
    std::filesystem::remove(file + ".new");
    std::filesystem::create_directory(file + ".new");
    EXPECT_NE(save_state(directory, {}), "");
    EXPECT_EQ(load_state(directory).state, example);
}

TEST_F(StateTest, is_not_harmed_by_a_crash_before_the_rename) {
    ASSERT_EQ(save_state(directory, example), "");
    std::ofstream(file + ".new") << "latchd-state 1\nclus";
    EXPECT_EQ(load_state(directory).state, example);
    State next = example;
    next.epoch = 13;
    ASSERT_EQ(save_state(directory, next), "");
    EXPECT_EQ(load_state(directory).state, next);
}

TEST(StateText, is_unknown_with_any_byte_changed_or_cut_off) {
    const std::string whole = format_state(example);
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::string changed = whole;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        for (const std::string& text : {changed, whole.substr(0, i), whole + "x"}) {
            const StateRead read = parse_state(text);
            EXPECT_EQ(read.origin, Read::damaged) << text;
            EXPECT_EQ(read.state, State{});
            EXPECT_NE(read.warning, "");
        }
    }
}

TEST(StateText, names_an_unknown_version) {
    EXPECT_EQ(parse_state("latchd-state 2\n").warning, "state taken as unknown: format version 2");
}

TEST_F(StateTest, is_unknown_when_it_is_no_regular_file) {
    std::filesystem::create_directory(file);
    EXPECT_EQ(load_state(directory).origin, Read::damaged);
}

}  // namespace
}  // namespace latchd::journal::test
