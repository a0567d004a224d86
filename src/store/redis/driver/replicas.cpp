// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "replicas.hpp"

#include <iterator>
#include <utility>

namespace latchd::store::redis {

namespace {

constexpr Duration pause = std::chrono::seconds(1);

}  // namespace

std::vector<Replicas::Kept> Replicas::take_all() {
    std::vector<Kept> all(std::make_move_iterator(kept_.begin()),
                          std::make_move_iterator(kept_.end()));
    kept_.clear();
    return all;
}

std::vector<Replicas::Kept> Replicas::confirmed(std::uint64_t end) {
    is_waiting_ = false;
    are_missing_ = false;
    std::vector<Kept> now;
    while (!kept_.empty() && kept_.front().end <= end) {
        now.push_back(std::move(kept_.front()));
        kept_.pop_front();
    }
    return now;
}

std::vector<Replicas::Kept> Replicas::missed(Time now, std::string refusal) {
    is_waiting_ = false;
    is_due_ = false;
    refusal_ = std::move(refusal);
    are_missing_ = true;
    resumes_at_ = now + pause;
    unconfirmed_ += kept_.size();
    return take_all();
}

std::vector<Replicas::Kept> Replicas::ended() {
    is_waiting_ = false;
    is_due_ = false;
    refusal_.clear();
    unconfirmed_ += kept_.size();
    return take_all();
}

}  // namespace latchd::store::redis
