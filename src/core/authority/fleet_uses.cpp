// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fleet_impl.hpp"

#include <algorithm>
#include <utility>

// Registered resources that nobody uses any more are retired (rule A10 of the arbiter).
//
// Each node says now and then which resources it used, each of them once a period, and the arbiter
// counts the periods. So a node may learn late that one is in use elsewhere, or that one was
// retired whose use it has not noted yet: it notes that at once, and the resource is retired no
// more. Nothing rests on it: a retired resource is only refused.
namespace latchd::core::authority {

namespace {

constexpr Duration::rep notes_per_period = 24;
constexpr Duration every_default = std::chrono::hours(1);  // of a node that retires nothing

}  // namespace

Duration Fleet::Impl::uses_every() const noexcept {
    if (options_.retire_after == Duration::zero()) return every_default;
    const Duration period = options_.retire_after / unused_periods_max;
    return std::max(period / notes_per_period, options_.read_every);
}

bool Fleet::Impl::may_note_uses() const noexcept {
    return is_open_ && open_ && !settling_ && has_registry_ && !resources_.empty() && !uses_.is_due;
}

void Fleet::Impl::consider_uses() {
    if (may_note_uses() && now() >= uses_.collect_at) {
        uses_.collect_at = now() + uses_every();
        act(CollectUses{});
    }
    if (!uses_.is_due || is_busy() || settling_) return;
    NoteUses call;
    call.period = options_.retire_after / unused_periods_max;
    const std::size_t count = std::min(uses_.unnoted.size(), claims_per_call_max);
    for (std::size_t i = 0; i < count; ++i) {
        const auto taken = uses_.noting.insert(uses_.unnoted.extract(uses_.unnoted.begin()));
        call.used.push_back(*taken.position);
    }
    (void)ask(work_, Purpose::uses, std::move(call));
}

void Fleet::Impl::on(UsesCollected&& event) {
    for (ResourceName& name : event.used) {
        if (!uses_.noted.contains(name) && !uses_.noting.contains(name))
            uses_.unnoted.insert(std::move(name));
    }
    uses_.is_due = true;
}

// What was noted in this period is not noted again.
void Fleet::Impl::uses_noted(bool done, std::uint64_t period) {
    std::set<ResourceName> names = std::exchange(uses_.noting, {});
    if (!done) {
        uses_.unnoted.merge(names);
        uses_.is_due = false;  // with the next collection
        return;
    }
    if (std::exchange(uses_.period, period) != period) uses_.noted.clear();
    uses_.noted.merge(names);
    uses_.is_due = !uses_.unnoted.empty();
}

void Fleet::Impl::collect_if_retired() {
    std::set<ResourceName> retired;
    for (const auto& [name, settings] : resources_) {
        if (!settings.retired) continue;
        retired.insert(name);
        uses_.noted.erase(name);
        uses_.collect_at = now();
        if (uses_.retired.contains(name)) continue;
        notice(Notice::Level::info,
               "resource.retired",
               "resource " + name.str() + " is retired: no node has used it for long");
    }
    uses_.retired = std::move(retired);
}

}  // namespace latchd::core::authority
