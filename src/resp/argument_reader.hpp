// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/resp/limits.hpp>

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

extern "C" {
struct redisReader;
struct redisReadTask;
}

namespace latchd::resp {

// hiredis' reader with object functions that note where each argument lies and make no objects.
// It is handed one complete request at a time, so between two calls it holds no state.
//
// The views point into the request that was given, never into the reader's buffer: the reader
// moves its buffer to the front before it returns, which would pull the bytes from under them.
class ArgumentReader {
public:
    ArgumentReader();

    // Fills arguments with the request's bulk strings. False: it is not one array of bulk strings
    // within the limits, or not complete, and this reader is of no more use.
    [[nodiscard]] bool read(std::string_view request,
                            const RequestLimits& limits,
                            std::vector<std::string_view>& arguments);

    [[nodiscard]] std::size_t memory_bytes() const noexcept;

private:
    struct Free {
        void operator()(redisReader* reader) const noexcept;
    };
    struct Functions;

    std::unique_ptr<redisReader, Free> reader_;

    // Of the read() that is under way.
    const RequestLimits* limits_ = nullptr;
    std::vector<std::string_view>* arguments_ = nullptr;
    std::string_view request_;
    std::size_t request_begin_ = 0;  // where the reader's buffer holds the request
};

}  // namespace latchd::resp
