// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace latchd::resp {

// Bytes that have arrived and are not used up yet, in one contiguous run. Used-up bytes stay where
// they are until the next append, so views into them live that long. Moving the rest to the front
// is paid for by the bytes used up before: linear over any pipeline.
class InputBuffer {
public:
    void append(std::string_view bytes);
    void consume(std::size_t count) noexcept { begin_ += count; }

    [[nodiscard]] std::string_view view() const noexcept {
        return {bytes_.data() + begin_, bytes_.size() - begin_};
    }
    // The same bytes, to be rewritten in place.
    [[nodiscard]] char* data() noexcept { return bytes_.data() + begin_; }
    [[nodiscard]] std::size_t size() const noexcept { return bytes_.size() - begin_; }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] std::size_t capacity() const noexcept { return bytes_.capacity(); }

    // Gives memory back that the unused bytes do not need. Ends all views.
    void shrink();

private:
    std::string bytes_;
    std::size_t begin_ = 0;
};

}  // namespace latchd::resp
