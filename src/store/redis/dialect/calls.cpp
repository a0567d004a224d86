// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "calls.hpp"

#include "record_json.hpp"

#include <latchd/resp/command_writer.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <variant>
#include <vector>

namespace latchd::store::redis {
namespace {

constexpr std::size_t guard_arguments = 3;
constexpr std::size_t acquire_arguments = 4;
constexpr std::size_t release_arguments = 2;

enum class Clock : bool { unchecked, checked };

// An instant as the scripts compare it: 13 digits.
void append_clock(resp::CommandWriter& call, std::int64_t ms) {
    std::array<char, 13> text;
    std::int64_t rest = std::clamp<std::int64_t>(ms, 0, 9'999'999'999'999);
    for (auto digit = text.rbegin(); digit != text.rend(); ++digit, rest /= 10) {
        *digit = static_cast<char>('0' + rest % 10);
    }
    call.argument(std::string_view(text.data(), text.size()));
}

void append_guard(resp::CommandWriter& call, const Guard& guard, Clock clock) {
    call.argument(std::int64_t{guard.counter_seen});
    if (clock == Clock::unchecked || guard.expected_ms == 0) {
        call.argument("").argument("~");
    } else {
        append_clock(call, guard.expected_ms - ms_down(guard.window));
        append_clock(call, guard.expected_ms + ms_down(guard.window));
    }
}

// EVALSHA with the keys and the guard's arguments; `rest` arguments must follow.
resp::CommandWriter begin(std::string& out,
                          const Target& target,
                          Script script,
                          std::span<const std::string_view> keys,
                          std::size_t rest,
                          Clock clock) {
    resp::CommandWriter call(out, 4 + keys.size() + guard_arguments + rest);
    call.argument("EVALSHA").argument(target.scripts.digest(script));
    call.argument(static_cast<std::int64_t>(1 + keys.size())).argument(target.keys.marker());
    for (const std::string_view key : keys) call.argument(key);
    append_guard(call, target.guard, clock);
    return call;
}

resp::CommandWriter begin(std::string& out,
                          const Target& target,
                          Script script,
                          std::initializer_list<std::string_view> keys,
                          std::size_t rest,
                          Clock clock) {
    return begin(out, target, script, std::span(keys.begin(), keys.size()), rest, clock);
}

// A piece of a value: the name quoted, between two literals.
std::string piece(std::string_view before, std::string_view name, std::string_view after) {
    std::string out;
    out.reserve(before.size() + name.size() + 2 + after.size());
    out += before;
    append_quoted(out, name);
    out += after;
    return out;
}

void append_acquire(resp::CommandWriter& call, const core::Acquire& wish, const Scripts& scripts) {
    const std::int64_t ttl = at_least_1(ms_down(wish.ttl));
    const std::int64_t lease =
        wish.hold_max ? std::min(ttl, at_least_1(ms_down(*wish.hold_max))) : ttl;
    call.argument(grant_head(wish.token));
    call.argument(grant_body(wish, scripts.tail()));
    call.argument(lease + ms_up(wish.delay));
    std::string flags;
    if (wish.join_only) flags += 'j';
    if (wish.keep) flags += 'k';
    if (wish.waits) flags += 'w';
    call.argument(flags);
}

void append_release(resp::CommandWriter& call, const core::Release& wish) {
    call.argument(piece("{\"token\":", wish.token.view(), ","));
    call.argument(piece(",\"node\":", wish.node.view(), ",\"client\":"));
}

struct Append {
    std::string& out;
    const Target& target;

    [[nodiscard]] std::string queue(std::string_view lock) const {
        return target.keys.queue(lock, target.scripts.epoch());
    }
    [[nodiscard]] std::string queue(const LockKey& key) const {
        return queue(target.keys.lock(key));
    }

    void operator()(const core::Acquire& o) const {
        const std::string lock = target.keys.lock(o.key);
        auto call = begin(out,
                          target,
                          Script::acquire,
                          {lock, queue(lock), target.keys.bar(lock, o.request)},
                          acquire_arguments,
                          Clock::checked);
        append_acquire(call, o, target.scripts);
    }

    void operator()(const core::Release& o) const {
        const std::string lock = target.keys.lock(o.key);
        if (!o.then) {
            auto call = begin(out,
                              target,
                              Script::release,
                              {lock, queue(lock)},
                              release_arguments,
                              Clock::unchecked);
            return append_release(call, o);
        }
        auto call = begin(out,
                          target,
                          Script::release,
                          {lock, queue(lock), target.keys.bar(lock, o.then->request)},
                          release_arguments + acquire_arguments + 1,
                          Clock::checked);
        append_release(call, o);
        append_acquire(call, *o.then, target.scripts);
        call.argument(o.yields ? "y" : "");
    }

    void operator()(const core::Renew& o) const {
        auto call = begin(out, target, Script::renew, {target.keys.lock(o.key)}, 5, Clock::checked);
        call.argument(o.token.view()).argument(o.node.view());
        call.argument(o.ttl ? at_least_1(ms_down(*o.ttl)) : 0).argument(std::int64_t{o.keep});
        call.argument(o.stands ? attempt_text(*o.stands) : std::string());
    }

    void operator()(const core::Undo& o) const {
        auto call =
            begin(out,
                  target,
                  Script::undo,
                  {target.keys.lock(o.key), queue(o.key), target.keys.bar(o.key, o.request)},
                  4,
                  Clock::unchecked);
        call.argument(o.request.view()).argument(attempt_text(o.attempt)).argument(o.node.view());
        call.argument(o.tombstone ? at_least_1(ms_up(*o.tombstone)) : 0);
    }

    void operator()(const core::Cancel& o) const {
        auto call =
            begin(out,
                  target,
                  Script::cancel,
                  {target.keys.lock(o.key), queue(o.key), target.keys.bar(o.key, o.request)},
                  3,
                  Clock::unchecked);
        call.argument(o.request.view()).argument(o.node.view()).argument(at_least_1(ms_up(o.bar)));
    }

    void operator()(const core::Force& o) const {
        auto call = begin(out,
                          target,
                          Script::force,
                          {target.keys.lock(o.key), queue(o.key)},
                          2,
                          Clock::unchecked);
        call.argument(o.node.view()).argument(o.fence ? std::to_string(*o.fence) : std::string());
    }

    void operator()(const core::Inspect& o) const {
        begin(out, target, Script::inspect, {target.keys.lock(o.key)}, 0, Clock::unchecked);
    }

    void operator()(const core::Restore& o) const {
        std::vector<std::string> names = {target.keys.lock(o.record.key)};
        for (const core::Hold& hold : o.record.holds) {
            names.push_back(target.keys.bar(o.record.key, hold.request));
        }
        const std::vector<std::string_view> keys(names.begin(), names.end());
        auto call = begin(out, target, Script::restore, std::span(keys), 2, Clock::checked);
        call.argument(restore_text(o.record)).argument(std::int64_t{o.keep_fence});
    }

    void operator()(const core::StepOut& o) const {
        auto call = begin(out,
                          target,
                          Script::step_out,
                          {target.keys.lock(o.key), queue(o.key)},
                          1,
                          Clock::unchecked);
        call.argument(o.node.view());
    }

    void operator()(const core::List& o) const { append_scan(out, target.keys, o); }
};

void append_all(std::string& out,
                const Target& target,
                Script script,
                std::span<const std::string> redis_keys) {
    resp::CommandWriter call(out, 4 + redis_keys.size() + guard_arguments);
    call.argument("EVALSHA").argument(target.scripts.digest(script));
    call.argument(static_cast<std::int64_t>(1 + redis_keys.size()));
    call.argument(target.keys.marker());
    for (const std::string& key : redis_keys) call.argument(key);
    append_guard(call, target.guard, Clock::unchecked);
}

}  // namespace

bool fits_many(const core::Operation& operation) noexcept {
    const auto* const release = std::get_if<core::Release>(&operation);
    return release != nullptr ? !release->then : std::holds_alternative<core::Acquire>(operation);
}

void append_many(std::string& out,
                 const Target& target,
                 std::span<const core::Operation* const> operations) {
    std::string letters;
    for (const core::Operation* const operation : operations) {
        letters += std::holds_alternative<core::Acquire>(*operation) ? 'a' : 'r';
    }
    const auto locks = static_cast<std::size_t>(std::ranges::count(letters, 'a'));
    const std::size_t unlocks = letters.size() - locks;
    const std::size_t keys = 1 + 3 * locks + 2 * unlocks;
    const std::size_t rest = 1 + acquire_arguments * locks + release_arguments * unlocks;
    resp::CommandWriter call(out, 3 + keys + guard_arguments + rest);
    call.argument("EVALSHA").argument(target.scripts.digest(Script::many));
    call.argument(static_cast<std::int64_t>(keys)).argument(target.keys.marker());
    for (const core::Operation* const operation : operations) {
        const auto* const wish = std::get_if<core::Acquire>(operation);
        const LockKey& key = wish != nullptr ? wish->key : std::get<core::Release>(*operation).key;
        const std::string lock = target.keys.lock(key);
        call.argument(lock).argument(target.keys.queue(lock, target.scripts.epoch()));
        if (wish != nullptr) call.argument(target.keys.bar(lock, wish->request));
    }
    append_guard(call, target.guard, locks != 0 ? Clock::checked : Clock::unchecked);
    call.argument(letters);
    for (const core::Operation* const operation : operations) {
        if (const auto* const wish = std::get_if<core::Acquire>(operation)) {
            append_acquire(call, *wish, target.scripts);
        } else {
            append_release(call, std::get<core::Release>(*operation));
        }
    }
}

void append_operation(std::string& out, const Target& target, const core::Operation& operation) {
    std::visit(Append{out, target}, operation);
}

void append_scan(std::string& out, const Keys& keys, const core::List& list) {
    resp::append_command(out,
                         {"SCAN",
                          std::to_string(list.cursor),
                          "MATCH",
                          keys.scan_pattern(list.pattern),
                          "COUNT",
                          std::to_string(std::max<std::uint32_t>(list.count, 1))});
}

void append_list(std::string& out, const Target& target, std::span<const std::string> redis_keys) {
    append_all(out, target, Script::list, redis_keys);
}

void append_sweep(std::string& out, const Target& target, std::span<const std::string> redis_keys) {
    append_all(out, target, Script::sweep, redis_keys);
}

void append_probe(std::string& out, const Target& target) {
    begin(out, target, Script::probe, {}, 0, Clock::unchecked);
}

void append_plain_write(std::string& out, const Keys& keys) {
    resp::append_command(out, {"SET", keys.probe(), "1", "PX", "60000"});
}

void append_plain_time(std::string& out) { resp::append_command(out, {"TIME"}); }

}  // namespace latchd::store::redis
