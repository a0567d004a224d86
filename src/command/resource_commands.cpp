// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "resource_commands.hpp"

#include "arguments.hpp"
#include "context.hpp"
#include "lock_options.hpp"
#include "text.hpp"

#include <latchd/base/glob.hpp>

#include <array>
#include <string>

// RESOURCE: the settings of classes of locks, at run time. A fleet shares them, through its
// arbiter; a node on its own keeps them in memory only, and what is to outlive a restart belongs in
// the configuration.
namespace latchd::command {
namespace {

constexpr std::string_view ms_value = "a whole number of milliseconds";
constexpr std::string_view number_value = "a whole number";
constexpr std::string_view degrade_words = "none, mysql, local or default";
// Of one node alone; and of a fleet, whose nodes read all of them again when one has changed.
constexpr std::uint64_t resources_max = 100'000;
constexpr std::uint64_t fleet_resources_max = 10'000;
constexpr std::uint64_t busy_cache_ms_max = 1'000;

constexpr std::array set_options = {
    Option{"TTL", ms_value},
    Option{"MAXRENEW", number_value},
    Option{"DEGRADE", degrade_words},
    Option{"SAFETY", "strict or available"},
    Option{"QUEUE", number_value},
    Option{"EXPECTLOCKS", number_value},
    Option{"MAXHOLD", ms_value},
    Option{"EXPECT", ms_value},
    Option{"DELAY", ms_value},
    Option{"BUSYCACHE", ms_value},
};

constexpr std::array<std::string_view, 3> degrade_names = {"none", "mysql", "local"};

Complaint read_degrade(std::string_view input, std::optional<core::Degrade>& degrade) {
    for (std::size_t i = 0; i < degrade_names.size(); ++i) {
        if (equals_ignoring_case(input, degrade_names[i])) {
            degrade = static_cast<core::Degrade>(i);
            return std::nullopt;
        }
    }
    if (equals_ignoring_case(input, "default")) {
        degrade.reset();
        return std::nullopt;
    }
    return "ERR DEGRADE " + quoted(input) + ": " + std::string(degrade_words) + " is needed";
}

Complaint read_safety(const Options& options, std::string_view input, core::Safety& safety) {
    if (equals_ignoring_case(input, "available")) {
        safety = core::Safety::available;
        return std::nullopt;
    }
    if (equals_ignoring_case(input, "strict")) {
        if (!options.strict_refusal.empty()) return "ERR " + options.strict_refusal;
        safety = core::Safety::strict;
        return std::nullopt;
    }
    return "ERR SAFETY " + quoted(input) + ": strict or available is needed";
}

template <class Number>
Complaint read_setting(std::string_view name,
                       std::string_view input,
                       const Range& range,
                       std::optional<Number>& value) {
    std::uint64_t number = 0;
    if (Complaint complaint = read_number(name, input, range, number)) return complaint;
    value = static_cast<Number>(number);
    return std::nullopt;
}

// 0 takes it back: as if it had never been set.
Complaint read_or_none(std::string_view name,
                       std::string_view input,
                       const Range& range,
                       std::optional<Duration>& value) {
    if (input != "0") return read_ms(name, input, range, value);
    value.reset();
    return std::nullopt;
}

Complaint apply_setting(const Limits& limits,
                        const Options& options,
                        std::string_view name,
                        std::string_view value,
                        core::ResourceSettings& into) {
    const auto ttl_min = static_cast<std::uint64_t>(to_ms(limits.ttl_min));
    if (name == "TTL") {
        const auto ttl_max = static_cast<std::uint64_t>(to_ms(limits.ttl_max));
        return read_or_none(name, value, {ttl_min, ttl_max, "milliseconds"}, into.ttl);
    }
    if (name == "MAXRENEW") return read_setting(name, value, {0, 0xffffffff}, into.renew_max);
    if (name == "DEGRADE") return read_degrade(value, into.degrade);
    if (name == "SAFETY") return read_safety(options, value, into.safety);
    if (name == "QUEUE") return read_setting(name, value, {1, 1'000'000}, into.queue_max);
    if (name == "EXPECTLOCKS") {
        return read_setting(name, value, {1, 1'000'000'000}, into.locks_expected);
    }
    if (name == "MAXHOLD") {
        return read_or_none(name, value, {ttl_min, hold_ms_max, "milliseconds"}, into.hold_max);
    }
    if (name == "EXPECT") {
        return read_or_none(name, value, {1, hold_ms_max, "milliseconds"}, into.expect);
    }
    if (name == "BUSYCACHE") {
        return read_ms(name, value, {0, busy_cache_ms_max, "milliseconds"}, into.busy_cache);
    }
    const auto delay_max = static_cast<std::uint64_t>(to_ms(limits.delay_max));
    return read_or_none(name, value, {1, delay_max, "milliseconds"}, into.delay);
}

void note(Context& context, std::string text) {
    context.host().note({core::Notice::Level::info,
                         "audit.resource",
                         std::move(text) + " by " + context.client.peer});
}

// RESOURCE SET name [options]: registers it, or changes what is named and nothing else.
void run_set(Context& context) {
    const std::string_view name = context.args[2];
    if (Complaint complaint = check_resource(name)) return context.error(*complaint);
    core::Registry& registry = context.host().registry();
    const core::ResourceSettings* known = registry.find(name);
    const std::uint64_t most = context.host().fleet() ? fleet_resources_max : resources_max;
    if (known == nullptr && registry.all().size() >= most) {
        return context.error("LIMIT " + std::to_string(most) +
                             " resources are registered; RESOURCE DEL one first");
    }
    core::ResourceSettings settings = known != nullptr ? *known : core::ResourceSettings{};
    settings.retired = false;
    if (settings.pending) {  // what it names goes on from what was wished last
        settings.safety = settings.pending->safety;
        settings.degrade = settings.pending->degrade;
    }
    const Limits limits = context.limits();
    const Complaint complaint =
        read_options("RESOURCE SET",
                     context.args.subspan(3),
                     set_options,
                     [&](std::string_view option, std::string_view value) {
                         return apply_setting(limits, context.options(), option, value, settings);
                     });
    if (complaint) return context.error(*complaint);
    if (settings.safety == core::Safety::strict && settings.degrade == core::Degrade::local) {
        return context.error(
            "ERR a strict resource is never locked on one host alone: DEGRADE "
            "mysql or none is needed");
    }
    if (context.host().fleet()) {
        note(context, "resource " + std::string(name) + " is to be set");
        return context.ask(core::authority::WriteResource{ResourceName(name), std::move(settings)});
    }
    registry.set(ResourceName(name), settings);
    context.host().registry_changed(ResourceName(name), settings);
    note(context, "resource " + std::string(name) + " was set");
    context.ok();
}

void run_get(Context& context) {
    if (Complaint complaint = check_resource(context.args[2])) return context.error(*complaint);
    const core::Registry& registry = context.host().registry();
    const core::ResourceSettings* settings = registry.find(context.args[2]);
    if (settings == nullptr) return context.reply().null();
    write_resource(
        context.reply(), registry, context.args[2], *settings, context.host().fleet().has_value());
}

// RESOURCE LIST [pattern]
void run_list(Context& context) {
    if (context.args.size() > 3) {
        return context.error("ERR wrong number of arguments for 'resource|list' command");
    }
    std::vector<std::string_view> names;
    for (const auto& [name, settings] : context.host().registry().all()) {
        if (context.args.size() < 3 || glob_matches(context.args[2], name)) names.push_back(name);
    }
    resp::Writer reply = context.reply();
    reply.array(names.size());
    for (const std::string_view name : names) reply.bulk(name);
}

void run_del(Context& context) {
    if (Complaint complaint = check_resource(context.args[2])) return context.error(*complaint);
    const core::ResourceSettings* const known = context.host().registry().find(context.args[2]);
    if (context.host().fleet() && known != nullptr) {
        const bool is_strict = known->safety == core::Safety::strict ||
                               (known->pending && known->pending->safety == core::Safety::strict);
        if (is_strict) {
            return context.error(
                "ERR it is strict, and SAFETY changes with an epoch: RESOURCE SET it available "
                "first");
        }
        note(context, "resource " + std::string(context.args[2]) + " is to be deleted");
        return context.ask(
            core::authority::WriteResource{ResourceName(context.args[2]), std::nullopt}, true);
    }
    const bool erased = context.host().registry().erase(context.args[2]);
    if (erased) {
        context.host().registry_changed(ResourceName(context.args[2]), std::nullopt);
        note(context, "resource " + std::string(context.args[2]) + " was deleted");
    }
    context.reply().integer(erased ? 1 : 0);
}

void run_help(Context& context) { write_help(context); }

constexpr std::uint32_t changes =
    flag_write | flag_admin | flag_noscript | flag_loading | flag_stale;
constexpr std::uint32_t asks = flag_readonly | flag_noscript | flag_loading | flag_stale;
constexpr std::uint32_t change_kind = category_lock | category_admin | category_slow;
constexpr std::uint32_t ask_kind = category_lock | category_read | category_slow;

constexpr std::array subcommands = {
    Command{.name = "resource|del",
            .arity = 3,
            .flags = changes,
            .categories = change_kind,
            .since = "0.1.0",
            .group = "generic",
            .summary =
                "Forgets a resource, whose locks then get the defaults: 1, or 0 if it was not "
                "registered",
            .syntax = "name",
            .handler = run_del,
            .own = true},
    Command{.name = "resource|get",
            .arity = 3,
            .flags = asks,
            .categories = ask_kind,
            .since = "0.1.0",
            .group = "generic",
            .summary = "Shows the settings of a resource, or nil if it is not registered",
            .syntax = "name",
            .handler = run_get,
            .own = true},
    Command{.name = "resource|help",
            .arity = 2,
            .flags = flag_loading | flag_stale,
            .categories = category_slow,
            .since = "0.1.0",
            .group = "generic",
            .summary = "Shows this help",
            .handler = run_help,
            .own = true},
    Command{.name = "resource|list",
            .arity = -2,
            .flags = asks,
            .categories = ask_kind,
            .since = "0.1.0",
            .group = "generic",
            .summary = "Lists the names of the registered resources",
            .syntax = "[pattern]",
            .handler = run_list,
            .own = true},
    Command{.name = "resource|set",
            .arity = -3,
            .flags = changes,
            .categories = change_kind,
            .since = "0.1.0",
            .group = "generic",
            .summary = "Registers a resource, or changes the settings that are named",
            .syntax = "name [TTL ms] [MAXRENEW n] [DEGRADE none|mysql|local|default] [SAFETY "
                      "strict|available] "
                      "[QUEUE n] [EXPECTLOCKS n] [MAXHOLD ms] [EXPECT ms] [DELAY ms] "
                      "[BUSYCACHE ms]",
            .handler = run_set,
            .own = true},
};

}  // namespace

std::span<const Command> resource_subcommands() noexcept { return subcommands; }

std::string pending_text(const core::PendingSettings& pending) {
    std::string text =
        pending.safety == core::Safety::strict ? "safety strict" : "safety available";
    text += ", degrade ";
    text += pending.degrade ? degrade_names[static_cast<std::size_t>(*pending.degrade)] : "default";
    return text + ", from epoch " + std::to_string(pending.from);
}

void write_resource(resp::Writer reply,
                    const core::Registry& registry,
                    std::string_view name,
                    const core::ResourceSettings& settings,
                    bool is_shared) {
    const auto text = [&](std::string_view field, std::string_view value) {
        reply.bulk(field);
        reply.bulk(value);
    };
    const auto number = [&](std::string_view field, std::uint64_t value) {
        reply.bulk(field);
        reply.integer(static_cast<std::int64_t>(value));
    };
    const auto time = [&](std::string_view field, const std::optional<Duration>& value) {
        reply.bulk(field);
        if (value) {
            reply.integer(to_ms(*value));
        } else {
            reply.null();
        }
    };
    reply.map(14);
    text("name", name);
    text("scope", is_shared ? "fleet" : "node");
    time("ttl_ms", settings.ttl.value_or(registry.ttl_default));
    number("renew_max", settings.renew_max.value_or(0));
    text("degrade",
         settings.degrade ? degrade_names[static_cast<std::size_t>(*settings.degrade)]
                          : std::string_view("default"));
    text("safety", settings.safety == core::Safety::strict ? "strict" : "available");
    number("queue", settings.queue_max.value_or(core::queue_max_default));
    number("expect_locks", settings.locks_expected.value_or(core::locks_expected_default));
    time("max_hold_ms", settings.hold_max);
    time("expect_ms", settings.expect);
    time("delay_ms", settings.delay);
    reply.bulk("pending");
    if (settings.pending) {
        reply.bulk(pending_text(*settings.pending));
    } else {
        reply.null();
    }
    number("busy_cache_ms",
           static_cast<std::uint64_t>(to_ms(settings.busy_cache.value_or(Duration::zero()))));
    number("retired", settings.retired ? 1 : 0);
}

}  // namespace latchd::command
