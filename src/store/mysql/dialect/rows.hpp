// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace latchd::store::mysql {

// What one statement answered: its rows as the text protocol has them. A statement without rows
// (INSERT, COMMIT) has no columns.
class Rows {
public:
    explicit Rows(std::size_t columns = 0) : columns_(columns) {}

    void add(const char* bytes, std::size_t length) {
        cells_.push_back({bytes_.size(), length});
        bytes_.append(bytes, length);
    }
    void add_null() { cells_.push_back({null, 0}); }

    [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
    [[nodiscard]] std::size_t size() const noexcept {
        return columns_ == 0 ? 0 : cells_.size() / columns_;
    }
    [[nodiscard]] bool empty() const noexcept { return cells_.empty(); }

    // None: NULL, or no such cell. Valid for as long as the Rows are.
    [[nodiscard]] std::optional<std::string_view> at(std::size_t row, std::size_t column) const {
        const std::size_t index = row * columns_ + column;
        if (column >= columns_ || index >= cells_.size()) return std::nullopt;
        const Cell& cell = cells_[index];
        if (cell.offset == null) return std::nullopt;
        return std::string_view(bytes_).substr(cell.offset, cell.length);
    }
    // NULL is empty.
    [[nodiscard]] std::string_view text(std::size_t row, std::size_t column) const {
        return at(row, column).value_or(std::string_view());
    }
    // None: NULL, or not a whole number of this type.
    template <class Number = std::int64_t>
    [[nodiscard]] std::optional<Number> number(std::size_t row, std::size_t column) const {
        const auto cell = at(row, column);
        if (!cell) return std::nullopt;
        Number value{};
        const char* const end = cell->data() + cell->size();
        const auto result = std::from_chars(cell->data(), end, value);
        if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
        return value;
    }

private:
    static constexpr std::size_t null = std::numeric_limits<std::size_t>::max();
    struct Cell {
        std::size_t offset;
        std::size_t length;
    };
    std::size_t columns_;
    std::string bytes_;
    std::vector<Cell> cells_;
};

}  // namespace latchd::store::mysql
