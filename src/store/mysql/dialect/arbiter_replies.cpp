// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "arbiter.hpp"

#include <latchd/store/arbiter/codec.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace latchd::store::mysql {
namespace {

using namespace core::authority;
using store::arbiter::from_json;

void append(core::Claims& to, core::Claims&& from) {
    const auto move = [](auto& all, auto& some) {
        all.insert(
            all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    };
    move(to.records, from.records);
    move(to.gone, from.gone);
    move(to.cancelled, from.cancelled);
}

// Takes the sets of the view apart and remembers what couldn't be understood.
class ArbiterReader {
public:
    ArbiterReader(const ArbiterCall& call, std::span<const Rows> sets) : call_(call), sets_(sets) {}

    std::variant<ArbiterView, std::string> read() {
        ArbiterView view;
        if (sets_.size() < 3 || set(2).size() != 1) return "the row of table authority is missing";
        read_record(set(2), view);
        read_rows(set(3), view.reply.view);
        if (const auto* fetch = std::get_if<FetchClaims>(&call_)) {
            ArbiterReply& reply = view.reply;
            reply.done = reply.view.record && reply.view.record->epoch == fetch->epoch;
            if (reply.done) {
                reply.claims_version = number<std::uint64_t>(set(2), 0, 4, "authority");
                read_claims(set(5), reply);
                read_left(set(4), reply);
                set_next(claims_page_of(fetch->after), set(5).size(), set(4).size(), reply);
            }
        }
        if (std::holds_alternative<ReadRegistry>(call_)) read_registry(set(4), view.reply);
        if (std::holds_alternative<NoteUses>(call_)) {
            view.reply.use_period = number<std::uint64_t>(set(2), 0, 9, "authority");
        }
        if (!damage_.empty()) return "unreadable: table " + damage_;
        return view;
    }

private:
    // The last one is COMMIT's.
    [[nodiscard]] const Rows& set(std::size_t from_end) {
        static const Rows none;
        if (from_end <= sets_.size()) return sets_[sets_.size() - from_end];
        damaged("?");
        return none;
    }
    void damaged(std::string_view table) {
        if (damage_.empty()) damage_ = table;
    }
    template <class Number>
    Number number(const Rows& rows, std::size_t row, std::size_t column, std::string_view table) {
        const std::optional<Number> value = rows.number<Number>(row, column);
        if (!value) damaged(table);
        return value.value_or(0);
    }
    template <class T>
    T parsed(const Rows& rows, std::size_t row, std::size_t column, std::string_view table) {
        std::optional<T> value = from_json<T>(rows.text(row, column));
        if (!value) damaged(table);
        return std::move(value).value_or(T{});
    }

    // Columns: as Statements::view() has them.
    void read_record(const Rows& rows, ArbiterView& view) {
        View& shown = view.reply.view;
        shown.shown = StoreMs{number<std::int64_t>(rows, 0, 0, "authority")};
        view.reply.done = rows.text(0, 1) == "1";
        view.is_read_only = rows.text(0, 2) != "0" && rows.text(0, 2) != "OFF";
        shown.registry_version = number<std::uint64_t>(rows, 0, 5, "authority");
        if (number<std::uint64_t>(rows, 0, 10, "authority") != 0) {
            shown.basis_change = parsed<BasisChange>(rows, 0, 11, "authority");
        }
        if (number<std::uint64_t>(rows, 0, 3, "authority") == 0) return;
        shown.record = parsed<FleetRecord>(rows, 0, 6, "authority");
        shown.record->placement = parsed<Placement>(rows, 0, 8, "placement");
        shown.record->placement.since_ms = number<std::int64_t>(rows, 0, 7, "placement");
        shown.show_basis();
    }
    void read_rows(const Rows& rows, View& view) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            NodeRow row = parsed<NodeRow>(rows, i, 1, "node");
            row.acked = number<Epoch>(rows, i, 0, "node");
            view.nodes.push_back(std::move(row));
        }
    }
    void read_registry(const Rows& rows, ArbiterReply& reply) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            reply.resources.emplace_back(ResourceName(rows.text(i, 0)),
                                         parsed<core::ResourceSettings>(rows, i, 1, "resource"));
            reply.resources.back().second.retired =
                number<std::uint32_t>(rows, i, 2, "resource") != 0;
        }
    }
    // In the order of epoch and incarnation.
    void read_claims(const Rows& rows, ArbiterReply& reply) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto epoch = number<Epoch>(rows, i, 0, "claim");
            const auto from = number<Incarnation>(rows, i, 1, "claim");
            const bool is_another = reply.claims.empty() || reply.claims.back().epoch != epoch ||
                                    reply.claims.back().from != from;
            if (is_another) reply.claims.push_back({epoch, from, {}, {}});
            HandedOver& given = reply.claims.back();
            given.age = std::max(given.age, age_of(rows, i, reply.view.shown, "claim"));
            append(given.claims, parsed<core::Claims>(rows, i, 3, "claim"));
        }
    }
    // In the order of incarnation; the date is that of its last part.
    void read_left(const Rows& rows, ArbiterReply& reply) {
        const Duration kept = reply.view.claims_kept();
        const std::size_t first = reply.claims.size();
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto from = number<Incarnation>(rows, i, 0, "left_claim");
            const Duration age = age_of(rows, i, reply.view.shown, "left_claim");
            if (age > kept) continue;
            const bool is_another =
                reply.claims.size() == first || reply.claims.back().from != from;
            if (is_another) reply.claims.push_back({0, from, age, {}});
            core::Claims& claims = reply.claims.back().claims;
            if (rows.text(i, 1) != "0") {
                claims.records.push_back(parsed<core::GrantRecord>(rows, i, 3, "left_claim"));
            } else if (!rows.text(i, 3).empty()) {
                append(claims, parsed<core::Claims>(rows, i, 3, "left_claim"));
            }
        }
        std::erase_if(reply.claims, [](const HandedOver& g) { return g.claims.size() == 0; });
    }
    static void set_next(ClaimsPage page,
                         std::size_t parts,
                         std::size_t left,
                         ArbiterReply& reply) {
        if (!page.is_left) {
            reply.next =
                parts < claim_parts_per_page ? "l0" : "c" + std::to_string(page.first + parts);
        } else if (left >= left_claims_per_page) {
            reply.next = "l" + std::to_string(page.first + left);
        }
    }
    Duration age_of(const Rows& rows, std::size_t row, StoreMs shown, std::string_view table) {
        return from_ms(static_cast<std::int64_t>(shown) -
                       number<std::int64_t>(rows, row, 2, table));
    }

    const ArbiterCall& call_;
    std::span<const Rows> sets_;
    std::string damage_;
};

}  // namespace

std::variant<ArbiterView, std::string> read_arbiter(const ArbiterCall& call,
                                                    std::span<const Rows> sets) {
    return ArbiterReader(call, sets).read();
}

}  // namespace latchd::store::mysql
