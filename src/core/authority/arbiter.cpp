// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include <latchd/core/authority/arbiter.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <tuple>
#include <utility>

namespace latchd::core::authority {
namespace {

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
    to.insert(to.end(), from.begin(), from.end());
}

void append(Claims& to, const Claims& from) {
    append(to.records, from.records);
    append(to.gone, from.gone);
    append(to.cancelled, from.cancelled);
}

// So few that pages are met wherever this table is used.
constexpr std::size_t page_size = 6;

// No claim counts for so long, whatever a later record says of ttl_max.
constexpr Duration left_max = std::chrono::hours(24);

Duration age_of(StoreMs at, StoreMs now) {
    return from_ms(static_cast<std::int64_t>(now) - static_cast<std::int64_t>(at));
}

void cut_page(const std::string& after, ArbiterReply& reply) {
    std::size_t first = 0;
    std::from_chars(after.data(), after.data() + after.size(), first);
    std::vector<HandedOver>& all = reply.claims;
    first = std::min(first, all.size());
    const std::size_t end = std::min(first + page_size, all.size());
    if (end < all.size()) reply.next = std::to_string(end);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(end), all.end());
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first));
}

}  // namespace

ArbiterReply ArbiterTable::apply(StoreMs now, const ArbiterCall& call) {
    ArbiterReply reply;
    reply.done = std::visit([&](const auto& what) { return write(now, what); }, call);
    if (const auto* fetch = std::get_if<FetchClaims>(&call); fetch != nullptr && reply.done) {
        reply.claims = claims_at(now);
        reply.claims_version = claims_version_;
        cut_page(fetch->after, reply);
    }
    if (std::holds_alternative<ReadRegistry>(call)) {
        reply.resources.assign(resources_.begin(), resources_.end());
    }
    if (std::holds_alternative<NoteUses>(call)) reply.use_period = use_period_;
    reply.view = view(now);
    return reply;
}

View ArbiterTable::view(StoreMs now) const {
    View view;
    view.arbiter = identity;
    view.shown = now;
    view.record = record_;
    view.registry_version = registry_version_;
    view.basis_change = basis_change_;
    for (const auto& [incarnation, row] : rows_) view.nodes.push_back(row);
    std::ranges::stable_sort(view.nodes, {}, &NodeRow::name);
    return view;
}

// A11. The record itself is kept as it is shown.
void ArbiterTable::show_basis() {
    if (record_ && basis_change_) record_->basis = basis_change_->in(record_->epoch);
}

bool ArbiterTable::is_at(Epoch epoch) const noexcept { return record_ && record_->epoch == epoch; }

// A2: what is there of acked stays, and nobody acknowledges what has not begun.
void ArbiterTable::put(NodeRow row) {
    row.acked = std::min(row.acked, record_ ? record_->epoch : 0);
    NodeRow& there = rows_[row.incarnation];
    row.acked = std::max(row.acked, there.acked);
    if (row.beat < there.beat) {
        there.acked = row.acked;
    } else {
        there = std::move(row);
    }
}

std::vector<HandedOver> ArbiterTable::claims_at(StoreMs now) const {
    std::vector<HandedOver> all;
    for (const auto& [from, kept] : claims_) {
        if (from.first <= opened_ || kept.claims.size() == 0) continue;
        all.push_back({from.first, from.second, age_of(kept.at, now), kept.claims});
    }
    const Duration kept_for = view(now).claims_kept();
    for (const auto& [incarnation, left] : left_) {
        if (age_of(left.at, now) > kept_for || left.claims.size() == 0) continue;
        all.push_back({0, incarnation, age_of(left.at, now), left.claims});
    }
    return all;
}

bool ArbiterTable::write(StoreMs, const ReadView&) { return true; }

bool ArbiterTable::write(StoreMs, const Beat& call) {
    if (call.replaces && *call.replaces != call.row.incarnation) rows_.erase(*call.replaces);
    put(call.row);
    return true;
}

bool ArbiterTable::write(StoreMs now, const Propose& call) {
    if (call.expected.has_value() != record_.has_value()) return false;
    if (record_ && (call.expected->epoch != record_->epoch ||
                    call.expected->state != record_->placement.state ||
                    call.expected->nonce != record_->placement.nonce)) {
        return false;
    }
    if (call.next.epoch <= (record_ ? record_->epoch : 0)) return false;
    record_ = call.next;
    show_basis();
    record_->placement.state = RecordState::settling;
    record_->placement.since_ms = static_cast<std::int64_t>(now);
    return true;
}

bool ArbiterTable::write(StoreMs now, const HandOver& call) {
    if (!is_at(call.epoch)) return false;
    ++claims_version_;
    Kept& kept = claims_[{call.epoch, call.row.incarnation}];
    if (call.is_first) kept = {};
    if (kept.claims.size() == 0) kept.at = now;
    append(kept.claims, call.claims);
    if (call.is_last) {
        NodeRow row = call.row;
        row.acked = call.epoch;
        put(std::move(row));
    }
    return true;
}

bool ArbiterTable::write(StoreMs, const FetchClaims& call) { return is_at(call.epoch); }

bool ArbiterTable::write(StoreMs now, const OpenEpoch& call) {
    if (!is_at(call.epoch) || record_->placement.state != RecordState::settling ||
        record_->placement.nonce != call.settling ||
        call.claims_version.value_or(claims_version_) != claims_version_) {
        return false;
    }
    record_->placement = call.next;
    record_->placement.state = RecordState::open;
    record_->placement.since_ms = static_cast<std::int64_t>(now);
    opened_ = call.epoch;
    std::erase_if(claims_, [&](const auto& entry) { return entry.first.first <= call.epoch; });
    std::erase_if(left_,
                  [now](const auto& entry) { return age_of(entry.second.at, now) > left_max; });
    return true;
}

bool ArbiterTable::write(StoreMs now, const Leave& call) {
    ++claims_version_;
    Kept& left = left_[call.incarnation];
    left.at = now;
    append(left.claims, call.claims);
    if (call.is_last) rows_.erase(call.incarnation);
    return true;
}

bool ArbiterTable::write(StoreMs, const Forget& call) {
    rows_.erase(call.incarnation);
    return true;
}

bool ArbiterTable::write(StoreMs, const Settled& call) {
    for (auto& [incarnation, left] : left_) {
        std::erase_if(left.claims.records, [&](const GrantRecord& record) {
            return std::ranges::any_of(call.locks, [&](const GoneFence& lock) {
                return lock.key == record.key && record.fence <= lock.fence;
            });
        });
    }
    return true;
}

bool ArbiterTable::write(StoreMs, const ReadRegistry&) { return true; }

bool ArbiterTable::write(StoreMs, const WriteResource& call) {
    if (call.epoch && !is_at(*call.epoch)) return false;
    used_.erase(call.name);
    if (call.settings) {
        resources_.insert_or_assign(call.name, *call.settings).first->second.retired = false;
        if (use_period_ > 0) used_.emplace(call.name, use_period_);
    } else {
        resources_.erase(call.name);
    }
    ++registry_version_;
    return true;
}

bool ArbiterTable::write(StoreMs, const WriteBasis& call) {
    const std::uint64_t number = basis_change_ ? basis_change_->number : 0;
    if (!is_at(call.epoch) || call.change.number != number + 1) return false;
    basis_change_ = call.change;
    show_basis();
    return true;
}

// A10
bool ArbiterTable::write(StoreMs now, const NoteUses& call) {
    if (call.period > Duration::zero()) {
        const bool is_over = use_period_ == 0 || age_of(period_since_, now) >= call.period;
        if (is_over) ++use_period_;
        period_since_ = is_over ? now : std::min(period_since_, now);
    }
    if (use_period_ == 0) return true;
    bool has_changed = false;
    for (const ResourceName& name : call.used) {
        const auto resource = resources_.find(name);
        if (resource == resources_.end()) continue;
        used_.insert_or_assign(name, use_period_);
        has_changed = std::exchange(resource->second.retired, false) || has_changed;
    }
    for (auto& [name, settings] : resources_) {
        const std::uint64_t last = used_.try_emplace(name, use_period_).first->second;
        if (call.period == Duration::zero() || settings.retired) continue;
        settings.retired = last + unused_periods_max < use_period_;
        has_changed = has_changed || settings.retired;
    }
    if (has_changed) ++registry_version_;
    return true;
}

}  // namespace latchd::core::authority
