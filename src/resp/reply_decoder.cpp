// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "value_reader.hpp"

#include <latchd/resp/reply_decoder.hpp>

namespace latchd::resp {

ReplyDecoder::ReplyDecoder(const ReplyLimits& limits)
    : reader_(std::make_unique<ValueReader>(limits)) {}

ReplyDecoder::~ReplyDecoder() = default;
ReplyDecoder::ReplyDecoder(ReplyDecoder&&) noexcept = default;
ReplyDecoder& ReplyDecoder::operator=(ReplyDecoder&&) noexcept = default;

void ReplyDecoder::feed(std::string_view bytes) {
    if (error_.empty()) {
        input_.append(bytes);
    }
}

DecodedReply ReplyDecoder::next() {
    DecodedReply decoded;
    while (error_.empty()) {
        switch (reader_->read(decoded.value)) {
            case ValueReader::Status::reply:
                decoded.status = ReplyStatus::reply;
                return decoded;
            case ValueReader::Status::failed:
                error_ = reader_->error();
                input_.consume(input_.size());
                input_.shrink();
                break;
            case ValueReader::Status::need_more: {
                if (input_.empty()) {
                    return decoded;
                }
                const std::string_view slice = input_.view().substr(0, ValueReader::slice_bytes);
                reader_->feed(slice);
                input_.consume(slice.size());
                break;
            }
        }
    }
    decoded.status = ReplyStatus::protocol_error;
    decoded.error = error_;
    return decoded;
}

bool ReplyDecoder::is_empty() const noexcept { return input_.empty() && reader_->is_empty(); }

}  // namespace latchd::resp
