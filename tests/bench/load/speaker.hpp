// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reply.hpp"
#include "settings.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace latchd::load {

// One cycle that is under way: what was asked for, and what came.
struct Cycle {
    std::size_t lock = 0;
    std::string token;
    std::uint64_t fence = 0;  // 0: the peer has none
    std::int64_t ttl_ms = 0;  // as it was told
};

enum class Answer : std::uint8_t {
    granted,
    refused,  // held by another
    away,     // the store is: an error that a patient client asks again after
    failed,
};

// How one kind of peer is asked for a lock.
class Speaker {
public:
    virtual ~Speaker() = default;

    // What has to be sent once before, and how many replies it gets.
    struct Preparation {
        std::string bytes;
        std::size_t replies = 0;
    };
    virtual Preparation prepare() { return {}; }

    virtual void append_lock(std::string& out, Cycle& cycle) = 0;
    virtual void append_unlock(std::string& out, const Cycle& cycle) = 0;
    virtual Answer read_lock(const Reply& reply, Cycle& cycle) = 0;
    [[nodiscard]] virtual bool is_released(const Reply& reply) const = 0;
};

[[nodiscard]] std::unique_ptr<Speaker> make_speaker(const Settings& settings);
[[nodiscard]] std::unique_ptr<Speaker> make_scripts_speaker(const Settings& settings);

// The business key of a lock, as long as such keys are.
[[nodiscard]] std::string lock_id(std::size_t lock);
// 22 letters that weren't there before, as random tokens have.
[[nodiscard]] std::string fresh_name(char kind);

inline constexpr std::string_view resource = "order:settle";

}  // namespace latchd::load
