// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/resp/input_buffer.hpp>

namespace latchd::resp {

void InputBuffer::append(std::string_view bytes) {
    if (begin_ >= size()) {
        bytes_.erase(0, begin_);
        begin_ = 0;
    }
    bytes_.append(bytes);
}

void InputBuffer::shrink() {
    // Not shrink_to_fit(), which is only a request.
    std::string(view()).swap(bytes_);
    begin_ = 0;
}

}  // namespace latchd::resp
