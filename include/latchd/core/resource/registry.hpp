// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>
#include <latchd/base/time.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace latchd::core {

enum class Degrade : std::uint8_t { none, mysql, local };  // the last tier it may be granted on
enum class Safety : std::uint8_t { available, strict };

// The settings of one resource. Absent: the node's default.
struct ResourceSettings {
    std::optional<Duration> ttl;
    std::optional<std::uint32_t> renew_max;  // MAXRENEW; 0: no limit
    std::optional<Degrade> degrade;
    Safety safety = Safety::available;
    std::optional<std::uint32_t> queue_max;       // QUEUE: waiters per lock and node
    std::optional<std::uint64_t> locks_expected;  // EXPECTLOCKS: more live locks than that warn
    std::optional<Duration> hold_max;             // MAXHOLD of a LOCK that names none
    std::optional<Duration> expect;               // EXPECT of a LOCK that names none
    std::optional<Duration> delay;                // DELAY of a LOCK that names none

    friend bool operator==(const ResourceSettings&, const ResourceSettings&) = default;
};

inline constexpr std::uint32_t queue_max_default = 1'000;
inline constexpr std::uint64_t locks_expected_default = 10'000;

// The registered resources of a node.
class Registry {
public:
    bool require_registered = false;
    Duration ttl_default = std::chrono::seconds(30);

    // nullptr: not registered, the defaults apply (or it is refused, see require_registered).
    [[nodiscard]] const ResourceSettings* find(std::string_view name) const noexcept {
        const auto it = resources_.find(name);
        return it == resources_.end() ? nullptr : &it->second;
    }
    void set(const ResourceName& name, ResourceSettings settings) {
        resources_.insert_or_assign(name.str(), std::move(settings));
    }
    bool erase(std::string_view name) {
        const auto it = resources_.find(name);
        if (it == resources_.end()) return false;
        resources_.erase(it);
        return true;
    }
    [[nodiscard]] const std::map<std::string, ResourceSettings, std::less<>>& all() const noexcept {
        return resources_;
    }

private:
    std::map<std::string, ResourceSettings, std::less<>> resources_;
};

}  // namespace latchd::core
