// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <latchd/journal/directory.hpp>

#include <fcntl.h>
#include <set>
#include <sys/file.h>
#include <unistd.h>

namespace latchd::journal::test {
namespace {

using Purpose = NodeDirectory::Purpose;

DirectoryOpened open(const std::string& base, const char* node = "a") {
    return NodeDirectory::open(base, NodeName(node), Purpose::runtime);
}

TEST(FolderName, maps_different_nodes_to_different_safe_names) {
    const std::pair<const char*, const char*> cases[] = {{"web-1.example:2", "web-1.example:2"},
                                                         {"web-1/2", "web-1%2F2"},
                                                         {"..", "%2E."},
                                                         {".", "%2E"},
                                                         {"a/../b", "a%2F..%2Fb"},
                                                         {"%2F", "%252F"},
                                                         {"", ""},
                                                         {"a b", "a%20b"}};
    std::set<std::string> seen;
    for (const auto& [node, folder] : cases) {
        EXPECT_EQ(folder_name(NodeName(node)), folder);
        EXPECT_TRUE(seen.insert(folder).second);
    }
}

TEST(NodeDirectory, is_made_for_this_user_alone_with_all_that_leads_to_it) {
    const TemporaryFolder folder;
    const auto opened = open(folder.path() + "/deep/down", "web/1");
    ASSERT_TRUE(opened.directory) << opened.warning << opened.refusal;
    EXPECT_EQ(opened.directory->path(), folder.path() + "/deep/down/web%2F1");
    struct stat is {};
    ASSERT_EQ(::stat(opened.directory->path().c_str(), &is), 0);
    EXPECT_EQ(is.st_mode & 07777, 0700u);
}

TEST(NodeDirectory, is_refused_while_taken_and_names_the_process) {
    const TemporaryFolder folder;
    auto first = open(folder.path());
    ASSERT_TRUE(first.directory);
    const auto second = open(folder.path());
    EXPECT_FALSE(second.directory);
    EXPECT_EQ(second.warning, "");
    EXPECT_NE(second.refusal.find("process " + std::to_string(::getpid())), std::string::npos)
        << second.refusal;
    EXPECT_TRUE(open(folder.path(), "b").directory) << "another node of the same host";
    first.directory.reset();
    EXPECT_TRUE(open(folder.path()).directory) << "free again";
}

TEST(NodeDirectory, may_serve_both_purposes) {
    const TemporaryFolder folder;
    const auto runtime = open(folder.path());
    const auto state = NodeDirectory::open(folder.path(), NodeName("a"), Purpose::state);
    EXPECT_TRUE(runtime.directory);
    EXPECT_TRUE(state.directory) << state.refusal;
}

TEST(NodeDirectory, is_locked_itself_against_cleaners_of_temporary_folders) {
    const TemporaryFolder folder;
    const auto opened = open(folder.path());
    ASSERT_TRUE(opened.directory);
    const int other = ::open(opened.directory->path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    EXPECT_EQ(::flock(other, LOCK_EX | LOCK_NB), -1);
    ::close(other);
}

TEST(NodeDirectory, warns_where_nothing_can_be_written) {
    for (const char* base : {"/dev/null/x", "/proc/latchd", ""}) {
        const auto opened = open(base);
        EXPECT_FALSE(opened.directory);
        EXPECT_EQ(opened.refusal, "");
        EXPECT_NE(opened.warning, "") << base;
    }
}

TEST(NodeDirectory, does_not_use_what_others_may_change) {
    const TemporaryFolder folder;
    const std::string base = folder.path() + "/base";
    ASSERT_EQ(::mkdir(base.c_str(), 0700), 0);
    ASSERT_EQ(::chmod(base.c_str(), 0777), 0);
    EXPECT_NE(open(base).warning, "") << "others could swap the folder";
    ASSERT_EQ(::chmod(base.c_str(), 01777), 0);
    EXPECT_TRUE(open(base).directory) << "as the temporary directory is";
    ASSERT_EQ(::chmod((base + "/a").c_str(), 0770), 0);
    EXPECT_NE(open(base).warning, "");
    ASSERT_EQ(::symlink("/tmp", (base + "/b").c_str()), 0);
    EXPECT_NE(open(base, "b").warning, "") << "a link is not followed";
}

TEST(NodeDirectory, takes_over_from_a_process_that_is_gone) {
    const TemporaryFolder folder;
    ASSERT_TRUE(open(folder.path()).directory);
    std::ofstream(folder.path() + "/a/runtime.lock") << "999999999 and more than fits\n";
    const auto opened = open(folder.path());
    ASSERT_TRUE(opened.directory) << "the flock counts, not the text";
    std::ifstream file(folder.path() + "/a/runtime.lock");
    std::string line;
    std::getline(file, line);
    EXPECT_EQ(line, std::to_string(::getpid()));
    EXPECT_FALSE(std::getline(file, line));
}

}  // namespace
}  // namespace latchd::journal::test
