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
#include <utility>
#include <vector>

namespace latchd::core {

enum class Degrade : std::uint8_t { none, mysql, local };  // the last tier it may be granted on
enum class Safety : std::uint8_t { available, strict };

// What SAFETY and DEGRADE of a resource become with an epoch: every node has to change them at the
// same moment (design section 5, the record).
struct PendingSettings {
    Safety safety = Safety::available;
    std::optional<Degrade> degrade;
    Epoch from = 0;  // the first epoch that they hold in

    friend bool operator==(const PendingSettings&, const PendingSettings&) = default;
};

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
    // In a fleet: SAFETY and DEGRADE that don't hold yet; or that hold, but are not promised yet.
    std::optional<PendingSettings> pending;
    std::optional<Duration> busy_cache;  // BUSYCACHE: a busy answer is given again
    // In a fleet: nobody used it for long. It is granted again once it is set again.
    bool retired = false;

    friend bool operator==(const ResourceSettings&, const ResourceSettings&) = default;
};

// `wished` as a fleet is to register it whose record shows `epoch`: SAFETY and DEGRADE stay as they
// are in `held` (nullptr: it is not registered) until the next epoch.
[[nodiscard]] inline ResourceSettings with_next_epoch(const ResourceSettings* held,
                                                      ResourceSettings wished,
                                                      Epoch epoch) {
    static const ResourceSettings none;
    const ResourceSettings& now = held != nullptr ? *held : none;
    wished.pending.reset();
    if (wished.safety == now.safety && wished.degrade == now.degrade) return wished;
    wished.pending = PendingSettings{wished.safety, wished.degrade, epoch + 1};
    wished.safety = now.safety;
    wished.degrade = now.degrade;
    return wished;
}

inline constexpr std::uint32_t queue_max_default = 1'000;
inline constexpr std::uint64_t locks_expected_default = 10'000;

// The registered resources of a node.
class Registry {
public:
    bool require_registered = false;
    Duration ttl_default = std::chrono::seconds(30);

    struct Registered : ResourceSettings {
        bool is_used = false;  // since take_used()
    };

    // nullptr: not registered, the defaults apply (or it is refused, see require_registered).
    [[nodiscard]] const ResourceSettings* find(std::string_view name) const noexcept {
        const auto it = resources_.find(name);
        return it == resources_.end() ? nullptr : &it->second;
    }
    // As find(); unless it is retired, the resource is in use.
    [[nodiscard]] const ResourceSettings* use(std::string_view name) noexcept {
        const auto it = resources_.find(name);
        if (it == resources_.end()) return nullptr;
        it->second.is_used = !it->second.retired || it->second.is_used;
        return &it->second;
    }
    // Those that were used since the last call, in the order of their names.
    [[nodiscard]] std::vector<ResourceName> take_used() {
        std::vector<ResourceName> used;
        for (auto& [name, registered] : resources_) {
            if (std::exchange(registered.is_used, false)) used.emplace_back(name);
        }
        return used;
    }
    void set(const ResourceName& name, ResourceSettings settings) {
        static_cast<ResourceSettings&>(resources_[name.str()]) = std::move(settings);
    }
    bool erase(std::string_view name) {
        const auto it = resources_.find(name);
        if (it == resources_.end()) return false;
        resources_.erase(it);
        return true;
    }
    [[nodiscard]] const std::map<std::string, Registered, std::less<>>& all() const noexcept {
        return resources_;
    }

private:
    std::map<std::string, Registered, std::less<>> resources_;
};

}  // namespace latchd::core
