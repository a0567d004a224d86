// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/journal/directory.hpp>
#include <latchd/journal/journal.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdlib.h>
#include <string>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace latchd::journal::test {

using namespace std::chrono_literals;

inline const Host host{"0123456789abcdef0123456789abcdef", "b5f0f5a4-0000-4000-8000-000000000001"};
inline constexpr Time start{1'000'000'000us};

class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "latchd-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

inline NodeDirectory open_directory(const std::string& base) {
    auto opened = NodeDirectory::open(base, NodeName("node"), NodeDirectory::Purpose::runtime);
    EXPECT_EQ(opened.warning, "");
    EXPECT_EQ(opened.refusal, "");
    return std::move(opened.directory.value());
}

inline std::vector<std::byte> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

inline void write_file(const std::string& path, std::span<const std::byte> bytes) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
}

// An ordinary grant; `number` tells locks apart.
inline core::GrantRecord make_record(std::uint64_t number, Fence fence) {
    core::GrantRecord record;
    record.key = {ResourceName("order:settle"), LockId(std::to_string(number))};
    record.holds = {{Token("tokenABCDEFGHIJKLMNOPQ"),
                     RequestId("req-" + std::to_string(fence)),
                     {{7, fence}},
                     15s}};
    record.owner = OwnerName("worker");
    record.fence = fence;
    record.version = 1;
    record.left = 30s;
    record.ttl = 30s;
    record.node = NodeName("node");
    record.client = ClientName("127.0.0.1:40000");
    return record;
}

// A cancelled request id of the same lock.
inline core::CancelledRequest make_bar(std::uint64_t number,
                                       const std::string& request,
                                       Duration left) {
    return {make_record(number, 0).key, RequestId(request), left};
}

}  // namespace latchd::journal::test
