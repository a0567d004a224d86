// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "arbiter.hpp"

#include "script_reply.hpp"

#include <latchd/resp/command_writer.hpp>
#include <latchd/store/arbiter/codec.hpp>
#include <lua_scripts.hpp>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace latchd::store::redis {
namespace {

using namespace core::authority;
using store::arbiter::from_json;
using store::arbiter::to_json;
using Type = resp::Value::Type;

// A call as it is sent: which script, which keys, what with.
struct Parts {
    std::string_view text;
    std::string_view sha1;
    std::vector<std::string> keys;
    std::vector<std::string> arguments;
};

std::string flag(bool is_set) { return is_set ? "1" : "0"; }

std::string json_or_none(const core::Claims& claims) {
    return claims.size() == 0 ? std::string() : to_json(claims);
}

std::int64_t kept_ms(const Basis& basis) { return to_ms(2 * (basis.ttl_max + basis.delay_max)); }

class Composer {
public:
    explicit Composer(const Keys& keys) : keys_(keys) {}

    Parts operator()(const ReadView&) const {
        return {scripts::arbiter_read, scripts::arbiter_read_sha1, names({}), {}};
    }
    Parts operator()(const Beat& call) const {
        const NodeRow& row = call.row;
        return {scripts::arbiter_beat,
                scripts::arbiter_beat_sha1,
                names({}),
                {std::to_string(row.incarnation),
                 std::to_string(row.acked),
                 std::to_string(row.beat),
                 to_json(row),
                 call.replaces ? std::to_string(*call.replaces) : ""}};
    }
    Parts operator()(const Propose& call) const {
        Parts parts{scripts::arbiter_propose, scripts::arbiter_propose_sha1, names({}), {}};
        if (call.expected) {
            const bool is_open = call.expected->state == RecordState::open;
            parts.arguments = {std::to_string(call.expected->epoch),
                               is_open ? "open" : "settling",
                               call.expected->nonce.str()};
        } else {
            parts.arguments.resize(3);
        }
        FleetRecord next = call.next;
        next.placement.state = RecordState::settling;
        parts.arguments.push_back(std::to_string(next.epoch));
        parts.arguments.push_back(next.placement.nonce.str());
        parts.arguments.push_back(to_json(next));
        parts.arguments.push_back(to_json(next.placement));
        parts.arguments.push_back(std::to_string(kept_ms(next.basis)));
        return parts;
    }
    Parts operator()(const HandOver& call) const {
        return {scripts::arbiter_hand_over,
                scripts::arbiter_hand_over_sha1,
                names({"claims"}),
                {std::to_string(call.epoch),
                 std::to_string(call.row.incarnation),
                 flag(call.is_first),
                 flag(call.is_last),
                 json_or_none(call.claims),
                 std::to_string(call.row.beat),
                 to_json(call.row)}};
    }
    Parts operator()(const FetchClaims& call) const {
        return {scripts::arbiter_fetch,
                scripts::arbiter_fetch_sha1,
                names({"claims", "left"}),
                {std::to_string(call.epoch), call.after}};
    }
    Parts operator()(const OpenEpoch& call) const {
        Placement next = call.next;
        next.state = RecordState::open;
        return {scripts::arbiter_open,
                scripts::arbiter_open_sha1,
                names({"claims"}),
                {std::to_string(call.epoch),
                 call.settling.str(),
                 call.claims_version ? std::to_string(*call.claims_version) : "",
                 next.nonce.str(),
                 to_json(next)}};
    }
    Parts operator()(const Leave& call) const {
        core::Claims others = call.claims;
        others.records.clear();
        Parts parts{scripts::arbiter_leave,
                    scripts::arbiter_leave_sha1,
                    names({"left"}),
                    {std::to_string(call.incarnation), flag(call.is_last), json_or_none(others)}};
        for (const core::GrantRecord& record : call.claims.records) {
            parts.arguments.push_back(keys_.lock(record.key));
            parts.arguments.push_back(std::to_string(record.fence));
            parts.arguments.push_back(to_json(record));
        }
        return parts;
    }
    Parts operator()(const Forget& call) const {
        return {scripts::arbiter_forget,
                scripts::arbiter_forget_sha1,
                names({}),
                {std::to_string(call.incarnation)}};
    }
    Parts operator()(const Settled& call) const {
        Parts parts{scripts::arbiter_settled, scripts::arbiter_settled_sha1, names({"left"}), {}};
        for (const core::GoneFence& lock : call.locks) {
            parts.arguments.push_back(keys_.lock(lock.key));
            parts.arguments.push_back(std::to_string(lock.fence));
        }
        return parts;
    }
    Parts operator()(const ReadRegistry&) const {
        return {scripts::arbiter_registry,
                scripts::arbiter_registry_sha1,
                names({"resources", "uses"}),
                {}};
    }
    Parts operator()(const WriteResource& call) const {
        return {scripts::arbiter_resource,
                scripts::arbiter_resource_sha1,
                names({"resources", "uses"}),
                {call.name.str(),
                 call.settings ? to_json(*call.settings) : "",
                 call.epoch ? std::to_string(*call.epoch) : ""}};
    }
    Parts operator()(const WriteBasis& call) const {
        return {scripts::arbiter_basis,
                scripts::arbiter_basis_sha1,
                names({}),
                {std::to_string(call.epoch),
                 std::to_string(call.change.number),
                 to_json(call.change),
                 std::to_string(to_ms(call.change.claims_kept()))}};
    }
    Parts operator()(const NoteUses& call) const {
        Parts parts{scripts::arbiter_uses,
                    scripts::arbiter_uses_sha1,
                    names({"resources", "uses"}),
                    {std::to_string(to_ms(call.period)), std::to_string(unused_periods_max)}};
        for (const ResourceName& name : call.used) parts.arguments.push_back(name.str());
        return parts;
    }

private:
    [[nodiscard]] std::vector<std::string> names(
        std::initializer_list<std::string_view> more) const {
        std::vector<std::string> all{keys_.arbiter("authority"), keys_.arbiter("rows")};
        for (const std::string_view what : more) all.push_back(keys_.arbiter(what));
        return all;
    }

    const Keys& keys_;
};

// ---- replies ---------------------------------------------------------------------------------

// Takes a reply apart and remembers what couldn't be understood.
class ReplyReader {
public:
    explicit ReplyReader(const resp::Value& value) : value_(value) {}

    [[nodiscard]] const std::string& damage() const noexcept { return damage_; }

    ArbiterReply read(const ArbiterCall& call) {
        ArbiterReply reply;
        if (!is_whole()) return damaged("the script's answer"), reply;
        reply.done = value_.elements[0].integer == 1;
        reply.view.shown = StoreMs{value_.elements[1].integer};
        read_record(value_.elements[2].elements, reply.view);
        read_rows(value_.elements[3].elements, reply.view);
        const resp::Value& more = value_.elements[4];
        if (std::holds_alternative<FetchClaims>(call) && reply.done) read_claims(more, reply);
        if (std::holds_alternative<ReadRegistry>(call)) read_registry(more.elements, reply);
        if (std::holds_alternative<NoteUses>(call)) read_period(more.elements, reply);
        return reply;
    }

private:
    using Values = std::span<const resp::Value>;

    [[nodiscard]] bool is_whole() const {
        const auto& parts = value_.elements;
        return value_.is(Type::array) && parts.size() == 5 && parts[0].is(Type::integer) &&
               parts[1].is(Type::integer) && parts[2].elements.size() == 5 &&
               parts[3].elements.size() % 2 == 0;
    }
    void damaged(std::string_view what) {
        if (damage_.empty()) damage_ = what;
    }
    template <class Number>
    Number number(std::string_view text, std::string_view what) {
        Number number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc() || end != text.data() + text.size()) damaged(what);
        return number;
    }
    template <class T>
    T parsed(std::string_view text, std::string_view what) {
        std::optional<T> value = from_json<T>(text);
        if (!value) damaged(what);
        return std::move(value).value_or(T{});
    }

    void read_record(Values fields, View& view) {
        if (!fields[3].string.empty()) {
            view.registry_version = number<std::uint64_t>(fields[3].string, "latchd:authority");
        }
        if (!fields[4].string.empty()) {
            view.basis_change = parsed<BasisChange>(fields[4].string, "latchd:authority");
        }
        if (fields[0].string.empty()) return;
        view.record = parsed<FleetRecord>(fields[0].string, "latchd:authority");
        view.record->placement = parsed<Placement>(fields[1].string, "latchd:authority");
        view.record->placement.since_ms =
            number<std::int64_t>(fields[2].string, "latchd:authority");
        view.show_basis();
    }
    // "<acked> <beat> <JSON>"
    void read_rows(Values fields, View& view) {
        for (std::size_t i = 1; i < fields.size(); i += 2) {
            const std::string_view text = fields[i].string;
            const auto acked_end = std::min(text.find(' '), text.size());
            const auto beat_end = std::min(text.find(' ', acked_end + 1), text.size() - 1);
            NodeRow row = parsed<NodeRow>(text.substr(beat_end + 1), "latchd:rows");
            row.acked = number<Epoch>(text.substr(0, acked_end), "latchd:rows");
            view.nodes.push_back(std::move(row));
        }
        std::ranges::sort(view.nodes, {}, [](const NodeRow& row) {
            return std::pair(row.name, row.incarnation);
        });
    }
    // What is registered, and in which period each was used last.
    void read_registry(Values both, ArbiterReply& reply) {
        if (both.size() != 2) return damaged("the script's answer");
        const Values fields = both[0].elements;
        const Values uses = both[1].elements;
        std::set<std::string_view> retired;
        for (std::size_t i = 1; i < uses.size(); i += 2) {
            if (uses[i].string == "retired") retired.insert(uses[i - 1].string);
        }
        for (std::size_t i = 1; i < fields.size(); i += 2) {
            reply.resources.emplace_back(
                ResourceName(fields[i - 1].string),
                parsed<core::ResourceSettings>(fields[i].string, "latchd:resources"));
            reply.resources.back().second.retired = retired.contains(fields[i - 1].string);
        }
        std::ranges::sort(reply.resources, {}, [](const auto& each) { return each.first; });
    }
    void read_period(Values fields, ArbiterReply& reply) {
        if (fields.size() != 1) return damaged("the script's answer");
        reply.use_period = static_cast<std::uint64_t>(fields[0].integer);
    }

    void read_claims(const resp::Value& more, ArbiterReply& reply) {
        if (more.elements.size() != 5) return damaged("the script's answer");
        reply.claims_version = number<std::uint64_t>(more.elements[0].string, "latchd:authority");
        reply.next = more.elements[4].string;
        std::map<std::pair<Epoch, Incarnation>, HandedOver> by_node;
        const Values parts = more.elements[1].elements;
        for (std::size_t i = 1; i < parts.size(); i += 2) {
            read_part(parts[i - 1].string, parts[i].string, reply.view.shown, by_node);
        }
        for (auto& [from, given] : by_node) reply.claims.push_back(std::move(given));
        read_left(more.elements[2].elements, more.elements[3].elements, reply);
    }
    // epoch:incarnation:part, and "<date> <JSON>"
    void read_part(std::string_view name,
                   std::string_view text,
                   StoreMs shown,
                   std::map<std::pair<Epoch, Incarnation>, HandedOver>& by_node) {
        const auto colon = std::min(name.find(':'), name.size() - 1);
        const auto end = std::min(name.find(':', colon + 1), name.size());
        const auto epoch = number<Epoch>(name.substr(0, colon), "latchd:claims");
        const auto incarnation =
            number<Incarnation>(name.substr(colon + 1, end - colon - 1), "latchd:claims");
        const auto space = text.find(' ');
        if (space == std::string_view::npos) return damaged("latchd:claims");
        const Duration age = age_of(text.substr(0, space), shown, "latchd:claims");
        HandedOver& given = by_node[{epoch, incarnation}];
        given.epoch = epoch;
        given.from = incarnation;
        given.age = std::max(given.age, age);
        add(given.claims, parsed<core::Claims>(text.substr(space + 1), "latchd:claims"));
    }
    Duration age_of(std::string_view date, StoreMs shown, std::string_view what) {
        return from_ms(static_cast<std::int64_t>(shown) - number<std::int64_t>(date, what));
    }
    static void add(core::Claims& to, core::Claims&& from) {
        const auto move = [](auto& all, auto& some) {
            all.insert(all.end(),
                       std::make_move_iterator(some.begin()),
                       std::make_move_iterator(some.end()));
        };
        move(to.records, from.records);
        move(to.gone, from.gone);
        move(to.cancelled, from.cancelled);
    }

    // As lua/arbiter_leave.lua has it; `dates`: when whom of them left.
    void read_left(Values fields, Values dates, ArbiterReply& reply) {
        std::map<Incarnation, HandedOver> leavers;
        for (std::size_t i = 1; i < dates.size() && reply.view.record; i += 2) {
            const auto from = number<Incarnation>(dates[i - 1].string, "latchd:left");
            const Duration age = age_of(dates[i].string, reply.view.shown, "latchd:left");
            if (age <= reply.view.claims_kept()) leavers[from] = {0, from, age, {}};
        }
        for (std::size_t i = 1; i < fields.size(); i += 2) {
            const std::string_view name = fields[i - 1].string;
            if (name.starts_with('#')) {
                const auto incarnation =
                    number<Incarnation>(name.substr(1, name.find(':') - 1), "latchd:left");
                const auto it = leavers.find(incarnation);
                if (it == leavers.end()) continue;
                add(it->second.claims, parsed<core::Claims>(fields[i].string, "latchd:left"));
            } else if (!name.starts_with('@')) {
                read_lines(fields[i].string, leavers);
            }
        }
        for (auto& [incarnation, given] : leavers) {
            if (given.claims.size() != 0) reply.claims.push_back(std::move(given));
        }
    }
    // "<incarnation> <fence> <JSON>\n" each
    void read_lines(std::string_view text, std::map<Incarnation, HandedOver>& leavers) {
        while (!text.empty()) {
            const auto end = std::min(text.find('\n'), text.size() - 1);
            const std::string_view line = text.substr(0, end);
            text.remove_prefix(end + 1);
            const auto first = std::min(line.find(' '), line.size());
            const auto second = line.find(' ', first + 1);
            if (second == std::string_view::npos) return damaged("latchd:left");
            const auto it = leavers.find(number<Incarnation>(line.substr(0, first), "latchd:left"));
            if (it == leavers.end()) continue;
            it->second.claims.records.push_back(
                parsed<core::GrantRecord>(line.substr(second + 1), "latchd:left"));
        }
    }

    const resp::Value& value_;
    std::string damage_;
};

}  // namespace

void append_arbiter_call(std::string& out,
                         const Keys& keys,
                         Sending sending,
                         const ArbiterCall& call) {
    const Parts parts = std::visit(Composer(keys), call);
    resp::CommandWriter writer(out, 3 + parts.keys.size() + parts.arguments.size());
    if (sending == Sending::digest) {
        writer.argument("EVALSHA").argument(parts.sha1);
    } else {
        writer.argument("EVAL").argument(parts.text);
    }
    writer.argument(static_cast<std::int64_t>(parts.keys.size()));
    for (const std::string& key : parts.keys) writer.argument(key);
    for (const std::string& argument : parts.arguments) writer.argument(argument);
}

std::variant<ArbiterReply, Refusal> read_arbiter_reply(const ArbiterCall& call,
                                                       const resp::Value& value) {
    if (value.is(Type::error)) return read_error(value.string);
    ReplyReader answer(value);
    ArbiterReply reply = answer.read(call);
    if (!answer.damage().empty()) return unreadable(answer.damage());
    return reply;
}

}  // namespace latchd::store::redis
