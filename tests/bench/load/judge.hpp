// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "histogram.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace latchd::load {

// Sees what all clients of this program were told, and judges: no lock is held twice, and its
// fences rise. A client holds from when it read its grant until it sends its UNLOCK, or until what
// it was told as the lease is over: so every overlap that is seen is one. Also measures what only
// is seen from all clients together: hand-overs and who is served when.
class Judge {
public:
    Judge(std::size_t locks, std::size_t clients, std::size_t servers);

    struct Grant {
        std::size_t client = 0;
        std::size_t server = 0;
        std::size_t lock = 0;
        std::uint64_t fence = 0;  // 0: the peer has none
        std::int64_t now_ns = 0;
        std::int64_t lease_end_ns = 0;
    };

    void asked(std::size_t client, std::size_t lock);
    void granted(const Grant& grant);
    void releasing(std::size_t client, std::size_t lock, std::int64_t now_ns);

    // Forgets the figures, not who holds what.
    void begin_to_measure();

    [[nodiscard]] std::uint64_t doubles() const noexcept { return doubles_; }
    [[nodiscard]] std::uint64_t fences_back() const noexcept { return fences_back_; }
    [[nodiscard]] const std::string& first_wrong() const noexcept { return first_wrong_; }

    [[nodiscard]] std::uint64_t grants() const noexcept { return grants_; }
    // From an UNLOCK that was sent to the next grant of the same lock that was read.
    [[nodiscard]] const Histogram& hand_over() const noexcept { return hand_over_; }
    // The most grants to others between a client's LOCK and its grant.
    [[nodiscard]] std::uint64_t passed_max() const noexcept { return passed_max_; }
    [[nodiscard]] std::uint64_t client_grants_min() const noexcept;
    [[nodiscard]] std::uint64_t client_grants_max() const noexcept;
    // The longest run of grants, of all locks, that other servers' clients had.
    [[nodiscard]] std::uint64_t server_wait_max() const noexcept { return server_wait_max_; }

private:
    static constexpr std::uint32_t nobody = ~std::uint32_t{0};
    struct Lock {
        std::uint64_t fence = 0;
        std::int64_t lease_end_ns = 0;
        std::int64_t released_ns = 0;  // 0: no UNLOCK since the last grant
        std::uint64_t grants = 0;
        std::uint32_t holder = nobody;
    };

    void wrong(std::uint64_t& count, const std::string& what);

    std::vector<Lock> locks_;
    std::vector<std::uint64_t> asked_at_;       // by client: grants of its lock when it asked
    std::vector<std::uint64_t> client_grants_;  // by client
    std::vector<std::uint64_t> server_last_;    // by server: grants_ at its last one
    Histogram hand_over_;
    std::uint64_t grants_ = 0;
    std::uint64_t doubles_ = 0;
    std::uint64_t fences_back_ = 0;
    std::uint64_t passed_max_ = 0;
    std::uint64_t server_wait_max_ = 0;
    std::string first_wrong_;
};

}  // namespace latchd::load
