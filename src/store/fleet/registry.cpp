// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// The registered resources, shared by the fleet: the configuration proposes them to a new cluster,
// afterwards what the arbiter keeps is what counts, and a configuration that differs is shown.
#include "fleet_store.hpp"

#include <latchd/telemetry/log.hpp>

#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>

namespace latchd::store::fleet {
namespace {

namespace authority = core::authority;
using telemetry::Level;

// Nodes that start together read a registry that others are still filling with what they propose.
constexpr Duration differs_for = std::chrono::seconds(3);

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

}  // namespace

// Answers to this adapter's own calls are not the decider's business.
bool FleetStore::is_own_answer(authority::FleetEvent& event) {
    if (const auto* answered = std::get_if<authority::ArbiterAnswered>(&event)) {
        if (writes_.contains(static_cast<std::uint64_t>(answered->id))) {
            finish_write(answered->id,
                         answered->reply.done,
                         "an epoch began at the same moment: send it again");
            return true;
        }
        look_for_new_cluster(answered->reply.view);
    } else if (const auto* failed = std::get_if<authority::ArbiterFailed>(&event)) {
        if (writes_.contains(static_cast<std::uint64_t>(failed->id))) {
            finish_write(failed->id, false, failed->text);
            return true;
        }
    }
    return false;
}

void FleetStore::look_for_new_cluster(const authority::View& view) {
    registry_version_ = view.registry_version;
    epoch_ = view.record ? view.record->epoch : 0;
    if (is_proposed_ || !view.record) return;
    if (view.record->placement.state != authority::RecordState::open) return;
    is_proposed_ = true;
    if (view.registry_version != 0 || options_.proposed.empty()) return;
    telemetry::log(Level::notice,
                   "registry.proposed",
                   "a new cluster: " + std::to_string(options_.proposed.size()) +
                       " resources of the configuration are registered");
    for (const auto& [name, settings] : options_.proposed) {
        write({name, settings}, [name = name](bool done, const std::string& text) {
            if (!done) {
                telemetry::log(
                    Level::warning, "registry.failed", "resource " + name.str() + ": " + text);
            }
        });
    }
}

void FleetStore::write(authority::WriteResource&& call, Answered answered) {
    if (!is_started_) return answered(false, "the node ends");
    // Before anything was registered there is nothing that nodes could disagree about.
    if (call.settings && registry_version_ != 0) {
        call.settings = core::with_next_epoch(
            surroundings_.registry->find(call.name.view()), std::move(*call.settings), epoch_);
        if (call.settings->pending) call.epoch = epoch_;
    }
    if (call.settings) call.settings->retired = false;  // as the arbiter will have it (A9)
    const std::uint64_t id = ++last_call_;
    writes_.emplace(id, Write{call, std::move(answered)});
    arbiter_->act({authority::CallId{id}, std::move(call)});
}

void FleetStore::finish_write(authority::CallId id, bool done, const std::string& text) {
    const auto node = writes_.extract(static_cast<std::uint64_t>(id));
    const Write& write = node.mapped();
    if (done) {
        if (write.call.settings) {
            surroundings_.registry->set(write.call.name, *write.call.settings);
        } else {
            surroundings_.registry->erase(write.call.name.view());
        }
    }
    write.answered(done, done ? std::string() : text);
}

void FleetStore::registry_read(const authority::RegistryRead& read) {
    // Nothing was ever registered: until somebody's proposal is, each node goes by its own.
    if (registry_version_ == 0) return;
    core::Registry& registry = *surroundings_.registry;
    std::unordered_set<std::string_view> staying;
    for (const auto& [name, settings] : read.resources) staying.insert(name.view());
    std::vector<std::string> gone;
    for (const auto& [name, settings] : registry.all()) {
        if (!staying.contains(name)) gone.push_back(name);
    }
    for (const std::string& name : gone) registry.erase(name);
    for (const auto& [name, settings] : read.resources) registry.set(name, settings);

    std::vector<std::string> differing;
    for (const auto& [name, settings] : options_.proposed) {
        const core::ResourceSettings* const agreed = registry.find(name.view());
        core::ResourceSettings proposed = settings;
        proposed.retired = agreed != nullptr && agreed->retired;  // not for configurations to say
        if (agreed == nullptr || *agreed != proposed) differing.push_back(name.str());
    }
    if (differing == differing_) return;
    differing_ = std::move(differing);
    differs_at_.reset();
    if (!differing_.empty()) differs_at_ = surroundings_.boot_now() + differs_for;
}

void FleetStore::tell_differing() {
    if (!differs_at_ || surroundings_.boot_now() < *differs_at_) return;
    differs_at_.reset();
    telemetry::log(Level::warning,
                   "registry.differs",
                   "the configuration of this node says otherwise than the fleet's registry "
                   "about: " +
                       joined(differing_) + "; the registry counts (RESOURCE SET changes it)");
}

}  // namespace latchd::store::fleet
