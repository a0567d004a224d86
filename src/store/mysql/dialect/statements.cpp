// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "statements.hpp"

#include "decision.hpp"
#include "text.hpp"

#include <cctype>
#include <utility>
#include <variant>

// The placement's row comes first in FROM (STRAIGHT_JOIN), so it is locked before any lock's row.
// Values come as one table of SELECTs: nothing of a statement can change a row unless the
// placement's row is as it should be. Assignments go from left to right; the first one decides
// whether the row gets the wish's stamp, and the others look at that.
namespace latchd::store::mysql {
namespace {

constexpr std::string_view columns =
    "cluster,resource_id,business_id,since_epoch,stamp,fence,counter,version,expire_at,free_at,"
    "hard_at,ttl,delay,renewals,renew_max,hold_count,holder_id,node,client,create_time,changed_at,"
    "bars_until,holds,bars,waiting";

void append_placed(Text& text, const Guard& guard) {
    text << "p.since_epoch=" << guard.since;
    if (guard.is_settling) {
        text << " AND p.state='settling'";
    } else {
        text << " AND p.nonce=" << bytes(guard.nonce.view()) << " AND p.state='open'";
    }
}

// v_window: of each row.
void append_guard(Text& text, const Guard& guard) {
    text << " WHERE p.cluster=" << bytes(guard.cluster) << " AND p.name='main' AND ";
    append_placed(text, guard);
    text << " AND @@global.read_only=0";
    if (guard.expected_us) {
        text << " AND (v_window<0 OR ABS(" << now_expression << "-" << *guard.expected_us
             << ")<=v_window)";
    }
}

void append_keys(Text& text, std::string_view cluster, std::span<const LockKey> keys) {
    text << "r.cluster=" << bytes(cluster) << " AND (";
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const bool is_first = i == 0 || keys[i].resource != keys[i - 1].resource;
        if (is_first) {
            if (i != 0) text << ") OR ";
            text << "r.resource_id=" << bytes(keys[i].resource.view()) << " AND r.business_id IN (";
        } else {
            text << ",";
        }
        text << bytes(keys[i].id.view());
    }
    text << "))";
}

// What a plain wish is made of: what the statement knows it by.
struct PlainValues {
    int kind = 0;  // 1: acquire, 2: renew, 3: release
    std::string mark;
    Duration ttl{};
    Duration hard{};
    Duration delay{};
    std::uint32_t renew_max = 0;
    std::string_view owner;
    std::string_view node;
    std::string_view client;
    std::string holds;
};

PlainValues values_of(const core::Operation& operation) {
    PlainValues values;
    if (const auto* wish = std::get_if<core::Acquire>(&operation)) {
        values = {1,
                  {},
                  wish->ttl,
                  wish->hold_max.value_or(Duration::zero()),
                  wish->delay,
                  wish->renew_max,
                  wish->owner.view(),
                  wish->node.view(),
                  wish->client.view(),
                  first_hold_text(wish->token, wish->request, wish->attempt, wish->retry_window)};
    } else if (const auto* renew = std::get_if<core::Renew>(&operation)) {
        values.kind = 2;
        values.mark = token_mark(renew->token);
        values.ttl = renew->ttl.value_or(Duration::zero());
        values.node = renew->node.view();
    } else if (const auto* release = std::get_if<core::Release>(&operation)) {
        values.kind = 3;
        values.mark = token_mark(release->token);
        values.node = release->node.view();
    }
    return values;
}

void append_plain_values(Text& text, const Guard& guard, const PlainWish& wish, bool is_first) {
    const LockKey key = key_of(*wish.operation);
    const PlainValues values = values_of(*wish.operation);
    const auto as = [&](std::string_view name) {
        if (is_first) text << " AS " << name;
    };
    text << (is_first ? "SELECT " : " UNION ALL SELECT ") << values.kind;
    as("v_kind");
    text << "," << bytes(key.resource.view());
    as("v_resource");
    text << "," << bytes(key.id.view());
    as("v_id");
    text << "," << bytes(wish.stamp);
    as("v_stamp");
    text << "," << bytes(values.mark);
    as("v_mark");
    text << "," << values.ttl.count();
    as("v_ttl");
    text << "," << values.hard.count();
    as("v_hard");
    text << "," << values.delay.count();
    as("v_delay");
    text << "," << values.renew_max;
    as("v_renew_max");
    text << "," << bytes(values.owner);
    as("v_owner");
    text << "," << bytes(values.node);
    as("v_node");
    text << "," << bytes(values.client);
    as("v_client");
    text << "," << bytes(values.holds);
    as("v_holds");
    text << "," << window_of(guard, *wish.operation).count();
    as("v_window");
}

// L: the row that is there. T1, T5, T6 for acquire; T7 and T8 as far as one hold of one node goes.
constexpr std::string_view plain_update =
    " ON DUPLICATE KEY UPDATE L.stamp=IF("
    "(v_kind=1 AND (L.since_epoch<>p.since_epoch OR (L.free_at<=@now AND L.bars_until<=@now"
    " AND IFNULL(L.waiting,'')='')))"
    " OR (v_kind>1 AND L.since_epoch=p.since_epoch AND L.node=v_node AND LOCATE(v_mark,L.holds)>0"
    " AND ((v_kind=2 AND L.expire_at>@now AND L.free_at>@now"
    " AND (L.renew_max=0 OR L.renewals<L.renew_max))"
    " OR (v_kind=3 AND L.free_at>@now AND L.hold_count=1"
    " AND IFNULL(L.waiting,'')=''))),v_stamp,L.stamp),"
    "L.changed_at=IF(L.stamp=v_stamp,@now,L.changed_at),"
    "L.version=IF(L.stamp=v_stamp,CASE v_kind WHEN 1 THEN 1 WHEN 2 THEN L.version+1"
    " ELSE L.version END,L.version),"
    "L.renewals=IF(L.stamp=v_stamp,CASE v_kind WHEN 1 THEN 0 WHEN 2 THEN L.renewals+1"
    " ELSE L.renewals END,L.renewals),"
    "L.ttl=IF(L.stamp=v_stamp AND v_kind<3 AND v_ttl>0,v_ttl,L.ttl),"
    "L.hard_at=IF(L.stamp=v_stamp AND v_kind=1,IF(v_hard=0,NULL,@now+v_hard),L.hard_at),"
    "L.delay=IF(L.stamp=v_stamp AND v_kind=1,v_delay,L.delay),"
    "L.expire_at=IF(L.stamp=v_stamp AND v_kind<3,GREATEST(IF(v_kind=1,0,L.expire_at),"
    "LEAST(@now+L.ttl,IFNULL(L.hard_at,@now+L.ttl))),L.expire_at),"
    "L.free_at=IF(L.stamp=v_stamp,IF(v_kind=3,0,L.expire_at+L.delay),L.free_at),"
    "L.counter=IF(L.stamp=v_stamp AND v_kind=1,"
    "GREATEST(L.counter,IFNULL(f.fence,0),p.since_epoch<<32)+1,L.counter),"
    "L.fence=IF(L.stamp=v_stamp AND v_kind=1,L.counter,L.fence),"
    "L.renew_max=IF(L.stamp=v_stamp AND v_kind=1,v_renew_max,L.renew_max),"
    "L.hold_count=IF(L.stamp=v_stamp AND v_kind=1,1,L.hold_count),"
    "L.holder_id=IF(L.stamp=v_stamp AND v_kind=1,v_owner,L.holder_id),"
    "L.node=IF(L.stamp=v_stamp AND v_kind=1,v_node,L.node),"
    "L.client=IF(L.stamp=v_stamp AND v_kind=1,v_client,L.client),"
    "L.create_time=IF(L.stamp=v_stamp AND v_kind=1,@now,L.create_time),"
    "L.holds=IF(L.stamp=v_stamp AND v_kind=1,v_holds,L.holds),"
    "L.bars_until=IF(L.stamp=v_stamp AND v_kind=1,0,L.bars_until),"
    "L.bars=IF(L.stamp=v_stamp AND v_kind=1,'',L.bars),"
    "L.waiting=IF(L.stamp=v_stamp AND v_kind=1,'',L.waiting),"
    "L.since_epoch=IF(L.stamp=v_stamp AND v_kind=1,p.since_epoch,L.since_epoch)";

// A lock without a row: an acquire makes it, the others leave one that is free.
constexpr std::string_view plain_insert =
    ") SELECT p.cluster,v_resource,v_id,p.since_epoch,IF(v_kind=1,v_stamp,''),"
    "IF(v_kind=1,GREATEST(IFNULL(f.fence,0),p.since_epoch<<32)+1,0),"
    "GREATEST(IFNULL(f.fence,0),p.since_epoch<<32)+(v_kind=1),(v_kind=1),"
    "IF(v_kind=1,IF(v_hard=0,@now+v_ttl,@now+LEAST(v_ttl,v_hard)),0),"
    "IF(v_kind=1,IF(v_hard=0,@now+v_ttl,@now+LEAST(v_ttl,v_hard))+v_delay,0),"
    "IF(v_kind=1 AND v_hard>0,@now+v_hard,NULL),v_ttl,v_delay,0,v_renew_max,(v_kind=1),v_owner,"
    "IF(v_kind=1,v_node,''),v_client,@now,@now,0,v_holds,'',''"
    " FROM placement p LEFT JOIN lock_floor f ON f.cluster=p.cluster STRAIGHT_JOIN (";

std::string with_names(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text.substr(i).starts_with("@now")) {
            out += now_expression;
            i += 3;
        } else if (text.substr(i).starts_with("L.") && (i == 0 || !std::isalpha(text[i - 1]))) {
            out += "lock_record.";
            ++i;
        } else {
            out += text[i];
        }
    }
    return out;
}

void append_row_values(Text& text, const RowWrite& write, bool is_first) {
    const LockRow& row = *write.next;
    const core::KeptRecord& record = row.record;
    const std::string holds = holds_text(record);
    const std::string bars = bars_text(row.bars);
    const std::string waiting = queue_text(row.queue);
    text << (is_first ? "SELECT " : " UNION ALL SELECT ");
    const auto put = [&](const auto& value, std::string_view name) {
        text << value;
        if (is_first) text << " AS " << name;
        if (name != "v_window") text << ",";
    };
    put(bytes(row.key.resource.view()), "v_resource");
    put(bytes(row.key.id.view()), "v_id");
    put(bytes(row.stamp), "v_seen");
    put(bytes(write.stamp), "v_stamp");
    put(record.fence, "v_fence");
    put(row.counter, "v_counter");
    put(record.version, "v_version");
    put(to_us(record.lease_end), "v_expire_at");
    put(to_us(row.free_at), "v_free_at");
    put(record.has_hard_end() ? to_us(record.hard_end) : 0, "v_hard_at");
    put(record.ttl.count(), "v_ttl");
    put(record.delay.count(), "v_delay");
    put(record.renewals, "v_renewals");
    put(record.renew_max, "v_renew_max");
    put(record.holds.size(), "v_hold_count");
    put(bytes(record.owner.view()), "v_owner");
    put(bytes(record.node.view()), "v_node");
    put(bytes(record.client.view()), "v_client");
    put(to_us(record.granted_at), "v_create_time");
    put(to_us(row.changed_at), "v_changed_at");
    put(to_us(row.bars_until()), "v_bars_until");
    put(bytes(holds), "v_holds");
    put(bytes(bars), "v_bars");
    put(bytes(waiting), "v_waiting");
    put(write.window.count(), "v_window");
}

constexpr std::pair<std::string_view, std::string_view> written[] = {
    {"since_epoch", "p.since_epoch"},
    {"fence", "v_fence"},
    {"counter", "GREATEST(lock_record.counter,v_counter)"},
    {"version", "v_version"},
    {"expire_at", "v_expire_at"},
    {"free_at", "v_free_at"},
    {"hard_at", "NULLIF(v_hard_at,0)"},
    {"ttl", "v_ttl"},
    {"delay", "v_delay"},
    {"renewals", "v_renewals"},
    {"renew_max", "v_renew_max"},
    {"hold_count", "v_hold_count"},
    {"holder_id", "v_owner"},
    {"node", "v_node"},
    {"client", "v_client"},
    {"create_time", "v_create_time"},
    {"changed_at", "v_changed_at"},
    {"bars_until", "v_bars_until"},
    {"holds", "v_holds"},
    {"bars", "v_bars"},
    {"waiting", "v_waiting"},
};

}  // namespace

std::string guard_statement(const Guard& guard, GuardLock lock) {
    Text text;
    text << "SELECT (";
    append_placed(text, guard);
    text << ")," << now_expression
         << ",@@global.read_only,IFNULL(f.fence,0) FROM placement p LEFT JOIN lock_floor f"
            " ON f.cluster=p.cluster WHERE p.cluster="
         << bytes(guard.cluster) << " AND p.name='main'";
    if (lock == GuardLock::share) text << " LOCK IN SHARE MODE";
    if (lock == GuardLock::update) text << " FOR UPDATE";
    return text.take();
}

GuardSeen read_guard(const Rows& rows) {
    GuardSeen seen;
    if (rows.size() != 1) return seen;
    seen.is_placed = rows.number(0, 0) == 1;
    seen.now = server_time(rows.number(0, 1).value_or(0));
    seen.is_writable = rows.text(0, 2) == "0";
    seen.floor = rows.number<Fence>(0, 3).value_or(0);
    return seen;
}

Duration window_of(const Guard& guard, const core::Operation& operation) noexcept {
    if (!may_grant(operation)) return Duration(-1);
    return is_strict(operation) ? guard.strict_window : guard.window;
}

bool is_clock_off(const Guard& guard, Time now, const core::Operation& operation) noexcept {
    const Duration window = window_of(guard, operation);
    if (!guard.expected_us || window < Duration::zero()) return false;
    const std::int64_t off = to_us(now) - *guard.expected_us;
    return off > window.count() || off < -window.count();
}

bool is_plain(const core::Operation& operation) noexcept {
    if (const auto* wish = std::get_if<core::Acquire>(&operation)) return !wish->join_only;
    if (const auto* release = std::get_if<core::Release>(&operation)) return !release->then;
    const auto* const renew = std::get_if<core::Renew>(&operation);
    return renew != nullptr && !renew->stands;
}

std::string plain_statement(const Guard& guard, std::span<const PlainWish> wishes) {
    static const std::string insert = with_names(plain_insert);
    static const std::string update = with_names(plain_update);
    Text text;
    text << "INSERT INTO lock_record (" << columns << insert;
    for (std::size_t i = 0; i < wishes.size(); ++i)
        append_plain_values(text, guard, wishes[i], i == 0);
    text << ") v";
    append_guard(text, guard);
    text << " LOCK IN SHARE MODE" << update;
    return text.take();
}

std::string rows_statement(std::string_view cluster,
                           std::span<const LockKey> keys,
                           bool for_update) {
    Text text;
    text << "SELECT " << row_columns << " FROM lock_record r WHERE ";
    append_keys(text, cluster, keys);
    if (for_update) text << " ORDER BY r.resource_id,r.business_id FOR UPDATE";
    return text.take();
}

std::string write_statement(const Guard& guard, std::span<const RowWrite> writes, bool overwrites) {
    Text text;
    text << "INSERT INTO lock_record (" << columns
         << ") SELECT p.cluster,v_resource,v_id,p.since_epoch,v_stamp,v_fence,v_counter,v_version,"
            "v_expire_at,v_free_at,NULLIF(v_hard_at,0),v_ttl,v_delay,v_renewals,v_renew_max,"
            "v_hold_count,v_owner,v_node,v_client,v_create_time,v_changed_at,v_bars_until,v_holds,"
            "v_bars,v_waiting FROM placement p STRAIGHT_JOIN (";
    for (std::size_t i = 0; i < writes.size(); ++i) append_row_values(text, writes[i], i == 0);
    text << ") v";
    append_guard(text, guard);
    text << " LOCK IN SHARE MODE ON DUPLICATE KEY UPDATE lock_record.stamp=";
    text << (overwrites ? "v_stamp" : "IF(lock_record.stamp=v_seen,v_stamp,lock_record.stamp)");
    for (const auto& [column, value] : written) {
        text << ",lock_record." << column << "=IF(lock_record.stamp=v_stamp," << value
             << ",lock_record." << column << ")";
    }
    return text.take();
}

std::string stamps_statement(std::string_view cluster, std::span<const LockKey> keys) {
    Text text;
    text << "SELECT r.resource_id,r.business_id,r.stamp FROM lock_record r WHERE ";
    append_keys(text, cluster, keys);
    return text.take();
}

}  // namespace latchd::store::mysql
