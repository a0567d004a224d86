// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "argument_reader.hpp"
#include "inline_arguments.hpp"
#include "request_scan.hpp"

#include <latchd/resp/decoder.hpp>

namespace latchd::resp {
namespace {

// What a client that is between two requests may keep without being told to release it.
constexpr std::size_t kept_bytes_max = 64 * 1024;

// The reader keeps a copy of the last requests; a larger one is not worth keeping it for.
constexpr std::size_t reader_kept_bytes_max = 16 * 1024;

}  // namespace

Decoder::Decoder(ClientTrust trust, const RequestLimits& limits)
    : limits_(limits), trust_(trust), scan_(std::make_unique<RequestScan>()) {}

Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;

void Decoder::feed(std::string_view bytes) {
    if (error_.empty()) {
        input_.append(bytes);
    }
}

Decoded Decoder::next() {
    if (!error_.empty()) {
        return failure();
    }
    arguments_.clear();
    while (!input_.empty()) {
        switch (input_.view().front() == '*' ? take_array() : take_inline()) {
            case Step::yielded:
                return {.status = DecodeStatus::request, .arguments = arguments_, .error = {}};
            case Step::passed_over:
                continue;
            case Step::starved:
                return {};
            case Step::failed:
                return failure();
        }
    }
    if (input_.capacity() > kept_bytes_max) {
        input_.shrink();
    }
    return {};
}

Decoder::Step Decoder::take_array() {
    const std::string_view message = input_.view();
    if (scan_->is_at_begin()) {
        if (const auto size = take_plain_request(message, limits_, trust_, arguments_); size > 0) {
            input_.consume(size);
            scan_->reset();  // it may have looked at a part of the first line
            return Step::yielded;
        }
        arguments_.clear();
    }
    switch (scan_->advance(message, limits_, trust_)) {
        case RequestScan::Status::need_more:
            return Step::starved;
        case RequestScan::Status::failed:
            return fail(scan_->error());
        case RequestScan::Status::passed_over:
            input_.consume(scan_->size());
            scan_->reset();
            return Step::passed_over;
        case RequestScan::Status::complete:
            break;
    }
    const std::string_view request = message.substr(0, scan_->size());
    scan_->reset();
    if (!reader_) {
        reader_ = std::make_unique<ArgumentReader>();
    }
    if (!reader_->read(request, limits_, arguments_)) {
        return fail("Protocol error: invalid multibulk length");
    }
    if (request.size() > reader_kept_bytes_max) {
        reader_.reset();
    }
    input_.consume(request.size());
    return Step::yielded;
}

Decoder::Step Decoder::take_inline() {
    const std::string_view in_reach = input_.view().substr(0, limits_.line_bytes_max);
    const std::size_t line_bytes = in_reach.find('\n', line_searched_);
    if (line_bytes == std::string_view::npos) {
        line_searched_ = in_reach.size();
        return line_searched_ == limits_.line_bytes_max
                   ? fail("Protocol error: too big inline request")
                   : Step::starved;
    }
    line_searched_ = 0;
    const auto split = split_inline({input_.data(), line_bytes}, limits_.arguments_max, arguments_);
    input_.consume(line_bytes + 1);
    switch (split) {
        case InlineSplit::done:
            return arguments_.empty() ? Step::passed_over : Step::yielded;
        case InlineSplit::unbalanced_quotes:
            return fail("Protocol error: unbalanced quotes in request");
        case InlineSplit::too_many_arguments:
            return fail("Protocol error: too big inline request");
    }
    return Step::failed;
}

Decoder::Step Decoder::fail(std::string_view error) {
    error_ = error;
    input_.consume(input_.size());
    release_idle_memory();
    return Step::failed;
}

Decoded Decoder::failure() const noexcept {
    return {.status = DecodeStatus::protocol_error, .arguments = {}, .error = error_};
}

void Decoder::release_idle_memory() {
    input_.shrink();
    reader_.reset();
    std::vector<std::string_view>().swap(arguments_);
}

std::size_t Decoder::memory_bytes() const noexcept {
    return sizeof(RequestScan) + input_.capacity() +
           arguments_.capacity() * sizeof(std::string_view) +
           (reader_ ? reader_->memory_bytes() : 0);
}

}  // namespace latchd::resp
