// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/store/redis/options.hpp>

#include <cstdint>

namespace latchd::store::redis {

// Up or down, from the probes of one connection: `fall` failed ones in a row make it down, `rise`
// good ones up again. On a new connection one good probe suffices.
class Pulse {
public:
    enum class Change : std::uint8_t { none, up, down };

    explicit Pulse(const CheckOptions& options) : options_(options) {}

    void reset() noexcept {
        is_up_ = false;
        is_new_ = true;
        run_ = 0;
    }
    Change good() noexcept {
        ++good_;
        if (is_up_) {
            run_ = 0;
            return Change::none;
        }
        if (!is_new_ && ++run_ < options_.rise) return Change::none;
        is_new_ = false;
        is_up_ = true;
        run_ = 0;
        return Change::up;
    }
    Change failed() noexcept {
        ++failed_;
        if (!is_up_) {
            run_ = 0;
            return Change::none;
        }
        if (++run_ < options_.fall) return Change::none;
        is_up_ = false;
        run_ = 0;
        return Change::down;
    }

    [[nodiscard]] bool is_up() const noexcept { return is_up_; }
    [[nodiscard]] Duration interval() const noexcept {
        return is_up_ && run_ == 0 ? options_.inter : options_.fastinter;
    }
    [[nodiscard]] std::uint64_t good_count() const noexcept { return good_; }
    [[nodiscard]] std::uint64_t failed_count() const noexcept { return failed_; }

private:
    CheckOptions options_;
    bool is_up_ = false;
    bool is_new_ = true;
    std::uint32_t run_ = 0;  // failed ones in a row while up, good ones while down
    std::uint64_t good_ = 0;
    std::uint64_t failed_ = 0;
};

// Jittered: half to whole of a time that doubles from min to max.
class Backoff {
public:
    Backoff(Duration min, Duration max) : min_(min), max_(max), next_(min) {}

    void reset() noexcept { next_ = min_; }
    // `drawn`: a random number.
    [[nodiscard]] Duration next(std::uint64_t drawn) noexcept {
        const Duration whole = next_;
        next_ = next_ * 2 > max_ ? max_ : next_ * 2;
        const auto half = static_cast<std::uint64_t>(whole.count()) / 2;
        return Duration(static_cast<Duration::rep>(half + drawn % (half + 1)));
    }

private:
    Duration min_;
    Duration max_;
    Duration next_;
};

}  // namespace latchd::store::redis
