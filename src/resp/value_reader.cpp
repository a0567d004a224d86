// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "value_reader.hpp"

#include "request_scan.hpp"

#include <hiredis/read.h>

#include <algorithm>
#include <new>
#include <utility>

namespace latchd::resp {

struct ValueReader::Functions {
    static ValueReader& self_of(const redisReadTask* task) {
        return *static_cast<ValueReader*>(task->privdata);
    }

    static void* refuse(ValueReader& self, const char* error) {
        self.error_ = error;
        return nullptr;
    }

    static void* on_string(const redisReadTask* task, char* text, std::size_t bytes) {
        ValueReader& self = self_of(task);
        self.string_bytes_ += bytes;
        if (bytes > self.limits_.bulk_bytes_max ||
            self.string_bytes_ > self.limits_.reply_bytes_max) {
            return refuse(self, "reply too large");
        }
        Value* value = self.place(task);
        value->type = task->type == REDIS_REPLY_STRING   ? Value::Type::bulk
                      : task->type == REDIS_REPLY_STATUS ? Value::Type::simple_string
                                                         : Value::Type::error;
        value->string.assign(text, bytes);
        return value;
    }

    static void* on_array(const redisReadTask* task, int count) {
        ValueReader& self = self_of(task);
        // Counted when announced; beyond what scripts answer with, reserved only as they come.
        constexpr std::size_t reserved_max = 16;
        self.elements_ += static_cast<std::size_t>(count);
        if (self.elements_ > self.limits_.elements_max) {
            return refuse(self, "too many elements in a reply");
        }
        Value* value = self.place(task);
        value->type = Value::Type::array;
        value->elements.reserve(std::min(static_cast<std::size_t>(count), reserved_max));
        return value;
    }

    static void* on_integer(const redisReadTask* task, long long number) {
        Value* value = self_of(task).place(task);
        value->type = Value::Type::integer;
        value->integer = number;
        return value;
    }

    static void* on_nil(const redisReadTask* task) { return self_of(task).place(task); }

    static constexpr redisReplyObjectFunctions table{
        on_string, on_array, on_integer, on_nil, nullptr};
};

void ValueReader::Free::operator()(redisReader* reader) const noexcept { redisReaderFree(reader); }

ValueReader::ValueReader(const ReplyLimits& limits)
    // hiredis takes the table as not const and never writes to it.
    : reader_(redisReaderCreateWithFunctions(
          const_cast<redisReplyObjectFunctions*>(&Functions::table))),
      limits_(limits) {
    if (!reader_) {
        throw std::bad_alloc();
    }
    reader_->privdata = this;
}

// A parent's address holds while its children are read: its own siblings come only after them.
Value* ValueReader::place(const redisReadTask* task) {
    if (task->parent == nullptr) {
        root_ = Value();
        return &root_;
    }
    return &static_cast<Value*>(task->parent->obj)->elements.emplace_back();
}

void ValueReader::feed(std::string_view slice) {
    if (redisReaderFeed(reader_.get(), slice.data(), slice.size()) != REDIS_OK &&
        reader_->err == REDIS_ERR_OOM) {
        throw std::bad_alloc();
    }
}

ValueReader::Status ValueReader::read(Value& value) {
    void* reply = nullptr;
    if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) {
        return Status::failed;
    }
    if (reply == nullptr) {
        return is_pending_within_limits() ? Status::need_more : Status::failed;
    }
    value = std::exchange(root_, Value());
    elements_ = 0;
    string_bytes_ = 0;
    return Status::reply;
}

// The reader waits for whatever length a header names; it is held to ours as soon as the header
// is there, before the bytes are.
bool ValueReader::is_pending_within_limits() {
    if (reader_->ridx < 0) {
        return true;
    }
    const std::string_view pending{reader_->buf + reader_->pos, reader_->len - reader_->pos};
    const std::size_t line_end = pending.find("\r\n");
    if (line_end == std::string_view::npos) {
        if (pending.size() > limits_.line_bytes_max) {
            error_ = "line too long";
        }
        return error_ == nullptr;
    }
    if (reader_->rstack[reader_->ridx].type == REDIS_REPLY_STRING) {
        const auto bytes = parse_integer(pending.substr(0, line_end));
        if (bytes && *bytes > static_cast<std::int64_t>(limits_.bulk_bytes_max)) {
            error_ = "reply too large";
        }
    }
    return error_ == nullptr;
}

std::string_view ValueReader::error() const noexcept {
    return error_ != nullptr ? error_ : reader_->errstr;
}

bool ValueReader::is_empty() const noexcept {
    // Once anything was fed, the reader stands before the type of the next reply when it has
    // nothing to read.
    const bool is_between_replies =
        reader_->ridx < 0 || (reader_->ridx == 0 && reader_->rstack[0].type < 0);
    return is_between_replies && reader_->pos == reader_->len;
}

}  // namespace latchd::resp
