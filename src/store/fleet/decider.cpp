// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/store/fleet/store.hpp>

#include <utility>

namespace latchd::store::fleet {
namespace {

namespace authority = core::authority;

class FleetDecider final : public Decider {
public:
    FleetDecider(authority::FleetOptions options, authority::Known known, core::NameSource& names)
        : fleet_(std::move(options), std::move(known), names) {}

    void start(authority::Moment at, authority::FleetActions& out) override {
        fleet_.start(at, out);
    }
    void step(authority::Moment at,
              authority::FleetEvent&& event,
              authority::FleetActions& out) override {
        fleet_.step(at, std::move(event), out);
    }
    [[nodiscard]] std::optional<Time> next_deadline() const override {
        return fleet_.next_deadline();
    }
    [[nodiscard]] authority::FleetStatus status(Time now) const override {
        return fleet_.status(now);
    }

private:
    authority::Fleet fleet_;
};

}  // namespace

std::unique_ptr<Decider> make_decider(authority::FleetOptions options,
                                      authority::Known known,
                                      core::NameSource& names) {
    return std::make_unique<FleetDecider>(std::move(options), std::move(known), names);
}

}  // namespace latchd::store::fleet
