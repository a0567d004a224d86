// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "statements.hpp"
#include "text.hpp"

#include <latchd/base/glob.hpp>

// Lists, hand-over, sweep, probe, connections, messages.
namespace latchd::store::mysql {
namespace {

void append_after(Text& text, const std::optional<LockKey>& after) {
    if (!after) return;
    text << " AND (r.resource_id>" << bytes(after->resource.view())
         << " OR (r.resource_id=" << bytes(after->resource.view()) << " AND r.business_id>"
         << bytes(after->id.view()) << "))";
}

void append_over(Text& text, std::int64_t cutoff_us) {
    text << "r.free_at<=" << cutoff_us << " AND r.bars_until<=" << cutoff_us
         << " AND r.expire_at+r.delay<=" << cutoff_us << " AND r.changed_at<=" << cutoff_us;
}

// Its column `request` names the hold that the other node renews from now on.
bool is_moved(const core::NodeMessage& message) noexcept {
    return message.kind == core::NodeMessage::Kind::moved;
}

}  // namespace

std::string list_statement(const Guard& guard, const core::List& list) {
    // 52 bits of a digest: a cursor that every client reads exactly.
    constexpr std::string_view position =
        "CAST(CONV(LEFT(MD5(CONCAT(r.resource_id,':',r.business_id)),13),16,10) AS UNSIGNED)";
    Text text;
    text << "SELECT " << row_columns << "," << position
         << "+1 AS place FROM placement p STRAIGHT_JOIN lock_record r ON r.cluster=p.cluster"
            " AND r.since_epoch=p.since_epoch WHERE p.cluster="
         << bytes(guard.cluster) << " AND p.name='main' AND p.since_epoch=" << guard.since
         << " AND r.free_at>" << now_expression << " HAVING place>=" << list.cursor
         << " ORDER BY place LIMIT " << std::uint64_t{list.count} + 1;
    return text.take();
}

std::vector<core::GrantRecord> read_list(
    const Rows& rows, const core::List& list, Epoch since, Time now, std::uint64_t& cursor) {
    std::vector<core::GrantRecord> found;
    cursor = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i == list.count) {
            cursor = rows.number<std::uint64_t>(i, rows.columns() - 1).value_or(0);
            break;
        }
        const LockRow row = read_row(rows, i);
        if (row.is_damaged || !row.is_live(now, since)) continue;
        const std::string name = row.key.resource.str() + ":" + row.key.id.str();
        if (!list.pattern.empty() && !glob_matches(list.pattern, name)) continue;
        found.push_back(core::to_record(row.key, row.record, now));
    }
    return found;
}

std::string claims_statement(std::string_view cluster,
                             Epoch since,
                             const std::optional<LockKey>& after,
                             std::size_t count) {
    Text text;
    text << "SELECT " << row_columns << " FROM lock_record r WHERE r.cluster=" << bytes(cluster);
    append_after(text, after);
    text << " AND r.since_epoch=" << since << " AND (r.free_at>" << now_expression
         << " OR r.bars_until>" << now_expression << ") ORDER BY r.resource_id,r.business_id LIMIT "
         << count;
    return text.take();
}

std::string sweep_look_statement(std::string_view cluster,
                                 const std::optional<LockKey>& after,
                                 std::int64_t cutoff_us,
                                 std::size_t count) {
    Text text;
    text << "SELECT r.resource_id,r.business_id,(";
    append_over(text, cutoff_us);
    text << ") FROM lock_record r WHERE r.cluster=" << bytes(cluster);
    append_after(text, after);
    text << " ORDER BY r.resource_id,r.business_id LIMIT " << count;
    return text.take();
}

std::string sweep_statements(std::string_view cluster,
                             const LockKey& first,
                             const LockKey& last,
                             std::int64_t cutoff_us) {
    const auto append_range = [&](Text& text) {
        text << " r.cluster=" << bytes(cluster) << " AND (r.resource_id>"
             << bytes(first.resource.view())
             << " OR (r.resource_id=" << bytes(first.resource.view())
             << " AND r.business_id>=" << bytes(first.id.view()) << ")) AND (r.resource_id<"
             << bytes(last.resource.view()) << " OR (r.resource_id=" << bytes(last.resource.view())
             << " AND r.business_id<=" << bytes(last.id.view()) << ")) AND ";
        append_over(text, cutoff_us);
    };
    Text text;
    text << "START TRANSACTION;SELECT since_epoch FROM placement WHERE cluster=" << bytes(cluster)
         << " AND name='main' FOR UPDATE;"
            "INSERT INTO lock_floor (cluster,fence) SELECT "
         << bytes(cluster) << ",IFNULL(MAX(r.counter),0) FROM lock_record r WHERE";
    append_range(text);
    text << " ON DUPLICATE KEY UPDATE lock_floor.fence=GREATEST(lock_floor.fence,VALUES(fence));"
            "DELETE r FROM lock_record r WHERE";
    append_range(text);
    text << ";COMMIT";
    return text.take();
}

std::string probe_statements(std::string_view cluster, const NodeName& node) {
    Text text;
    text << "INSERT INTO latchd_probe (cluster,node,at) VALUES (" << bytes(cluster) << ","
         << bytes(node.view()) << "," << clock_expression
         << ") ON DUPLICATE KEY UPDATE at=VALUES(at);SELECT " << clock_expression
         << ",@@global.read_only,@@server_id,@@hostname,@@port"
            // Reads nothing; but without one of these no LOCK is carried out.
            ";SELECT 1 FROM lock_record,lock_floor WHERE FALSE";
    return text.take();
}

std::string kill_statement(std::uint64_t connection_id) {
    return "KILL CONNECTION " + std::to_string(connection_id);
}

std::string alive_statement(std::span<const std::uint64_t> connection_ids) {
    Text text;
    text << "SELECT id FROM information_schema.processlist WHERE id IN (0";
    for (const std::uint64_t id : connection_ids) text << "," << id;
    text << ")";
    return text.take();
}

std::string letters_statement(std::string_view cluster, std::span<const Letter> letters) {
    Text text;
    text << "INSERT INTO lock_message (cluster,node,at,kind,resource_id,business_id,fence,version,"
            "request,keep) VALUES ";
    for (const Letter& letter : letters) {
        const core::NodeMessage& message = letter.message;
        if (&letter != letters.data()) text << ",";
        text << "(" << bytes(cluster) << "," << bytes(letter.to.view()) << "," << now_expression
             << "," << static_cast<int>(message.kind) << "," << bytes(message.key.resource.view())
             << "," << bytes(message.key.id.view()) << "," << message.fence << ","
             << message.version << ","
             << bytes(is_moved(message) ? std::string_view(message.hold) : message.request.view())
             << "," << (message.keep ? 1 : 0) << ")";
    }
    return text.take();
}

std::string read_letters_statement(std::string_view cluster,
                                   const NodeName& node,
                                   std::uint64_t after_id) {
    Text text;
    text << "SELECT id,kind,resource_id,business_id,fence,version,request,keep FROM lock_message"
            " WHERE id>"
         << after_id << " AND cluster=" << bytes(cluster) << " AND node IN ('',"
         << bytes(node.view()) << ") ORDER BY id LIMIT 5000";
    return text.take();
}

std::optional<core::NodeMessage> read_letter(const Rows& rows, std::size_t row) {
    const auto kind = rows.number<unsigned>(row, 1);
    const auto fence = rows.number<Fence>(row, 4);
    const auto version = rows.number<std::uint64_t>(row, 5);
    if (!kind || *kind > static_cast<unsigned>(core::NodeMessage::Kind::offered) || !fence ||
        !version) {
        return std::nullopt;
    }
    core::NodeMessage message;
    message.kind = static_cast<core::NodeMessage::Kind>(*kind);
    message.key = {ResourceName(rows.text(row, 2)), LockId(rows.text(row, 3))};
    message.fence = *fence;
    message.version = *version;
    if (is_moved(message)) {
        message.hold = rows.text(row, 6);
    } else {
        message.request = RequestId(rows.text(row, 6));
    }
    message.keep = rows.text(row, 7) == "1";
    return message;
}

std::string last_letter_statement() { return "SELECT IFNULL(MAX(id),0) FROM lock_message"; }

std::string old_letters_statement(std::string_view cluster, Duration age) {
    Text text;
    text << "DELETE FROM lock_message WHERE cluster=" << bytes(cluster) << " AND at<"
         << now_expression << "-" << age.count() << " ORDER BY id LIMIT 1000";
    return text.take();
}

}  // namespace latchd::store::mysql
