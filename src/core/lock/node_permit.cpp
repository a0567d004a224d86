// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// What a LOCK needs to be taken on, and what may be sent to the store now.
//
// A fleet's authority states until when this node may grant (design section 5, rule 1). The
// instant that is compared with it is now_, which becomes the start of the lease: a grant that
// was sent in time never rests on a view that had ended.
#include "node_impl.hpp"

#include <algorithm>
#include <utility>

namespace latchd::core {
namespace {

template <class T>
std::optional<T> first_of(const std::optional<T>& a, const std::optional<T>& b) {
    return a ? a : b;
}

}  // namespace

// Fills in what the resource or the node says where the command says nothing. False: refused,
// and answered so.
bool Node::Impl::complete(LockCommand& command) {
    const ResourceSettings* const settings = registry_.use(command.key.resource.view());
    const auto name = [&] { return command.key.resource.str(); };
    if (settings != nullptr && settings->retired) {
        fail(command.ticket,
             ErrorWord::err,
             "resource retired: nobody has used '" + name() + "' for long; RESOURCE SET " + name() +
                 " takes it into use again");
        return false;
    }
    if (settings == nullptr && registry_.require_registered) {
        fail(command.ticket,
             ErrorWord::err,
             "resource '" + name() + "' is not registered; RESOURCE SET " + name() +
                 " registers it");
        return false;
    }
    static const ResourceSettings defaults;
    const ResourceSettings& resource = settings != nullptr ? *settings : defaults;
    command.ttl = std::min(command.ttl.value_or(resource.ttl.value_or(registry_.ttl_default)),
                           limits_.ttl_max);  // again when it is sent: it may wait first
    command.hold_max = first_of(command.hold_max, resource.hold_max);
    command.expect = first_of(command.expect, resource.expect);
    command.delay = first_of(command.delay, resource.delay);
    if (command.delay) command.delay = std::min(*command.delay, limits_.delay_max);
    if (resource.safety == Safety::strict) {
        command.ttl = std::max(*command.ttl, strict_ttl_min);
        if (command.release_on_close) {
            fail(command.ticket,
                 ErrorWord::err,
                 "ONCLOSE RELEASE is refused for '" + name() +
                     "', which is strict: the end of a connection is not the end of its client");
            return false;
        }
    }
    if (!open_) return true;
    const bool may_join = command.request || !command.owner.empty();
    const bool too_little = worth_too_little(command.require, told_tier()) != nullptr;
    if (!too_little && (may_join || !is_degraded(settings))) return true;
    fail(command.ticket, ErrorWord::degraded, *refusal(command));
    return false;
}

// Why this LOCK can't be taken on; nothing if it can.
std::optional<Error> Node::Impl::overload(const Lock& lock, const LockCommand& command) const {
    if (command.wait > Duration::zero()) {
        const ResourceSettings* const settings = registry_.find(command.key.resource.view());
        const std::uint32_t queue_max = settings == nullptr
                                            ? queue_max_default
                                            : settings->queue_max.value_or(queue_max_default);
        const auto queued = static_cast<std::uint32_t>(std::ranges::count_if(
            lock.requests, [](const Request* r) { return r->queued && !r->ghost; }));
        if (queued >= queue_max) {
            return Error{ErrorWord::queue_full,
                         std::to_string(queued) +
                             " wait for this lock already; the limit is QUEUE of resource '" +
                             command.key.resource.str() + "'"};
        }
        if (counts_.waiting >= options_.waiters_max) {
            return Error{ErrorWord::queue_full,
                         std::to_string(counts_.waiting) +
                             " wait on this node already; the limit is limits.max_waiters"};
        }
    }
    // It may have to wait for what is held, and that makes room when it ends.
    if (lock.record && lock.record->is_leased(now_)) return std::nullopt;
    if (counts_.held + requests_.size() >= options_.locks_max + counts_.waiting) {
        return Error{ErrorWord::limit,
                     "journal: " + std::to_string(options_.locks_max) +
                         " locks are held through this node; the limit is max_locks"};
    }
    if (!has_room()) return Error{ErrorWord::limit, journal_text};
    return std::nullopt;
}

// ---- what a grant is worth ---------------------------------------------------------------------

const std::string& Node::Impl::told_tier() const noexcept {
    return shared_ && !permit_.is_confirmed ? doubted_tier_ : tier_;
}

// `told`: the tier as the reply shows it.
const char* Node::Impl::worth_too_little(Require require, const std::string& told) const {
    if (require == Require::redis && told != "redis") return "REQUIRE redis";
    if (require == Require::shared && (!shared_ || told.ends_with('?'))) return "REQUIRE shared";
    return nullptr;
}

// DEGRADE names the last tier that a resource is granted on; redis > mysql > local. Whatever the
// operator prefers is never a lower one.
bool Node::Impl::is_degraded(const ResourceSettings* settings) const noexcept {
    if (options_.tiers.size() < 2) return false;
    if (tier_ == (permit_.preferred.empty() ? options_.tiers.front() : permit_.preferred)) {
        return false;
    }
    const bool is_local = tier_ == "local";
    const bool strict = settings != nullptr && settings->safety == Safety::strict;
    if (settings == nullptr || !settings->degrade) return strict && is_local;
    switch (*settings->degrade) {
        case Degrade::none:
            return true;
        case Degrade::mysql:
            return is_local;
        case Degrade::local:
            return strict && is_local;
    }
    return true;
}

// Why a fresh grant would be worth less than it must be; nothing if it would not.
std::optional<std::string> Node::Impl::refusal(const LockCommand& command) const {
    const std::string& told = told_tier();
    if (const char* const what = worth_too_little(command.require, told)) {
        return "the tier is " + told + ", not " + what;
    }
    const std::string& name = command.key.resource.str();
    if (is_degraded(registry_.find(name))) {
        return "the tier is " + told + ", and DEGRADE of resource '" + name +
               "' ends before it; locks that are held go on";
    }
    return std::nullopt;
}

// ---- what may be sent --------------------------------------------------------------------------

bool Node::Impl::is_strict(const LockKey& key) const noexcept {
    const ResourceSettings* const settings = registry_.find(key.resource.view());
    return settings != nullptr && settings->safety == Safety::strict;
}

// Rule 5: what a lost node may have granted of strict locks, and for how long, is known before.
bool Node::Impl::is_covered(const ResourceName& resource, Duration ttl_high) {
    const auto asked = strict_asked_.find(resource);
    const bool is_named =
        permit_.strict_all || std::ranges::binary_search(permit_.strict_named, resource);
    if (is_named && ttl_high <= permit_.strict_ttl_max) {
        if (asked != strict_asked_.end() && asked->second <= permit_.strict_ttl_max) {
            strict_asked_.erase(asked);
        }
        return true;
    }
    if (asked == strict_asked_.end() || asked->second < ttl_high) {
        strict_asked_.insert_or_assign(resource, ttl_high);
        out_->push_back(StrictAsked{resource, ttl_high});
    }
    return false;
}

// Rule 1. `ttl_high`: lease and delay together.
Allowed Node::Impl::allowed(const LockKey& key, Duration ttl_high) {
    const ResourceSettings* const settings = registry_.find(key.resource.view());
    const bool strict = settings != nullptr && settings->safety == Safety::strict;
    const auto by_permit = [&] {
        if (fleet_local_) return Allowed::granting;
        if (!strict) {
            return now_ < permit_.available_until ? Allowed::granting : Allowed::nothing;
        }
        if (now_ >= permit_.strict_until || !permit_.strict_carried) return Allowed::nothing;
        if (!is_covered(key.resource, ttl_high)) return Allowed::nothing;
        return permit_.strict_fresh ? Allowed::granting : Allowed::joining;
    };
    const Allowed most = by_permit();
    if (most != Allowed::granting) held_back_ = true;
    return is_degraded(settings) ? std::min(most, Allowed::joining) : most;
}

Allowed Node::Impl::allowed(const Request& request) {
    const LockCommand& command = request.command;
    if (is_away(*request.lock)) return Allowed::nothing;
    const Duration ttl_high = *command.ttl + command.delay.value_or(Duration::zero());
    const Allowed most = allowed(command.key, ttl_high);
    if (has_room()) return most;
    held_back_ = true;
    return std::min(most, Allowed::joining);
}

LeaseLimits Node::Impl::own_limits() const noexcept {
    const Duration ttl_max = options_.ttl_max;
    const Duration delay_max = options_.delay_max;
    return {ttl_max, delay_max, ttl_max, delay_max, 2 * (ttl_max + delay_max)};
}

// A lease that was granted for longer than is granted by now is not renewed for that.
void Node::Impl::cut(Renew& wish, const Lock& lock) const {
    if (!wish.ttl && lock.record && lock.record->ttl > limits_.ttl_max) {
        wish.ttl = lock.record->ttl;
    }
    if (!wish.ttl) return;
    wish.ttl = std::min(*wish.ttl, limits_.ttl_max);
    if (wish.strict) wish.ttl = std::max(*wish.ttl, strict_ttl_min);
}

bool Node::Impl::may_start(const Task& task) {
    if (task.shared_only && fleet_local_) return false;
    const LockKey* key = task.lock != nullptr ? task.lock->key : nullptr;
    Duration ttl_high{};
    if (const auto* const renew = std::get_if<Renew>(&task.operation)) {
        const KeptRecord* const record = task.lock->record ? &*task.lock->record : nullptr;
        const Duration ttl = record != nullptr ? record->ttl : limits_.ttl_longest;
        const Duration delay =
            record != nullptr ? record->delay : task.seen_delay.value_or(limits_.delay_longest);
        // It never shortens: what is left may be more than what it gives.
        ttl_high =
            std::max(renew->ttl.value_or(ttl), task.seen_left.value_or(Duration::zero())) + delay;
    } else if (const auto* const restore = std::get_if<Restore>(&task.operation)) {
        ttl_high = std::max(restore->record.ttl, restore->record.left) + restore->record.delay;
    } else {
        return true;
    }
    return allowed(*key, ttl_high) != Allowed::nothing;
}

void Node::Impl::on(JournalRoom&& event) {
    journal_room_ = event.records;
    if (open_ && has_room() && std::exchange(held_back_, false)) resume();
}

void Node::Impl::on(UsesWanted&&) {
    UsesGiven given{registry_.take_used()};
    // A lock that is only renewed is in use all the same.
    for (const auto& [name, locks] : held_) {
        if (registry_.find(name.view()) != nullptr) given.used.push_back(name);
    }
    std::ranges::sort(given.used);
    given.used.erase(std::unique(given.used.begin(), given.used.end()), given.used.end());
    out_->push_back(std::move(given));
}

void Node::Impl::on(PermitChanged&& event) {
    const bool is_worth_less = permit_.is_confirmed && !event.is_confirmed;
    permit_ = std::move(event);
    limits_ = permit_.limits.value_or(own_limits());
    std::ranges::sort(permit_.strict_named);
    if (!open_) return;
    if (is_worth_less) refuse_degraded();
    if (std::exchange(held_back_, false)) resume();
}

// Whoever waits for a grant that would be worth too little here is told now.
void Node::Impl::refuse_degraded() {
    std::vector<Request*> refused;
    for (Request& request : requests_) {
        if (request.ghost || request.given_up || request.stage != Request::Stage::idle) continue;
        const LockCommand& command = request.command;
        const bool may_join = request.named || !command.owner.empty();
        const bool too_little = worth_too_little(command.require, told_tier()) != nullptr;
        const bool degraded = is_degraded(registry_.find(command.key.resource.view()));
        if (too_little || (degraded && !may_join)) refused.push_back(&request);
    }
    for (Request* const request : refused) {
        fail(request->command.ticket, ErrorWord::degraded, *refusal(request->command));
        request->given_up = true;
        // Out of its queue at once: with the first that goes, the next one would be asked for.
        if (request->queued) --counts_.waiting;
        request->queued = false;
    }
    for (Request* const request : refused) drop(*request);
}

// What was parked goes on as far as it may, in the order of its arrival; but what was undone before
// anything is put back, and that before the rest, which may be about it.
void Node::Impl::resume() {
    std::vector<Task*> parked;
    for (Task& task : tasks_) {
        if (!task.under_way) parked.push_back(&task);
    }
    const auto rank = [](const Task* task) {
        if (task->kind == Task::Kind::undo) return 0;
        return task->kind == Task::Kind::restore ? 1 : 2;
    };
    std::ranges::stable_sort(parked, {}, rank);
    for (Task* const task : parked) start(*task);
    std::vector<Request*> requests;
    for (Request& request : requests_) requests.push_back(&request);
    for (Request* const request : requests) {
        if (request->ghost || request->stage == Request::Stage::asked) continue;
        const bool again = request->stage == Request::Stage::doubtful;
        if (again && (!kill_works_ || request->is_local != fleet_local_)) {
            // The first copy may come yet, even behind an UNLOCK of what the second one gets (or
            // it is in another store): it is barred, and the second is another attempt.
            begin_again(*request);
        }
        if (again || !request->queued) {
            ask(*request, false);
        } else if (request->named || !request->command.owner.empty()) {
            if (allowed(*request) == Allowed::joining) ask(*request, true);
        }
    }
    std::vector<Lock*> locks;
    for (auto& [key, lock] : locks_.unpacked()) {  // none of which is packed
        if (!lock.requests.empty()) locks.push_back(&lock);
    }
    for (Lock* const lock : locks) settle(*lock);
}

}  // namespace latchd::core
