// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/resp/limits.hpp>
#include <latchd/resp/value.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

extern "C" {
struct redisReader;
struct redisReadTask;
}

namespace latchd::resp {

// hiredis' reader with object functions that build a Value, and with limits. Is fed in slices:
// the reader moves what is left to the front after each reply, which over one large feed would
// take time by its square.
class ValueReader {
public:
    static constexpr std::size_t slice_bytes = 4096;

    enum class Status { reply, need_more, failed };

    explicit ValueReader(const ReplyLimits& limits);

    void feed(std::string_view slice);
    [[nodiscard]] Status read(Value& value);

    // Of the last failure; valid while the reader lives.
    [[nodiscard]] std::string_view error() const noexcept;
    [[nodiscard]] bool is_empty() const noexcept;

private:
    struct Free {
        void operator()(redisReader* reader) const noexcept;
    };
    struct Functions;

    [[nodiscard]] Value* place(const redisReadTask* task);
    [[nodiscard]] bool is_pending_within_limits();

    std::unique_ptr<redisReader, Free> reader_;
    ReplyLimits limits_;
    Value root_;
    std::size_t elements_ = 0;      // of the reply that is under way
    std::size_t string_bytes_ = 0;  // likewise
    const char* error_ = nullptr;   // ours; else the reader's
};

}  // namespace latchd::resp
