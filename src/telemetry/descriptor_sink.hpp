// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>

#include <string>

namespace latchd::telemetry {

// Lines to a descriptor, each in one write and with no buffer behind: whether a line could be
// written is known at once, and none comes late. log() throws std::system_error for one that was
// lost. Its user serialises the calls.
class DescriptorSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
public:
    // Throws std::system_error if the file can be neither opened nor made.
    explicit DescriptorSink(const std::string& path);
    // Standard error, which stays open.
    DescriptorSink();
    ~DescriptorSink() override;
    DescriptorSink(const DescriptorSink&) = delete;
    DescriptorSink& operator=(const DescriptorSink&) = delete;

private:
    void sink_it_(const spdlog::details::log_msg& msg) override;
    void flush_() override {}

    int fd_;
    bool is_own_;
    bool is_torn_ = false;  // the last line was written in part: the next one begins a new line
};

}  // namespace latchd::telemetry
