// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "context.hpp"
#include "fleet_commands.hpp"
#include "map_writer.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What the safety of a fleet rests on: how long leases and delays may be, and its stores.
namespace latchd::command {
namespace {

namespace authority = core::authority;

constexpr std::uint64_t day_ms = 24ull * 3600 * 1000;
constexpr std::uint64_t strict_ttl_ms_min = 2'000;
constexpr std::string_view milliseconds = "milliseconds";
constexpr std::string_view ms_value = "a whole number of milliseconds";
constexpr std::array set_options = {Option{"TTLMAX", ms_value},
                                    Option{"DELAYMAX", ms_value},
                                    Option{"STORES", "names, with commas between them"}};

std::uint64_t ms_of(Duration duration) { return static_cast<std::uint64_t>(to_ms(duration)); }

std::string leases_text(const authority::Basis& basis) {
    return "ttl_max " + std::to_string(to_ms(basis.ttl_max)) + " ms, delay_max " +
           std::to_string(to_ms(basis.delay_max)) + " ms";
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

Complaint too_small(std::string_view option,
                    const std::string& resource,
                    std::string_view setting,
                    Duration needed,
                    Duration given) {
    return "ERR " + std::string(option) + " " + std::to_string(to_ms(given)) + ": resource " +
           resource + " has " + std::string(setting) + " " + std::to_string(to_ms(needed)) +
           "; RESOURCE SET it to less first";
}

// A registered resource that asks for more than would be granted.
Complaint check_resources(const core::Registry& registry, const authority::BasisWanted& wish) {
    for (const auto& [name, settings] : registry.all()) {
        const bool is_strict =
            settings.safety == core::Safety::strict ||
            (settings.pending && settings.pending->safety == core::Safety::strict);
        if (wish.ttl_max && settings.ttl > wish.ttl_max) {
            return too_small("TTLMAX", name, "TTL", *settings.ttl, *wish.ttl_max);
        }
        if (wish.ttl_max && is_strict && ms_of(*wish.ttl_max) < strict_ttl_ms_min) {
            return "ERR TTLMAX " + std::to_string(to_ms(*wish.ttl_max)) + ": resource " + name +
                   " is strict, and leases of those are of at least " +
                   std::to_string(strict_ttl_ms_min) + " milliseconds";
        }
        if (wish.delay_max && settings.delay > wish.delay_max) {
            return too_small("DELAYMAX", name, "DELAY", *settings.delay, *wish.delay_max);
        }
    }
    return std::nullopt;
}

// What the list may not be in itself; the fleet knows the rest.
Complaint read_stores(std::string_view value, std::optional<std::vector<std::string>>& stores) {
    stores.emplace();
    for (std::string_view rest = value;;) {
        const std::size_t comma = rest.find(',');
        const std::string name(rest.substr(0, comma));
        if (name.empty()) {
            return "ERR STORES " + quoted(value) + ": names are needed, with commas between them";
        }
        if (std::find(stores->begin(), stores->end(), name) != stores->end()) {
            return "ERR STORES " + quoted(value) + ": " + quoted(name) + " is there twice";
        }
        stores->push_back(name);
        if (comma == std::string_view::npos) return std::nullopt;
        rest.remove_prefix(comma + 1);
    }
}

Complaint read_wish(Context& context, authority::BasisWanted& wish) {
    const std::uint64_t ttl_min = ms_of(context.options().ttl_min);
    const auto read = [&](std::string_view name, std::string_view value) {
        if (name == "TTLMAX")
            return read_ms(name, value, {ttl_min, day_ms, milliseconds}, wish.ttl_max);
        if (name == "STORES") return read_stores(value, wish.stores);
        return read_ms(name, value, {1, day_ms, milliseconds}, wish.delay_max);
    };
    if (Complaint complaint =
            read_options("LATCHD CLUSTER SET", context.args.subspan(3), set_options, read)) {
        return complaint;
    }
    if (!wish.ttl_max && !wish.delay_max && !wish.stores) {
        return "ERR LATCHD CLUSTER SET: TTLMAX, DELAYMAX or STORES is needed";
    }
    return check_resources(context.host().registry(), wish);
}

void show(Context& context, const authority::FleetStatus& status) {
    const authority::FleetStatus::OfBasis& of = status.basis;
    const authority::Basis basis =
        status.record ? status.record->basis
                      : authority::Basis{of.limits.ttl_max, of.limits.delay_max, {}};
    MapWriter map(context.reply(), 14);
    map.text("cluster", context.options().cluster);
    map.text("uuid", status.record ? or_dash(status.record->uuid.view()) : "-");
    map.number("epoch", status.record ? status.record->epoch : 0);
    map.number("ttl_max_ms", ms_of(basis.ttl_max));
    map.number("delay_max_ms", ms_of(basis.delay_max));
    map.text("stores", or_dash(joined(basis.stores)));
    map.number("granted_ttl_max_ms", ms_of(of.limits.ttl_max));
    map.number("granted_delay_max_ms", ms_of(of.limits.delay_max));
    map.text("pending", or_dash(pending_text(of)));
    map.number("pending_epoch", of.pending ? of.pending->from : 0);
    map.number("promised_in_ms", of.promised_in ? ms_of(*of.promised_in) : 0);
    map.text("differs", or_dash(basis_differs(status)));
    map.text("missing", or_dash(joined(of.missing)));
    map.text("unlisted", or_dash(joined(of.unlisted)));
}

}  // namespace

std::string pending_text(const authority::FleetStatus::OfBasis& of) {
    if (!of.pending) return {};
    std::string text = leases_text(of.pending->next);
    if (of.pending->next.stores != of.pending->now.stores) {
        text += ", stores " + joined(of.pending->next.stores);
    }
    text += ", from epoch " + std::to_string(of.pending->from);
    if (of.promised_in) {
        text += ", promised in " + std::to_string(to_ms(*of.promised_in)) + " ms";
    }
    return text;
}

std::string basis_differs(const authority::FleetStatus& status) {
    if (!status.record) return {};
    const authority::Basis& agreed = status.basis.agreed;
    const authority::Basis& own = status.basis.configured;
    std::string text;
    const auto add = [&](std::string_view what, const std::string& here, const std::string& there) {
        if (here == there) return;
        text += (text.empty() ? "" : ", ") + std::string(what) + " (here " + here + ", agreed " +
                there + ")";
    };
    add("ttl_max",
        std::to_string(to_ms(own.ttl_max)) + " ms",
        std::to_string(to_ms(agreed.ttl_max)) + " ms");
    add("delay_max",
        std::to_string(to_ms(own.delay_max)) + " ms",
        std::to_string(to_ms(agreed.delay_max)) + " ms");
    add("stores", joined(own.stores), joined(agreed.stores));
    return text;
}

// LATCHD CLUSTER [SET …]
void run_cluster(Context& context) {
    const auto fleet = context.host().fleet();
    if (!fleet) {
        return context.error(
            "ERR the locks of this node are in one store that is its own: locks.ttl_max and "
            "locks.delay_max of its configuration say how long leases and delays may be");
    }
    if (context.args.size() == 2) return show(context, fleet->status);
    if (!equals_ignoring_case(context.args[2], "SET")) {
        return context.error("ERR LATCHD CLUSTER " + quoted(context.args[2]) +
                             ": SET is needed, or nothing");
    }
    authority::BasisWanted wish;
    if (const Complaint complaint = read_wish(context, wish)) return context.error(*complaint);
    std::string text = "LATCHD CLUSTER SET";
    if (wish.ttl_max) text += " TTLMAX " + std::to_string(to_ms(*wish.ttl_max));
    if (wish.delay_max) text += " DELAYMAX " + std::to_string(to_ms(*wish.delay_max));
    if (wish.stores) text += " STORES " + joined(*wish.stores);
    context.host().note(
        {core::Notice::Level::info, "audit.cluster", text + " by " + context.client.peer});
    context.ask(wish);
}

}  // namespace latchd::command
