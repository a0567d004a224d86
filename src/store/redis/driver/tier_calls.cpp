// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "access.hpp"
#include "tier.hpp"

#include <latchd/telemetry/log.hpp>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

// The marker, and what is carried in and out. Each of these begins by loading its scripts again,
// so that a flushed cache costs nothing; one that is flushed in the middle ends the call.
namespace latchd::store::redis {

namespace authority = core::authority;
using telemetry::Level;

namespace {

constexpr std::size_t batch_size = 100;    // locks and bars in one script call
constexpr std::size_t batches_ahead = 16;  // without an answer

template <class T>
std::span<const T> next_of(const std::vector<T>& all, std::size_t& sent, std::size_t room) {
    const std::size_t count = std::min(room, all.size() - sent);
    const std::span<const T> part(all.data() + sent, count);
    sent += count;
    return part;
}

std::string text_of(const MarkerView& view) {
    if (view.is_damaged) return "can't be understood";
    if (!view.marker) return "is missing";
    return "has epoch " + std::to_string(view.marker->epoch) + ", nonce " +
           view.marker->nonce.str();
}

}  // namespace

// `run_id`: of the process that is meant.
bool RedisTier::begin(Call&& call, const std::string* run_id) {
    end_call(false, "another call came");
    call_ = std::move(call);
    ++call_number_;
    marker_is_set_ = false;
    if (!driver_.is_identified()) {
        end_call(false, driver_.last_error());
        return false;
    }
    if (run_id && *run_id != driver_.server().identity.run_id) {
        end_call(false, "the server is another process", true);
        return false;
    }
    driver_.forget_authority_scripts();
    driver_.load_authority();
    return true;
}

void RedisTier::act(authority::TierInitialise&& action) {
    const MarkerSet set{after_own_end(action.expected), action.next, action.next.run_id};
    if (begin(Initialising{std::move(action)}, &set.run_id)) set_marker(set);
}

void RedisTier::act(authority::TierLoad&& action) {
    const bool is_doubtful = doubtful_load_ == action.nonce && !driver_.kill_works();
    if (!begin(Loading{std::move(action)}, nullptr)) return;
    if (is_doubtful) {
        // It could come after the opening and bring back what was released since.
        return end_call(false,
                        "a part of an earlier load may still come, and its connection can't be "
                        "killed; another nonce is needed");
    }
    load_on();
}

void RedisTier::act(authority::TierCloseAndRead&& action) {
    const authority::Marker next{
        action.expected.uuid, action.next, action.nonce, action.expected.run_id, 0};
    const MarkerSet set{after_own_end(action.expected), next, action.expected.run_id};
    if (begin(Reading{.wish = std::move(action), .seen = {}, .pages = {}, .read = {}},
              &set.run_id)) {
        driver_.send_probe();  // what is left is counted by its clock
        set_marker(set);
    }
}

void RedisTier::call_answered(const resp::Value& value) {
    if (std::holds_alternative<Loading>(call_)) return loaded(value);
    if (marker_is_set_) return page_read(value);
    if (!is_marker_set(value)) return;
    if (std::holds_alternative<Initialising>(call_)) return end_call(true, {});
    const authority::TierCloseAndRead& wish = std::get<Reading>(call_).wish;
    ended_ = Ended{wish.expected, wish.expected};
    ended_->now.epoch = wish.next;
    ended_->now.nonce = wish.nonce;
    scan(0);
}

// ---- the marker ------------------------------------------------------------------------------

std::optional<authority::Marker> RedisTier::after_own_end(
    std::optional<authority::Marker> expected) const {
    const bool is_former = ended_ && expected && expected->epoch == ended_->former.epoch &&
                           expected->nonce == ended_->former.nonce;
    return is_former ? ended_->now : expected;
}

void RedisTier::set_marker(const MarkerSet& set) {
    append_marker_set(driver_.out(), driver_.keys(), driver_.authority_scripts(), set);
    driver_.expect_authority();
    steps_.push_back({Step::Kind::call, call_number_});
    driver_.arm();
}

bool RedisTier::is_marker_set(const resp::Value& value) {
    auto answer = read_marker_set(value);
    if (const auto* refusal = std::get_if<Refusal>(&answer)) {
        end_refused(*refusal);
        return false;
    }
    const auto& set = std::get<MarkerWasSet>(answer);
    marker_is_set_ = set.done;
    if (!set.is_process) {
        end_call(false, "the server is another process", true);
    } else if (!set.done) {
        end_call(false, "the marker " + text_of(set.now), true);
    }
    return set.done;
}

// ---- load ------------------------------------------------------------------------------------

void RedisTier::load_on() {
    auto& loading = std::get<Loading>(call_);
    const core::Claims& claims = loading.wish.claims;
    const auto is_sent = [&] {
        return loading.records_sent == claims.records.size() &&
               loading.bars_sent == claims.cancelled.size();
    };
    while (loading.awaited < batches_ahead && !is_sent()) {
        const auto records = next_of(claims.records, loading.records_sent, batch_size);
        const auto bars = next_of(claims.cancelled, loading.bars_sent, batch_size - records.size());
        append_claims_load(driver_.out(),
                           driver_.keys(),
                           driver_.authority_scripts(),
                           loading.wish.epoch,
                           loading.wish.nonce.view(),
                           records,
                           bars);
        driver_.expect_authority();
        steps_.push_back({Step::Kind::call, call_number_});
        ++loading.awaited;
    }
    driver_.arm();
    if (loading.awaited != 0) return;
    if (loading.foreign != 0) {
        telemetry::log(Level::warning,
                       "store.foreign",
                       driver_.options().name + ": " + std::to_string(loading.foreign) +
                           " carried locks have something in their place that isn't latchd's");
    }
    end_call(true, {});
}

void RedisTier::loaded(const resp::Value& value) {
    auto answer = read_claims_load(value);
    if (const auto* refusal = std::get_if<Refusal>(&answer)) return end_refused(*refusal);
    auto& loading = std::get<Loading>(call_);
    loading.foreign += std::get<std::uint64_t>(answer);
    --loading.awaited;
    load_on();
}

// ---- close and read --------------------------------------------------------------------------

// Nothing is granted, renewed or released in that epoch any more, so a scan shows every key that
// doesn't end meanwhile.
void RedisTier::scan(std::uint64_t cursor) {
    append_claims_scan(driver_.out(), driver_.keys(), cursor);
    driver_.expect_authority();
    steps_.push_back({Step::Kind::scan, call_number_});
}

void RedisTier::scanned(const resp::Value& value) {
    auto answer = read_scan(value);
    if (const auto* refusal = std::get_if<Refusal>(&answer)) return end_refused(*refusal);
    auto& found = std::get<ScanPage>(answer);
    auto& reading = std::get<Reading>(call_);
    std::erase_if(found.redis_keys,
                  [&](const std::string& key) { return !reading.seen.insert(key).second; });
    if (!found.redis_keys.empty()) {
        append_claims_read(driver_.out(),
                           driver_.keys(),
                           driver_.authority_scripts(),
                           reading.wish.next,
                           reading.wish.nonce.view(),
                           found.redis_keys);
        driver_.expect_authority();
        steps_.push_back({Step::Kind::call, call_number_});
        reading.pages.push_back(std::move(found.redis_keys));
    }
    reading.is_scanned = found.cursor == 0;
    if (!reading.is_scanned) return scan(found.cursor);
    if (reading.pages.empty()) read_whole(std::move(reading));
}

void RedisTier::page_read(const resp::Value& value) {
    auto& reading = std::get<Reading>(call_);
    const std::vector<std::string> page = std::move(reading.pages.front());
    reading.pages.pop_front();
    auto answer = read_claims(driver_.keys(), page, reading.wish.expected, value);
    if (const auto* refusal = std::get_if<Refusal>(&answer)) return end_refused(*refusal);
    reading.read.push_back({driver_.now(), std::get<core::Claims>(std::move(answer))});
    if (reading.is_scanned && reading.pages.empty()) read_whole(std::move(reading));
}

// What is left was counted when each page was read.
void RedisTier::read_whole(Reading&& reading) {
    const Time now = driver_.now();
    authority::TierRead read{index_, reading.wish.id, true, {}};
    for (Page& page : reading.read) {
        const Duration passed = now - page.read;
        core::age(page.claims, passed);
        std::move(page.claims.records.begin(),
                  page.claims.records.end(),
                  std::back_inserter(read.claims.records));
        std::move(page.claims.cancelled.begin(),
                  page.claims.cancelled.end(),
                  std::back_inserter(read.claims.cancelled));
    }
    call_ = std::monostate{};
    tell(std::move(read));
}

// ---- the end ---------------------------------------------------------------------------------

void RedisTier::end_refused(const Refusal& refusal) {
    const std::string text = with_missing_rule(refusal.text, driver_.user());
    end_call(false, text, refusal.cause == Cause::marker);
    if (refusal.cause == Cause::role || refusal.cause == Cause::loading) driver_.drop(text);
}

// Replies to what was sent of it are left out from now on.
void RedisTier::end_call(bool done, const std::string& text, bool is_overtaken) {
    const Call call = std::exchange(call_, std::monostate{});
    ++call_number_;
    if (const auto* initialising = std::get_if<Initialising>(&call)) {
        tell(authority::TierDone{index_, initialising->wish.id, done, text, is_overtaken});
    } else if (const auto* loading = std::get_if<Loading>(&call)) {
        if (done && doubtful_load_ == loading->wish.nonce) doubtful_load_.reset();
        tell(authority::TierDone{index_, loading->wish.id, done, text, is_overtaken});
    } else if (const auto* reading = std::get_if<Reading>(&call)) {
        if (!done) {
            telemetry::log(Level::warning,
                           "store.not_read",
                           driver_.options().name + ": its locks could not be read: " + text);
        }
        tell(authority::TierRead{index_, reading->wish.id, false, {}});
    }
}

}  // namespace latchd::store::redis
