// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "truth.hpp"

#include <algorithm>

namespace latchd::sim {

void Truth::Life::live(Moment now, Moment lease, Moment all) noexcept {
    if (!is_open || end <= now) since = now;
    is_open = true;
    last = now;
    lease_end = lease;
    end = all;
}

void Truth::Life::close(Moment now) noexcept {
    if (!is_open) return;
    last = std::max(last, std::min(now, end));
    is_open = false;
}

Moment Truth::Life::seen_until(Moment now) const noexcept {
    return is_open ? std::max(last, std::min(now, end)) : last;
}

void Truth::observe(Moment now,
                    const HostClock& clock,
                    const LockKey& key,
                    const core::GrantRecord* record) {
    std::vector<Token>& former = held_[key];
    std::vector<Token> present;
    if (record != nullptr) {
        const Time local = clock.at(now);
        const Moment lease_end = clock.when(local + record->left);
        const Moment end = clock.when(local + record->left + record->delay);
        locks_[key].live(now, lease_end, end);
        for (const core::Hold& hold : record->holds) {
            tokens_[hold.token].live(now, lease_end, end);
            present.push_back(hold.token);
        }
    } else if (const auto it = locks_.find(key); it != locks_.end()) {
        it->second.close(now);
    }
    for (const Token& token : former) {
        if (std::ranges::find(present, token) == present.end()) tokens_[token].close(now);
    }
    former = std::move(present);
}

void Truth::replaced(Moment now) {
    for (auto& [key, life] : locks_) {
        if (life.is_open) life.lost_end = life.end;
        life.close(now);
    }
    for (auto& [token, life] : tokens_) life.close(now);
    held_.clear();
}

bool Truth::was_busy(const LockKey& key, Moment from, Moment to) const {
    const auto it = locks_.find(key);
    if (it == locks_.end()) return false;
    return it->second.seen_until(to) >= from || it->second.lost_end >= from;
}

bool Truth::was_held(const Token& token, Moment from, Moment to) const {
    const auto it = tokens_.find(token);
    return it != tokens_.end() && it->second.seen_until(to) >= from;
}

bool Truth::was_held_throughout(const Token& token, Moment from, Moment to) const {
    const auto it = tokens_.find(token);
    if (it == tokens_.end()) return false;
    const Life& life = it->second;
    return life.is_open && life.since <= from && std::min(life.lease_end, life.end) > to;
}

}  // namespace latchd::sim
