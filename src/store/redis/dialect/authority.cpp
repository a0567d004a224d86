// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "authority.hpp"

#include "script_reply.hpp"

#include <latchd/resp/command_writer.hpp>

#include <charconv>
#include <optional>
#include <span>
#include <string_view>

namespace latchd::store::redis {
namespace {

using core::authority::ClusterUuid;
using core::authority::Marker;
using core::authority::Nonce;
using core::authority::Record;
using core::authority::RecordState;
using Type = resp::Value::Type;

constexpr std::size_t record_fields = 8;
constexpr std::size_t marker_fields = 5;

std::string_view state_word(RecordState state) noexcept {
    return state == RecordState::open ? "open" : "settling";
}

resp::CommandWriter begin(std::string& out,
                          const Keys& keys,
                          const Scripts& scripts,
                          Script script,
                          std::size_t arguments) {
    resp::CommandWriter call(out, 5 + arguments);
    call.argument("EVALSHA").argument(scripts.digest(script)).argument(std::int64_t{2});
    call.argument(keys.record()).argument(keys.marker());
    return call;
}

// uuid, epoch, nonce, run_id, replid, replid2, reason
void append_record(resp::CommandWriter& call, const Record& record) {
    call.argument(record.uuid.view()).argument(std::int64_t{record.epoch});
    call.argument(record.nonce.view()).argument(record.store.run_id).argument(record.store.replid);
    call.argument(record.store.replid2).argument(record.reason);
}

std::optional<std::uint32_t> number_of(const resp::Value& value) {
    std::uint32_t number = 0;
    const char* const end = value.string.data() + value.string.size();
    const auto [ptr, error] = std::from_chars(value.string.data(), end, number);
    if (error != std::errc() || ptr != end || value.string.empty()) return std::nullopt;
    return number;
}

enum class Presence { absent, whole, damaged };

Presence presence_of(std::span<const resp::Value> fields) {
    std::size_t present = 0;
    for (const resp::Value& field : fields) present += field.is(Type::bulk) ? 1 : 0;
    if (present == 0) return Presence::absent;
    return present == fields.size() ? Presence::whole : Presence::damaged;
}

std::optional<Record> record_of(std::span<const resp::Value> fields) {
    const std::optional<std::uint32_t> epoch = number_of(fields[1]);
    const std::string& state = fields[2].string;
    if (!epoch || *epoch == 0 || (state != "open" && state != "settling")) return std::nullopt;
    Record record;
    record.uuid = ClusterUuid(fields[0].string);
    record.epoch = *epoch;
    record.state = state == "open" ? RecordState::open : RecordState::settling;
    record.nonce = Nonce(fields[3].string);
    record.store.run_id = fields[4].string;
    record.store.role = core::authority::Role::master;
    record.store.replid = fields[5].string;
    record.store.replid2 = fields[6].string;
    record.reason = fields[7].string;
    return record;
}

std::optional<Marker> marker_of(std::span<const resp::Value> fields) {
    const std::optional<std::uint32_t> epoch = number_of(fields[1]);
    const std::optional<std::uint32_t> counter = number_of(fields[4]);
    if (!epoch || *epoch == 0 || !counter) return std::nullopt;
    return Marker{
        ClusterUuid(fields[0].string), *epoch, Nonce(fields[2].string), fields[3].string, *counter};
}

bool is_answer(const resp::Value& value) {
    return value.is(Type::array) && value.elements.size() == 4 &&
           value.elements[0].is(Type::integer) && value.elements[1].is(Type::integer) &&
           value.elements[2].elements.size() == record_fields &&
           value.elements[3].elements.size() == marker_fields;
}

}  // namespace

void append_authority_read(std::string& out, const Keys& keys, const Scripts& scripts) {
    begin(out, keys, scripts, Script::authority_read, 0);
}

void append_settle(std::string& out,
                   const Keys& keys,
                   const Scripts& scripts,
                   const core::authority::Settle& settle) {
    auto call = begin(out, keys, scripts, Script::authority_settle, 10);
    if (settle.expected) {
        call.argument(std::int64_t{settle.expected->epoch});
        call.argument(state_word(settle.expected->state));
        call.argument(settle.expected->nonce.view());
    } else {
        call.argument("").argument("").argument("");
    }
    append_record(call, settle.next);
}

void append_open(std::string& out,
                 const Keys& keys,
                 const Scripts& scripts,
                 const core::authority::Open& open) {
    auto call = begin(out, keys, scripts, Script::authority_open, 12);
    call.argument(std::int64_t{open.settling.epoch}).argument(open.settling.nonce.view());
    if (open.marker) {
        call.argument(std::int64_t{open.marker->epoch}).argument(open.marker->nonce.view());
    } else {
        call.argument("").argument("");
    }
    append_record(call, open.next);
    call.argument(std::int64_t{open.counter});
}

std::variant<AuthorityView, Refusal> read_authority(const resp::Value& value) {
    if (value.is(Type::error)) return read_error(value.string);
    if (!is_answer(value)) return unreadable("authority");
    AuthorityView view;
    view.done = value.elements[0].integer == 1;
    view.server_ms = value.elements[1].integer;
    const std::span<const resp::Value> record = value.elements[2].elements;
    const std::span<const resp::Value> marker = value.elements[3].elements;
    if (presence_of(record) == Presence::whole) view.sight.record = record_of(record);
    if (presence_of(marker) == Presence::whole) view.sight.marker = marker_of(marker);
    if (presence_of(marker) != Presence::absent && !view.sight.marker) {
        view.damaged = "latchd:marker";
    }
    if (presence_of(record) != Presence::absent && !view.sight.record) {
        view.damaged = "latchd:record";
    }
    return view;
}

}  // namespace latchd::store::redis
