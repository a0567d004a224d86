// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "outcome.hpp"

#include "text.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <variant>

namespace latchd::command {
namespace {

constexpr std::array errors = {
    ErrorRow{"ERR",
             "the command is wrong, refused, or its request id was cancelled; the text says how to "
             "do it right",
             "no: change the command"},
    ErrorRow{"DEGRADED",
             "the grant would be worth less than REQUIRE asks for, or is on a lower tier than the "
             "resource's DEGRADE",
             "later, or with a weaker REQUIRE"},
    ErrorRow{
        "NOSTORE",
        "nothing was done: no store can be reached, it is settling, or this node may not grant "
        "now (retry_ms=n says when)",
        "yes, later"},
    ErrorRow{"UNCERTAIN",
             "it may have happened: the store did not answer in time; max_ms=n is how long a grant "
             "could last, req=id its request id",
             "yes, with the same REQ; or CANCEL"},
    ErrorRow{"LOST", "the lock has ended, and why (maxhold)", "no: LOCK again"},
    ErrorRow{"QUEUEFULL",
             "too many wait for this lock or on this node; the text names the limit",
             "yes, later"},
    ErrorRow{"LIMIT",
             "a limit that the text names is reached (maxrenew, journal, holds)",
             "when the limit allows it"},
    ErrorRow{"NOAUTH", "a password is needed first", "after AUTH"},
    ErrorRow{"WRONGPASS", "user or password are wrong", "with the right ones"},
    ErrorRow{"NOPERM", "this user may not do this", "no"},
    ErrorRow{"NOPROTO", "HELLO asks for a protocol other than 2 or 3", "with 2 or 3"},
};

void field(resp::Writer& reply, std::string_view name, std::string_view value) {
    reply.bulk(name);
    reply.bulk(value);
}

void field(resp::Writer& reply, std::string_view name, std::int64_t value) {
    reply.bulk(name);
    reply.integer(value);
}

std::string_view state_of(const core::LockView& view) noexcept {
    if (!view.held) return "free";
    return view.record.left > Duration::zero() ? "held" : "delay";
}

void granted(const core::Granted& grant, resp::Writer& reply) {
    reply.array(5);
    reply.bulk(grant.token.view());
    reply.integer(static_cast<std::int64_t>(grant.fence));
    reply.integer(std::max<std::int64_t>(to_ms(grant.left), 0));
    reply.integer(grant.holds);
    reply.bulk(grant.tier);
}

void explanation(const core::LockView& view, resp::Writer& reply) {
    reply.bulk("explanation");
    reply.array(view.explanation.size());
    for (const std::string& line : view.explanation) reply.bulk(line);
}

void hold_list(const core::GrantRecord& record, resp::Writer& reply) {
    reply.bulk("tokens");
    reply.array(record.holds.size());
    for (const core::Hold& hold : record.holds) reply.bulk(tail_of(hold.token.view()));
    // Whoever shows a request id gets the grant: it is as secret as a token.
    reply.bulk("requests");
    reply.array(record.holds.size());
    for (const core::Hold& hold : record.holds) reply.bulk(tail_of(hold.request.view()));
}

std::string grant_name(const LockKey& key, Fence fence) {
    std::string name = key.resource.str() + "/" + key.id.str() + "#";
    append_number(name, fence);
    return name;
}

// A lock that nobody holds, or whose place is taken by what is no lock: only what is still true
// of it.
void free_view(const core::LockView& view, bool explain, resp::Writer& reply) {
    reply.map(explain ? 7 : 6);
    field(reply, "resource", view.record.key.resource.view());
    field(reply, "id", view.record.key.id.view());
    field(reply, "state", view.foreign ? "foreign" : "free");
    field(reply, "waiters", view.waiters);
    field(reply, "tier", view.tier);
    field(reply, "epoch", view.epoch);
    if (explain) explanation(view, reply);
}

void lock_view(const core::LockView& view, bool explain, resp::Writer& reply) {
    if (!view.held) return free_view(view, explain, reply);
    const core::GrantRecord& record = view.record;
    reply.map(explain ? 24 : 23);
    field(reply, "resource", record.key.resource.view());
    field(reply, "id", record.key.id.view());
    field(reply, "state", state_of(view));
    field(reply, "grant", grant_name(record.key, record.fence));
    field(reply, "fence", static_cast<std::int64_t>(record.fence));
    field(reply, "version", static_cast<std::int64_t>(record.version));
    field(reply, "owner", record.owner.view());
    field(reply, "client", record.client.view());
    field(reply, "node", record.node.view());
    field(reply, "holds", static_cast<std::int64_t>(record.holds.size()));
    hold_list(record, reply);
    field(reply, "left_ms", to_ms(record.left));
    field(reply, "ttl_ms", to_ms(record.ttl));
    reply.bulk("hard_left_ms");
    if (record.hard_left) {
        reply.integer(to_ms(*record.hard_left));
    } else {
        reply.null();
    }
    field(reply, "renewals", record.renewals);
    field(reply, "renew_max", record.renew_max);
    field(reply, "delay_ms", to_ms(record.delay));
    field(reply, "age_ms", to_ms(record.age));
    field(reply, "keep", view.keep ? 1 : 0);
    field(reply, "waiters", view.waiters);
    field(reply, "tier", view.tier);
    field(reply, "epoch", view.epoch);
    if (explain) explanation(view, reply);
}

void list_row(const core::LockView& view, resp::Writer& reply) {
    const core::GrantRecord& record = view.record;
    reply.map(13);
    field(reply, "resource", record.key.resource.view());
    field(reply, "id", record.key.id.view());
    field(reply, "state", state_of(view));
    field(reply, "fence", static_cast<std::int64_t>(record.fence));
    field(reply, "owner", record.owner.view());
    field(reply, "client", record.client.view());
    field(reply, "node", record.node.view());
    field(reply, "holds", static_cast<std::int64_t>(record.holds.size()));
    field(reply, "left_ms", to_ms(record.left));
    field(reply, "ttl_ms", to_ms(record.ttl));
    field(reply, "age_ms", to_ms(record.age));
    field(reply, "waiters", view.waiters);
    field(reply, "tier", view.tier);
}

void lock_list(const core::LockList& list, resp::Writer& reply) {
    reply.array(2);
    std::string cursor;
    append_number(cursor, list.cursor);
    reply.bulk(cursor);
    reply.array(list.rows.size());
    for (const core::LockView& row : list.rows) list_row(row, reply);
}

void append_escaped(std::string& out, std::string_view text) {
    static constexpr char digits[] = "0123456789ABCDEF";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte > 0x20 && byte <= 0x7e && byte != '%') {
            out.push_back(c);
        } else {
            out.append({'%', digits[byte >> 4], digits[byte & 15]});
        }
    }
}

}  // namespace

std::span<const ErrorRow> error_table() noexcept { return errors; }

std::string_view word_of(core::ErrorWord word) noexcept {
    switch (word) {
        case core::ErrorWord::err:
            return "ERR";
        case core::ErrorWord::degraded:
            return "DEGRADED";
        case core::ErrorWord::nostore:
            return "NOSTORE";
        case core::ErrorWord::uncertain:
            return "UNCERTAIN";
        case core::ErrorWord::lost:
            return "LOST";
        case core::ErrorWord::queue_full:
            return "QUEUEFULL";
        case core::ErrorWord::limit:
            return "LIMIT";
    }
    return "ERR";
}

std::string text_of(const core::Error& error) {
    std::string text(word_of(error.word));
    text += ' ';
    return text += error.text;
}

void write_outcome(const core::Outcome& outcome, bool explain, resp::Writer reply) {
    std::visit(
        [&](const auto& value) {
            using Kind = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<Kind, core::Granted>) {
                granted(value, reply);
            } else if constexpr (std::is_same_v<Kind, core::Refused>) {
                reply.null();
            } else if constexpr (std::is_same_v<Kind, core::Number>) {
                reply.integer(value.value);
            } else if constexpr (std::is_same_v<Kind, core::Error>) {
                reply.error(text_of(value));
            } else if constexpr (std::is_same_v<Kind, core::LockView>) {
                lock_view(value, explain, reply);
            } else {
                lock_list(value, reply);
            }
        },
        outcome);
}

std::string_view name_of(core::Happened::Kind kind) noexcept {
    switch (kind) {
        case core::Happened::Kind::lost:
            return "lost";
        case core::Happened::Kind::expiring:
            return "expiring";
        case core::Happened::Kind::revoked:
            return "revoked";
        case core::Happened::Kind::failover:
            return "failover";
    }
    return "lost";
}

std::string event_text(const core::Happened& happened) {
    std::string text(name_of(happened.kind));
    text += ' ';
    text += happened.key.resource.view();
    text += '/';
    append_escaped(text, happened.key.id.view());
    text += '#';
    append_number(text, happened.fence);
    text += " owner=";
    append_escaped(text, happened.owner.empty() ? "-" : happened.owner.view());
    text += ' ';
    return text += happened.reason;
}

}  // namespace latchd::command
