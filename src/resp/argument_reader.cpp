// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "argument_reader.hpp"

#include <hiredis/read.h>

#include <new>

namespace latchd::resp {

// Our limits hold here once more, so that the reader cannot be led past them whatever its callers
// let through. A null result makes the reader give up.
struct ArgumentReader::Functions {
    static void* on_array(const redisReadTask* task, int count) {
        auto& self = *static_cast<ArgumentReader*>(task->privdata);
        const bool nested = task->parent != nullptr;
        if (nested || static_cast<std::size_t>(count) > self.limits_->arguments_max) {
            return nullptr;
        }
        self.arguments_->reserve(static_cast<std::size_t>(count));
        return &self;
    }

    static void* on_string(const redisReadTask* task, char* text, std::size_t bytes) {
        auto& self = *static_cast<ArgumentReader*>(task->privdata);
        if (task->type != REDIS_REPLY_STRING || task->parent == nullptr ||
            bytes > self.limits_->bulk_bytes_max) {
            return nullptr;
        }
        const char* begin = self.reader_->buf + self.request_begin_;
        self.arguments_->emplace_back(self.request_.data() + (text - begin), bytes);
        return &self;
    }

    static void* on_integer(const redisReadTask*, long long) { return nullptr; }
    static void* on_nil(const redisReadTask*) { return nullptr; }

    static constexpr redisReplyObjectFunctions table{
        on_string, on_array, on_integer, on_nil, nullptr};
};

void ArgumentReader::Free::operator()(redisReader* reader) const noexcept {
    redisReaderFree(reader);
}

ArgumentReader::ArgumentReader()
    // hiredis takes the table as not const and never writes to it.
    : reader_(redisReaderCreateWithFunctions(
          const_cast<redisReplyObjectFunctions*>(&Functions::table))) {
    if (!reader_) {
        throw std::bad_alloc();
    }
}

bool ArgumentReader::read(std::string_view request,
                          const RequestLimits& limits,
                          std::vector<std::string_view>& arguments) {
    arguments.clear();
    limits_ = &limits;
    arguments_ = &arguments;
    request_ = request;
    request_begin_ = reader_->len;
    reader_->privdata = this;
    if (redisReaderFeed(reader_.get(), request.data(), request.size()) != REDIS_OK) {
        return false;
    }
    void* reply = nullptr;
    if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) {
        return false;
    }
    return reply != nullptr && reader_->pos == reader_->len && !arguments.empty();
}

std::size_t ArgumentReader::memory_bytes() const noexcept {
    return sizeof(redisReader) + reader_->len;
}

}  // namespace latchd::resp
