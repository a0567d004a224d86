// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"
#include "lock_options.hpp"

#include <array>

namespace latchd::command {
namespace {

LockKey subject_of(const Context& context) {
    if (context.options().slower_than < Duration::zero()) return {};
    return {ResourceName(context.args[1]), LockId(context.args[2])};
}

// LOCK resource id [options]
void run_lock(Context& context) {
    core::LockCommand command;
    if (Complaint complaint = read_lock(context.limits(), context.args, command)) {
        return context.error(*complaint);
    }
    const core::Registry& registry = context.host().registry();
    const std::string_view resource = command.key.resource.view();
    if (registry.require_registered && registry.find(resource) == nullptr) {
        const std::string name(resource);
        return context.error("ERR resource '" + name + "' is not registered; RESOURCE SET " + name +
                             " registers it");
    }
    command.ticket = context.ticket();
    command.client = name_of(context.client);
    const bool waits = command.wait > Duration::zero();
    context.start(std::move(command), subject_of(context), !waits);
    if (waits) {
        context.disposition.started->pending.waits = true;
        ++context.client.waiting;
    }
}

// UNLOCK resource id token
void run_unlock(Context& context) {
    core::UnlockCommand command;
    Complaint complaint = read_key(context.args, command.key);
    if (!complaint) complaint = check_bytes("token", context.args[3], name_bytes_max);
    if (complaint) return context.error(*complaint);
    command.ticket = context.ticket();
    command.token = Token(context.args[3]);
    command.client = name_of(context.client);
    context.start(std::move(command), subject_of(context));
}

// RENEW resource id token [PX ms | EX s] [KEEP]
void run_renew(Context& context) {
    core::RenewCommand command;
    if (Complaint complaint = read_renew(context.limits(), context.args, command)) {
        return context.error(*complaint);
    }
    command.ticket = context.ticket();
    command.client = name_of(context.client);
    context.start(std::move(command), subject_of(context));
}

// CANCEL resource id request-id
void run_cancel(Context& context) {
    core::CancelCommand command;
    Complaint complaint = read_key(context.args, command.key);
    if (!complaint) complaint = check_bytes("request id", context.args[3], name_bytes_max);
    if (complaint) return context.error(*complaint);
    command.ticket = context.ticket();
    command.request = RequestId(context.args[3]);
    context.start(std::move(command), subject_of(context));
}

// LOCKINFO resource id [EXPLAIN]
void run_info(Context& context) {
    static constexpr std::array options = {Option{"EXPLAIN", {}}};
    core::InfoCommand command;
    Complaint complaint = read_key(context.args, command.key);
    if (!complaint) {
        complaint = read_options("LOCKINFO", context.args.subspan(3), options, [&](auto, auto) {
            command.explain = true;
            return Complaint{};
        });
    }
    if (complaint) return context.error(*complaint);
    command.ticket = context.ticket();
    const bool explain = command.explain;
    context.start(std::move(command), subject_of(context));
    context.disposition.started->pending.explain = explain;
}

// LOCKS [FLEET] [MATCH pattern] [COUNT n] [CURSOR c]
void run_list(Context& context) {
    core::ListCommand command;
    if (Complaint complaint = read_list(context.args, command)) return context.error(*complaint);
    command.ticket = context.ticket();
    context.start(std::move(command), {}, false);
}

// FENCE resource id fence
void run_fence(Context& context) {
    core::FenceCommand command;
    Complaint complaint = read_key(context.args, command.key);
    if (!complaint) {
        complaint = read_number("fence", context.args[3], {.min = 1}, command.fence);
    }
    if (complaint) return context.error(*complaint);
    command.ticket = context.ticket();
    context.start(std::move(command), subject_of(context));
}

// FORCEUNLOCK resource id [FENCE n]
void run_force(Context& context) {
    static constexpr std::array options = {Option{"FENCE", "the fence of the grant to end"}};
    core::ForceCommand command;
    Complaint complaint = read_key(context.args, command.key);
    if (!complaint) {
        complaint =
            read_options("FORCEUNLOCK",
                         context.args.subspan(3),
                         options,
                         [&](std::string_view name, std::string_view value) {
                             return read_number(name, value, {.min = 1}, command.fence.emplace());
                         });
    }
    if (complaint) return context.error(*complaint);
    command.ticket = context.ticket();
    command.client = name_of(context.client);
    context.start(std::move(command), subject_of(context));
}

constexpr std::uint32_t lock_flags = flag_write | flag_noscript | flag_fast;
constexpr std::uint32_t look_flags = flag_readonly | flag_noscript | flag_fast;

constexpr std::array rows = {
    Command{
        .name = "lock",
        .arity = -3,
        .flags = flag_write | flag_noscript | flag_blocking,
        .categories = category_lock | category_blocking | category_slow,
        .since = "0.1.0",
        .group = "generic",
        .summary =
            "Takes a lock: [token, fence, ttl_ms, holds, tier], or nil while another holds it",
        .syntax = "resource id [PX ms | EX s] [WAIT ms] [OWNER name] [REQ request-id] "
                  "[KEEP [ONCLOSE RELEASE]] [MAXHOLD ms] [EXPECT ms] [DELAY ms] [TRACE trace-id] "
                  "[REQUIRE redis|shared|any]",
        .handler = run_lock,
        .own = true,
    },
    Command{
        .name = "unlock",
        .arity = 4,
        .flags = lock_flags,
        .categories = category_lock | category_fast,
        .since = "0.1.0",
        .group = "generic",
        .summary = "Releases one hold: 1 released, 2 still held by another hold, 0 not held, "
                   "-1 held by another",
        .syntax = "resource id token",
        .handler = run_unlock,
        .own = true,
    },
    Command{
        .name = "renew",
        .arity = -4,
        .flags = lock_flags,
        .categories = category_lock | category_fast,
        .since = "0.1.0",
        .group = "generic",
        .summary = "Extends the lease: what is left in ms, 0 lost, -1 held by another",
        .syntax = "resource id token [PX ms | EX s] [KEEP]",
        .handler = run_renew,
        .own = true,
    },
    Command{
        .name = "cancel",
        .arity = 4,
        .flags = lock_flags,
        .categories = category_lock | category_fast,
        .since = "0.1.0",
        .group = "generic",
        .summary =
            "Undoes and bars a LOCK by its request id: 1 a grant was undone, 0 none was found",
        .syntax = "resource id request-id",
        .handler = run_cancel,
        .own = true,
    },
    Command{
        .name = "lockinfo",
        .arity = -3,
        .flags = look_flags,
        .categories = category_lock | category_read | category_fast,
        .since = "0.1.0",
        .group = "generic",
        .summary = "Shows everything known of a lock, read from the store",
        .syntax = "resource id [EXPLAIN]",
        .handler = run_info,
        .own = true,
    },
    Command{
        .name = "locks",
        .arity = -1,
        .flags = flag_readonly | flag_noscript,
        .categories = category_lock | category_read | category_slow,
        .since = "0.1.0",
        .group = "generic",
        .summary = "Lists locks step by step, as SCAN does: the next cursor (0: done) and rows",
        .syntax = "[FLEET] [MATCH pattern] [COUNT n] [CURSOR cursor]",
        .handler = run_list,
        .own = true,
    },
    Command{
        .name = "fence",
        .arity = 4,
        .flags = look_flags,
        .categories = category_lock | category_read | category_fast,
        .since = "0.1.0",
        .group = "generic",
        .summary = "Says whether this fence is that of the grant which holds the lock now: 1 or 0",
        .syntax = "resource id fence",
        .handler = run_fence,
        .own = true,
    },
    Command{
        .name = "forceunlock",
        .arity = -3,
        .flags = flag_write | flag_admin | flag_noscript,
        .categories = category_lock | category_admin | category_dangerous | category_slow,
        .since = "0.1.0",
        .group = "generic",
        .summary = "Ends a grant whoever holds it (audited): 1 ended, 0 there was none",
        .syntax = "resource id [FENCE n]",
        .handler = run_force,
        .own = true,
    },
};

}  // namespace

std::span<const Command> lock_commands() noexcept { return rows; }

}  // namespace latchd::command
