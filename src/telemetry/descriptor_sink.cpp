// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "descriptor_sink.hpp"

#include <spdlog/pattern_formatter.h>

#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace latchd::telemetry {
namespace {

constexpr const char* pattern = "%Y-%m-%dT%H:%M:%S.%e%z %l %n: %v";
constexpr ::mode_t mode = 0644;

std::unique_ptr<spdlog::formatter> with_time() {
    return std::make_unique<spdlog::pattern_formatter>(pattern);
}

[[noreturn]] void fail() { throw std::system_error(errno, std::generic_category()); }

// How many bytes were written; errno says why not all.
std::size_t write_all(int fd, std::string_view bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ::ssize_t count = ::write(fd, bytes.data() + done, bytes.size() - done);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return done;
        done += static_cast<std::size_t>(count);
    }
    return done;
}

}  // namespace

DescriptorSink::DescriptorSink(const std::string& path)
    : base_sink(with_time()),
      fd_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, mode)),
      is_own_(true) {
    if (fd_ < 0) fail();
}

DescriptorSink::DescriptorSink() : base_sink(with_time()), fd_(STDERR_FILENO), is_own_(false) {}

DescriptorSink::~DescriptorSink() {
    if (is_own_) ::close(fd_);
}

void DescriptorSink::sink_it_(const spdlog::details::log_msg& msg) {
    spdlog::memory_buf_t line;
    if (is_torn_) line.push_back('\n');
    formatter_->format(msg, line);
    const std::size_t done = write_all(fd_, {line.data(), line.size()});
    if (done == line.size()) {
        is_torn_ = false;
        return;
    }
    // Of a torn line the rest is not added later: another process may have written since.
    if (done > 0) is_torn_ = true;
    fail();
}

}  // namespace latchd::telemetry
