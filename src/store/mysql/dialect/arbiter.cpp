// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "arbiter.hpp"

#include "session.hpp"

#include <latchd/store/arbiter/codec.hpp>

#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

namespace latchd::store::mysql {
namespace {

using namespace core::authority;
using store::arbiter::to_json;

constexpr std::string_view begin = "START TRANSACTION;";
constexpr std::string_view commit = "COMMIT;";

// Composes one text. `@done` and `@now` are the call's answer and its time.
class Statements {
public:
    explicit Statements(std::string_view cluster) : cluster_(literal(cluster)) {
        out_ = "SET @now=FLOOR(UNIX_TIMESTAMP(NOW(6))*1000),@done=1;";
    }

    [[nodiscard]] std::string finish(const ArbiterCall& call) && {
        view(call);
        return std::move(out_);
    }

    void operator()(const ReadView&) {}
    void operator()(const FetchClaims&) {}
    void operator()(const ReadRegistry&) {}

    void operator()(const Beat& call) {
        add(begin);
        if (call.replaces && *call.replaces != call.row.incarnation) take_out(*call.replaces);
        put(call.row, "LEAST(" + std::to_string(call.row.acked) + ",epoch)");
        add(commit);
    }

    void operator()(const Propose& call) {
        add(arbiter_begin_statement_of(cluster_));
        add(begin);
        lock_record();
        if (call.next.epoch <= (call.expected ? call.expected->epoch : 0)) {
            add("SET @done=0;");
        } else if (!call.expected) {
            add("SET @done=(SELECT COUNT(*) FROM authority WHERE ", is_ours(), " AND epoch=0);");
        } else {
            compare(call.expected->epoch, call.expected->state, call.expected->nonce, {});
        }
        FleetRecord next = call.next;
        next.placement.state = RecordState::settling;
        add("UPDATE authority SET epoch=", number(next.epoch), ",body=", literal(to_json(next)));
        add(" WHERE ", is_ours(), " AND @done=1;");
        put(next.placement);
        add(commit);
    }

    void operator()(const HandOver& call) {
        const std::string epoch = number(call.epoch);
        const std::string incarnation = number(call.row.incarnation);
        add(begin);
        // Its row lock is what hand-overs and openings meet at.
        add("UPDATE authority SET claims_version=claims_version+1 WHERE ", is_ours());
        add(" AND epoch=", epoch, " AND epoch>0;SET @done=ROW_COUNT();");
        if (call.is_first) {
            add("DELETE FROM claim WHERE ", is_ours(), " AND epoch=", epoch);
            add(" AND incarnation=", incarnation, " AND @done=1;");
        }
        if (call.claims.size() != 0) {
            add("INSERT INTO claim (cluster,epoch,incarnation,part,at_ms,body) SELECT cluster,");
            add(epoch, ",", incarnation, ",claims_version,@now,", literal(to_json(call.claims)));
            add(" FROM authority WHERE ", is_ours(), " AND @done=1;");
        }
        if (call.is_last) put(call.row, epoch);
        add(commit);
    }

    void operator()(const OpenEpoch& call) {
        add(begin);
        lock_record();
        compare(call.epoch, RecordState::settling, call.settling, call.claims_version);
        Placement next = call.next;
        next.state = RecordState::open;
        put(next);
        add("UPDATE authority SET opened=", number(call.epoch), " WHERE ", is_ours());
        add(" AND @done=1;");
        add("DELETE FROM claim WHERE ", is_ours(), " AND epoch<=", number(call.epoch));
        add(" AND @done=1;", commit);
    }

    void operator()(const Leave& call) {
        add(begin);
        add("UPDATE authority SET claims_version=claims_version+1 WHERE ", is_ours(), ";");
        add("SET @part=(SELECT claims_version FROM authority WHERE ", is_ours(), ");");
        core::Claims others = call.claims;
        others.records.clear();
        std::uint32_t row = 0;
        add("INSERT INTO left_claim (cluster,incarnation,part,number,at_ms,resource_id,"
            "business_id,fence,body) VALUES ");
        left(call.incarnation, row++, {}, 0, others.size() == 0 ? "" : to_json(others));
        for (const core::GrantRecord& record : call.claims.records) {
            add(",");
            left(call.incarnation, row++, record.key, record.fence, to_json(record));
        }
        add(";");
        // A day is longer than any claim counts.
        add("DELETE FROM left_claim WHERE ", is_ours(), " AND at_ms<@now-86400000;");
        if (call.is_last) take_out(call.incarnation);
        add(commit);
    }

    void operator()(const Forget& call) {
        add(begin);
        take_out(call.incarnation);
        add(commit);
    }

    void operator()(const Settled& call) {
        if (call.locks.empty()) return;
        add(begin);
        for (const core::GoneFence& lock : call.locks) {
            add("DELETE FROM left_claim WHERE ", is_ours(), " AND resource_id=");
            add(literal(lock.key.resource.view()), " AND business_id=");
            add(literal(lock.key.id.view()), " AND fence<=", number(lock.fence));
            add(" AND number>0;");
        }
        add(commit);
    }

    void operator()(const WriteResource& call) {
        const std::string name = literal(call.name.view());
        add(begin);
        // Its row lock keeps an epoch from beginning meanwhile.
        add("UPDATE authority SET registry_version=registry_version+1 WHERE ", is_ours());
        if (call.epoch) add(" AND epoch=", number(*call.epoch), " AND epoch>0");
        add(";SET @done=ROW_COUNT();");
        if (call.settings) {
            add("INSERT INTO resource (cluster,name,used,body) SELECT cluster,",
                name,
                ",use_period,");
            add(literal(to_json(*call.settings)), " FROM authority WHERE ", is_ours());
            add(" AND @done=1 ON DUPLICATE KEY UPDATE body=VALUES(body),used=VALUES(used),"
                "retired=0;");
        } else {
            add("DELETE FROM resource WHERE ", is_ours(), " AND name=", name, " AND @done=1;");
        }
        add(commit);
    }

    void operator()(const WriteBasis& call) {
        add(begin);
        // As WriteResource.
        add("UPDATE authority SET basis_number=basis_number+1,basis=");
        add(literal(to_json(call.change)), " WHERE ", is_ours(), " AND epoch=");
        add(number(call.epoch), " AND epoch>0 AND basis_number+1=", number(call.change.number));
        add(";SET @done=ROW_COUNT();", commit);
    }

    void operator()(const NoteUses& call) {
        const bool ends = call.period > Duration::zero();
        add(begin, "SELECT epoch FROM authority WHERE ", is_ours(), " FOR UPDATE;");
        if (ends) {
            add("SET @over=(SELECT use_period=0 OR @now-use_since_ms>=");
            add(std::to_string(to_ms(call.period)), " FROM authority WHERE ", is_ours(), ");");
            add("UPDATE authority SET use_period=use_period+@over,use_since_ms="
                "IF(@over,@now,LEAST(use_since_ms,@now)) WHERE ",
                is_ours(),
                ";");
        }
        add("SET @period=(SELECT use_period FROM authority WHERE ", is_ours(), "),@changed=0;");
        add("UPDATE resource SET used=@period WHERE ", is_ours(), " AND used=0;");
        if (!call.used.empty()) {
            std::string among = is_ours() + " AND @period>0 AND name IN (";
            for (const ResourceName& name : call.used) among += literal(name.view()) + ',';
            among.back() = ')';
            add("SET @changed=(SELECT COUNT(*) FROM resource WHERE ", among, " AND retired=1);");
            add("UPDATE resource SET used=@period,retired=0 WHERE ", among, ";");
        }
        if (ends) {
            add("UPDATE resource SET retired=1 WHERE ", is_ours(), " AND retired=0 AND used+");
            add(number(unused_periods_max), "<@period;SET @changed=@changed+ROW_COUNT();");
        }
        add("UPDATE authority SET registry_version=registry_version+1 WHERE ", is_ours());
        add(" AND @changed>0;", commit);
    }

    [[nodiscard]] static std::string arbiter_begin_statement_of(const std::string& cluster) {
        return "INSERT IGNORE INTO authority (cluster) VALUES (" + cluster + ");";
    }

private:
    template <class... Texts>
    void add(const Texts&... texts) {
        (out_.append(texts), ...);
    }
    [[nodiscard]] static std::string number(std::uint64_t value) { return std::to_string(value); }
    [[nodiscard]] std::string is_ours() const { return "cluster=" + cluster_; }

    void lock_record() {
        add("SELECT since_epoch FROM placement WHERE ", is_ours(), " AND name='main' FOR UPDATE;");
        add("SELECT epoch FROM authority WHERE ", is_ours(), " FOR UPDATE;");
    }
    void compare(Epoch epoch,
                 RecordState state,
                 const Nonce& nonce,
                 std::optional<std::uint64_t> claims_version) {
        add("SET @done=(SELECT COUNT(*) FROM authority JOIN placement USING (cluster) WHERE ");
        add(is_ours(), " AND name='main' AND epoch=", number(epoch), " AND epoch>0 AND state='");
        add(state == RecordState::open ? "open" : "settling", "' AND nonce=");
        add(literal(nonce.view()));
        if (claims_version) add(" AND claims_version=", number(*claims_version));
        add(");");
    }
    void put(const Placement& next) {
        add("INSERT INTO placement (cluster,name,since_epoch,state,nonce,store,since_ms,body) "
            "SELECT cluster,'main',",
            number(next.since_epoch));
        add(next.state == RecordState::open ? ",'open'," : ",'settling',");
        add(literal(next.nonce.view()), ",", literal(next.store), ",@now,");
        add(literal(to_json(next)), " FROM authority WHERE ", is_ours(), " AND @done=1");
        add(" ON DUPLICATE KEY UPDATE since_epoch=VALUES(since_epoch),state=VALUES(state),"
            "nonce=VALUES(nonce),store=VALUES(store),since_ms=VALUES(since_ms),"
            "body=VALUES(body);");
    }
    // A2. Assignments go from left to right: the beat comes last.
    void put(const NodeRow& row, const std::string& acked) {
        add("INSERT INTO node (cluster,incarnation,name,acked,beat,body) SELECT cluster,");
        add(number(row.incarnation), ",", literal(row.name.view()), ",", acked, ",");
        add(number(row.beat), ",", literal(to_json(row)), " FROM authority WHERE ", is_ours());
        add(" AND @done=1 ON DUPLICATE KEY UPDATE node.acked=GREATEST(node.acked,VALUES(acked)),"
            "node.name=IF(VALUES(beat)<node.beat,node.name,VALUES(name)),"
            "node.body=IF(VALUES(beat)<node.beat,node.body,VALUES(body)),"
            "node.beat=GREATEST(node.beat,VALUES(beat));");
    }
    void take_out(Incarnation incarnation) {
        add("DELETE FROM node WHERE ", is_ours(), " AND incarnation=", number(incarnation), ";");
    }
    void left(Incarnation incarnation,
              std::uint32_t row,
              const LockKey& key,
              Fence fence,
              const std::string& body) {
        add("(", cluster_, ",", number(incarnation), ",@part,", number(row), ",@now,");
        add(literal(key.resource.view()), ",", literal(key.id.view()), ",", number(fence), ",");
        add(literal(body), ")");
    }

    // One moment, whatever is written meanwhile. read_arbiter() counts these from the end.
    void view(const ArbiterCall& call) {
        add("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;"
            "START TRANSACTION WITH CONSISTENT SNAPSHOT;");
        if (const auto* fetch = std::get_if<FetchClaims>(&call)) page(fetch->after);
        if (std::holds_alternative<ReadRegistry>(call)) {
            add("SELECT name,body,retired FROM resource WHERE ", is_ours(), " ORDER BY name;");
        }
        add("SELECT acked,body FROM node WHERE ", is_ours(), " ORDER BY name,incarnation;");
        add("SELECT @now,@done,@@global.read_only,a.epoch,a.claims_version,a.registry_version,"
            "a.body,p.since_ms,p.body,a.use_period,a.basis_number,a.basis FROM authority a LEFT "
            "JOIN placement p ON "
            "p.cluster=a.cluster AND p.name='main' WHERE a.",
            is_ours(),
            ";COMMIT");
    }

    // The claims of nodes first, then those of leavers. Within one version of the claims nothing of
    // them changes, so a place in their order is a place to go on at.
    void page(const std::string& after) {
        const ClaimsPage at = claims_page_of(after);
        const std::string none = " LIMIT 0;";
        add("SELECT epoch,incarnation,at_ms,body FROM claim WHERE ", is_ours());
        add(" AND epoch>(SELECT opened FROM authority WHERE ", is_ours());
        add(") ORDER BY epoch,incarnation,part");
        add(at.is_left ? none : limit(claim_parts_per_page, at.first));
        add("SELECT l.incarnation,l.number,d.at_ms,l.body FROM left_claim l JOIN (SELECT "
            "incarnation,MAX(at_ms) at_ms FROM left_claim WHERE ",
            is_ours(),
            " GROUP BY incarnation) d ON d.incarnation=l.incarnation WHERE l.");
        add(is_ours(), " ORDER BY l.incarnation,l.part,l.number");
        add(at.is_left ? limit(left_claims_per_page, at.first) : none);
    }
    [[nodiscard]] static std::string limit(std::size_t rows, std::size_t first) {
        return " LIMIT " + number(rows) + " OFFSET " + number(first) + ";";
    }

    std::string cluster_;  // as a literal
    std::string out_;
};

}  // namespace

ClaimsPage claims_page_of(const std::string& after) {
    ClaimsPage page;
    if (after.empty()) return page;
    page.is_left = after.front() == 'l';
    std::from_chars(after.data() + 1, after.data() + after.size(), page.first);
    return page;
}

std::string arbiter_begin_statement(std::string_view cluster) {
    return Statements::arbiter_begin_statement_of(literal(cluster));
}

std::string arbiter_statements(std::string_view cluster, const ArbiterCall& call) {
    Statements statements(cluster);
    std::visit(statements, call);
    return std::move(statements).finish(call);
}

}  // namespace latchd::store::mysql
