// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "judge.hpp"

#include <algorithm>

namespace latchd::load {

Judge::Judge(std::size_t locks, std::size_t clients, std::size_t servers)
    : locks_(locks), asked_at_(clients), client_grants_(clients), server_last_(servers) {}

void Judge::wrong(std::uint64_t& count, const std::string& what) {
    ++count;
    if (first_wrong_.empty()) first_wrong_ = what;
}

void Judge::asked(std::size_t client, std::size_t lock) { asked_at_[client] = locks_[lock].grants; }

void Judge::granted(const Grant& grant) {
    Lock& it = locks_[grant.lock];
    if (it.holder != nobody && grant.now_ns < it.lease_end_ns) {
        wrong(doubles_,
              "lock " + std::to_string(grant.lock) + " was granted to client " +
                  std::to_string(grant.client) + " with fence " + std::to_string(grant.fence) +
                  " while client " + std::to_string(it.holder) + " held it with fence " +
                  std::to_string(it.fence));
    }
    if (grant.fence != 0 && grant.fence <= it.fence) {
        wrong(fences_back_,
              "fence " + std::to_string(grant.fence) + " of lock " + std::to_string(grant.lock) +
                  " came after " + std::to_string(it.fence));
    }
    if (it.released_ns != 0) hand_over_.add(grant.now_ns - it.released_ns);
    passed_max_ = std::max(passed_max_, it.grants - std::min(it.grants, asked_at_[grant.client]));
    std::uint64_t& last = server_last_[grant.server];
    server_wait_max_ = std::max(server_wait_max_, grants_ - last);
    it.fence = std::max(it.fence, grant.fence);
    it.lease_end_ns = grant.lease_end_ns;
    it.released_ns = 0;
    it.holder = static_cast<std::uint32_t>(grant.client);
    ++it.grants;
    ++client_grants_[grant.client];
    last = ++grants_;
}

void Judge::releasing(std::size_t client, std::size_t lock, std::int64_t now_ns) {
    Lock& it = locks_[lock];
    if (it.holder != client) return;  // it was said already that two hold it
    it.holder = nobody;
    it.released_ns = now_ns;
}

void Judge::begin_to_measure() {
    hand_over_.clear();
    passed_max_ = 0;
    server_wait_max_ = 0;
    grants_ = 0;
    std::ranges::fill(client_grants_, 0);
    std::ranges::fill(server_last_, 0);
}

std::uint64_t Judge::client_grants_min() const noexcept {
    return *std::ranges::min_element(client_grants_);
}

std::uint64_t Judge::client_grants_max() const noexcept {
    return *std::ranges::max_element(client_grants_);
}

}  // namespace latchd::load
