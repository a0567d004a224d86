// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "own_file_system.hpp"
#include "support.hpp"

#include <latchd/journal/state.hpp>

#include <filesystem>
#include <iostream>
#include <string>
#include <utility>

// The state on a disk that others have filled, or that has become read-only.
namespace latchd::journal::test {
namespace {

using Purpose = NodeDirectory::Purpose;

State of(Epoch epoch, const std::string& cluster = "") {
    State state;
    state.epoch = epoch;
    state.cluster = cluster;
    return state;
}

// What went wrong goes to standard error; the child ends with 0 if nothing did.
class Child {
public:
    explicit Child(std::string base) : base_(std::move(base)) {
        if (!mount_own_file_system(base_)) ::_exit(no_mounts);
    }

    void expect(bool is_so, const std::string& what) {
        if (is_so) return;
        std::cerr << what << "\n";
        has_failed_ = true;
    }
    [[noreturn]] void end() const { ::_exit(has_failed_ ? 1 : 0); }

    NodeDirectory open() {
        auto opened = NodeDirectory::open(base_, NodeName("node"), Purpose::state);
        expect(opened.directory.has_value(), "not opened: " + opened.warning + opened.refusal);
        if (!opened.directory) end();
        return std::move(*opened.directory);
    }

    // As one process after the other does.
    void save(Epoch epoch) {
        const NodeDirectory directory = open();
        State state = load_state(directory).state;
        expect(state.epoch + 1 == epoch, "found epoch " + std::to_string(state.epoch));
        state.epoch = epoch;
        const std::string why = save_state(directory, state);
        expect(why.empty(), "epoch " + std::to_string(epoch) + ": " + why);
    }

    [[nodiscard]] const std::string& base() const { return base_; }

private:
    std::string base_;
    bool has_failed_ = false;
};

void assert_ends_well(int code) {
    if (code == no_mounts) GTEST_SKIP() << "no mounts here";
    EXPECT_EQ(code, 0);
}

TEST(StateRoom, is_kept_for_all_saves_after_the_first) {
    const TemporaryFolder folder;
    assert_ends_well(code_of_child([&] {
        Child child(folder.path());
        child.save(1);
        fill_up(child.base());
        for (Epoch epoch = 2; epoch < 6; ++epoch) child.save(epoch);
        child.expect(load_state(child.open()).state.epoch == 5, "the last one is not there");
        child.end();
    }));
}

TEST(StateRoom, is_taken_again_once_there_is_some) {
    const TemporaryFolder folder;
    assert_ends_well(code_of_child([&] {
        Child child(folder.path());
        child.save(1);
        std::filesystem::remove(child.base() + "/node/state.new");
        fill_up(child.base());
        {
            const NodeDirectory directory = child.open();
            const std::string why = save_state(directory, of(7));
            child.expect(why.find("No space left") != std::string::npos, "said: " + why);
            child.expect(load_state(directory).state.epoch == 1, "the former one is gone");
        }
        std::filesystem::remove(child.base() + "/filler");
        child.save(2);
        fill_up(child.base());
        child.save(3);
        child.end();
    }));
}

TEST(StateRoom, is_not_asked_for_where_a_longer_state_was) {
    const TemporaryFolder folder;
    assert_ends_well(code_of_child([&] {
        Child child(folder.path());
        const NodeDirectory directory = child.open();
        const State longer = of(1, std::string(2'000, 'c'));
        child.expect(save_state(directory, longer).empty(), "not saved");
        fill_up(child.base());
        for (const State& state : {of(2), longer, of(3)}) {
            const std::string why = save_state(directory, state);
            child.expect(why.empty(), why);
            child.expect(load_state(directory).state == state, "another one is there");
        }
        child.end();
    }));
}

TEST(NodeDirectory, is_used_on_a_full_disk_that_took_the_room_of_its_lock_file) {
    const TemporaryFolder folder;
    assert_ends_well(code_of_child([&] {
        Child child(folder.path());
        child.save(1);
        // As if the process before had emptied it, and somebody had been quicker.
        std::filesystem::resize_file(child.base() + "/node/state.lock", 0);
        fill_up(child.base());
        child.save(2);
        child.end();
    }));
}

TEST(NodeDirectory, is_read_where_it_can_t_be_written_any_more) {
    const TemporaryFolder folder;
    assert_ends_well(code_of_child([&] {
        Child child(folder.path());
        child.save(1);
        if (!remount_read_only(child.base())) ::_exit(no_mounts);
        const NodeDirectory directory = child.open();
        child.expect(load_state(directory).state.epoch == 1, "not read");
        const std::string why = save_state(directory, of(2));
        child.expect(why.find("Read-only") != std::string::npos, "said: " + why);
        child.end();
    }));
}

}  // namespace
}  // namespace latchd::journal::test
