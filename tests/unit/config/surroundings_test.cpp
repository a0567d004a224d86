// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/config/surroundings.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace latchd::config {
namespace {

class RealFile : public testing::Test {
protected:
    RealFile() { ::close(::mkstemp(path_.data())); }
    ~RealFile() override { std::remove(path_.c_str()); }
    std::string path_ = testing::TempDir() + "latchd-config-XXXXXX";
};

TEST_F(RealFile, is_read_with_its_mode) {
    std::ofstream(path_) << "text\n";
    ASSERT_EQ(::chmod(path_.c_str(), 0644), 0);
    const auto content = system_surroundings().read_file(path_);
    EXPECT_EQ(content.status, FileContent::Status::read);
    EXPECT_EQ(content.text, "text\n");
    EXPECT_EQ(content.mode & 0777, 0644U);
}

TEST_F(RealFile, above_a_mebibyte_is_refused) {
    std::ofstream(path_) << std::string(1024 * 1024 + 1, '#');
    EXPECT_EQ(system_surroundings().read_file(path_).status, FileContent::Status::failed);
}

TEST_F(RealFile, that_is_absent_or_a_directory_is_told_apart) {
    EXPECT_EQ(system_surroundings().read_file(path_ + ".no").status, FileContent::Status::missing);
    EXPECT_EQ(system_surroundings().read_file(testing::TempDir()).status,
              FileContent::Status::failed);
}

TEST(System, knows_its_variables_and_its_name) {
    ::setenv("LATCHD_TEST_VARIABLE", "x", 1);
    EXPECT_EQ(system_surroundings().variable("LATCHD_TEST_VARIABLE"), "x");
    ::unsetenv("LATCHD_TEST_VARIABLE");
    EXPECT_EQ(system_surroundings().variable("LATCHD_TEST_VARIABLE"), std::nullopt);
    EXPECT_FALSE(system_surroundings().host_name.empty());
}

}  // namespace
}  // namespace latchd::config
