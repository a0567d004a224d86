// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "fleet_commands.hpp"

#include "context.hpp"
#include "map_writer.hpp"
#include "text.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

// The fleet: who belongs to it, and where its locks are to be.
namespace latchd::command {
namespace {

namespace authority = core::authority;
using Mode = authority::FleetStatus::Mode;

std::string_view word_of(authority::TierSight::State state) noexcept {
    switch (state) {
        case authority::TierSight::State::healthy:
            return "healthy";
        case authority::TierSight::State::failing:
            return "failing";
        case authority::TierSight::State::unknown:
            break;
    }
    return "unknown";
}

void no_fleet(Context& context) {
    context.error(
        "ERR the locks of this node are in one store that is its own: there is no other "
        "to move them to");
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

std::string reason_of(Context& context, std::string_view command) {
    context.host().note({core::Notice::Level::info,
                         "audit.failover",
                         "LATCHD " + std::string(command) + " by " + context.client.peer});
    return std::string(command) + " by " + context.client.peer;
}

// What is not as it should be, a sentence each.
class Findings {
public:
    explicit Findings(Context& context) : context_(context) {}

    std::vector<std::string> take() {
        const NodeStatus status = context_.host().status();
        if (status.state != "ok") add(status.state + ": " + status.reason);
        if (!status.warnings.empty()) add(status.warnings);  // those of stores follow
        for (const StoreStatus& store : context_.host().stores()) look_at(store);
        if (const auto fleet = context_.host().fleet()) look_at(*fleet);
        return std::move(found_);
    }

private:
    void add(std::string text) {
        if (said_.insert(text).second) found_.push_back(std::move(text));
    }

    void look_at(const StoreStatus& store) {
        if (store.state == "down") add("store " + store.name + " is down: " + store.last_error);
        if (!store.warning.empty()) add("store " + store.name + ": " + store.warning);
    }

    void look_at(const FleetView& fleet) {
        const authority::FleetStatus& status = fleet.status;
        if (!status.arbiter_reached) {
            add("the arbiter " + fleet.arbiter.name +
                " is not reached: " + std::string(or_dash(status.arbiter_error)) +
                "; without it no store can be changed, and strict resources are not granted");
        }
        for (const authority::TierSight& sight : status.sights) {
            if (sight.state == authority::TierSight::State::failing) {
                add("this node sees store " + sight.store + " failing: " + sight.reason);
            }
            if (sight.is_other) add("behind store " + sight.store + " is another process");
        }
        if (!fleet.differing.empty()) {
            add("the configuration differs from the fleet's registry about " +
                joined(fleet.differing) + "; the registry counts");
        }
        if (const std::string other = basis_differs(status); !other.empty()) {
            add("the configuration differs from the fleet's record about " + other +
                "; the record counts (LATCHD CLUSTER SET changes it)");
        }
        for (const std::string& store : status.basis.missing) {
            add("store " + store +
                " of the fleet's list is not in this node's configuration: while the locks are "
                "there it can't serve, and they don't return there");
        }
        for (const std::string& store : status.basis.unlisted) {
            add("store " + store +
                " is not in the fleet's list: it is checked, and the locks never go there "
                "(LATCHD CLUSTER SET STORES adds it)");
        }
        if (!context_.options().strict_refusal.empty()) {
            add("no resource can be strict: " + context_.options().strict_refusal);
        }
        look_at_nodes(fleet);
    }

    void look_at_nodes(const FleetView& fleet) {
        std::set<std::string> configurations;
        std::set<std::string> versions;
        std::map<std::string, std::set<std::string>> servers;  // of each store
        for (const authority::NodeRow& row : fleet.status.nodes) {
            if (is_lost(fleet.status, row.incarnation)) {
                add("node " + row.name.str() + " (" + incarnation_text(row.incarnation) +
                    ") is lost: its heartbeat stands still");
                continue;
            }
            configurations.insert(row.config_hash);
            versions.insert(row.version);
            for (const authority::TierSight& sight : row.sights) {
                if (sight.state != authority::TierSight::State::healthy) continue;
                servers[sight.store].insert(sight.run_id);
            }
        }
        for (const auto& [store, seen] : servers) {
            if (seen.size() == 1) continue;
            add("not all nodes reach the same server as store " + store +
                ": locks don't return to it");
        }
        if (configurations.size() > 1) {
            add("the nodes' configurations differ in what safety rests on (stores, ttl_max, "
                "resources): LATCHD NODES shows their hashes");
        }
        if (versions.size() > 1) add("the nodes run different versions of latchd");
    }

    Context& context_;
    std::set<std::string> said_;
    std::vector<std::string> found_;
};

}  // namespace

std::string_view word_of(Mode mode) noexcept {
    switch (mode) {
        case Mode::starting:
            return "starting";
        case Mode::serving:
            return "serving";
        case Mode::settling:
            return "settling";
        case Mode::unreachable:
            return "unreachable";
        case Mode::local:
            break;
    }
    return "local";
}

std::string sights_text(const std::vector<authority::TierSight>& sights) {
    std::string text;
    for (const authority::TierSight& sight : sights) {
        if (!text.empty()) text += ' ';
        text += sight.store;
        text += '=';
        text += word_of(sight.state);
        if (sight.is_other) text += ",other";
        if (!sight.reason.empty() && sight.state == authority::TierSight::State::failing) {
            text += "(" + sight.reason + ")";
        }
    }
    return text.empty() ? "-" : text;
}

std::string incarnation_text(authority::Incarnation incarnation) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text(16, '0');
    for (std::size_t i = text.size(); i > 0; --i, incarnation >>= 4) {
        text[i - 1] = digits[incarnation & 15u];
    }
    return text;
}

bool is_lost(const authority::FleetStatus& status, authority::Incarnation incarnation) noexcept {
    return std::find(status.lost.begin(), status.lost.end(), incarnation) != status.lost.end();
}

namespace {

// What the fleet waits for from this process.
std::string pending_of(const authority::FleetStatus& status, const authority::NodeRow& row) {
    if (!status.record) return {};
    const authority::Placement& placement = status.record->placement;
    const std::string epoch = std::to_string(placement.since_epoch);
    if (row.acked < placement.since_epoch) return "hand-over for epoch " + epoch;
    if (placement.state != authority::RecordState::open) return {};
    const auto& missing = placement.missing;
    const bool was_missing = std::any_of(missing.begin(), missing.end(), [&](auto each) {
        return each == row.incarnation || each == row.former;
    });
    if (was_missing && row.asserted < placement.since_epoch) {
        return "to put back what it kept, in epoch " + epoch;
    }
    return row.seen_open < placement.since_epoch ? "vote in epoch " + epoch : std::string();
}

}  // namespace

void run_nodes(Context& context) {
    const auto fleet = context.host().fleet();
    if (!fleet) return context.reply().array(0);
    context.reply().array(fleet->status.nodes.size());
    for (const authority::NodeRow& row : fleet->status.nodes) {
        MapWriter map(context.reply(), 14);
        map.text("name", row.name.view());
        map.text("incarnation", incarnation_text(row.incarnation));
        map.number("self", row.incarnation == fleet->incarnation ? 1 : 0);
        map.text("state", is_lost(fleet->status, row.incarnation) ? "lost" : "alive");
        map.number("acked", row.acked);
        map.number("beat", row.beat);
        map.text("sees", sights_text(row.sights));
        map.text("pending", or_dash(pending_of(fleet->status, row)));
        map.number("strict", row.strict.size());
        map.number("strict_all", row.strict_all ? 1 : 0);
        map.number("ttl_high_ms", static_cast<std::uint64_t>(to_ms(row.ttl_high)));
        map.number("started", static_cast<std::uint64_t>(row.started_ms / 1000));
        map.text("version", or_dash(row.version));
        map.text("config_hash", or_dash(row.config_hash));
    }
}

// LATCHD FAILOVER [store]
void run_failover(Context& context) {
    if (context.args.size() > 3) {
        return context.error("ERR wrong number of arguments for 'latchd|failover' command");
    }
    if (!context.host().fleet()) return no_fleet(context);
    const std::string store(context.args.size() == 3 ? context.args[2] : std::string_view());
    const std::vector<StoreStatus> stores = context.host().stores();
    const bool is_known = std::any_of(stores.begin(), stores.end(), [&](const StoreStatus& one) {
        return one.name == store && one.type != "local";
    });
    if (!store.empty() && !is_known) {
        return context.error("ERR no store that the fleet shares has the name " + quoted(store) +
                             "; LATCHD STORES lists them");
    }
    context.ask(FleetMove{store, false, reason_of(context, "FAILOVER")});
}

void run_failback(Context& context) {
    if (!context.host().fleet()) return no_fleet(context);
    context.ask(FleetMove{{}, true, reason_of(context, "FAILBACK")});
}

void run_doctor(Context& context) {
    std::vector<std::string> found = Findings(context).take();
    if (found.empty()) found.emplace_back("nothing to complain about");
    context.reply().array(found.size());
    for (const std::string& line : found) context.reply().bulk(line);
}

}  // namespace latchd::command
