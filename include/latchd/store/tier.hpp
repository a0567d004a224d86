// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/authority/fleet.hpp>
#include <latchd/store/port.hpp>

#include <string>

// The ports between the authority of a fleet and the servers that it is about. Adapters carry;
// core::authority::Fleet decides.
namespace latchd::store {

// Where tiers and arbiter say what happened. May be called from within a call of theirs; the
// receiver queues. Loop thread only.
class FleetSink {
public:
    virtual ~FleetSink() = default;
    virtual void happened(core::authority::FleetEvent&& event) = 0;
};

// A store whose right to grant comes from a Fleet. It connects, identifies and probes by itself
// from start() on, whether it serves or not; never delivers StoreOpened or StoreClosed.
//
// submit() only between TierServe and TierWithdraw; Store's promises about order, doubt and
// "kill, then look" hold. After a withdrawal no answer to what was submitted before is delivered:
// the caller has failed it. StoreReplied, StoreFailed, NodeMessage and MessagesResumed go to the
// Sink, everything else to the FleetSink.
class Tier : public Store {
public:
    virtual void act(core::authority::TierLook&& action) = 0;
    virtual void act(core::authority::TierInitialise&& action) = 0;
    virtual void act(core::authority::TierLoad&& action) = 0;
    virtual void act(core::authority::TierCloseAndRead&& action) = 0;
    virtual void act(core::authority::TierServe&& action) = 0;
    virtual void act(core::authority::TierNote&& action) = 0;
    virtual void act(core::authority::TierWithdraw&& action) = 0;
};

// Connects by itself from start() on. Each call is answered exactly once, ArbiterAnswered or
// ArbiterFailed, within its operation time-out; calls are carried out in order. A call whose answer
// was lost may have been carried out: every call can be sent again.
class Arbiter {
public:
    virtual ~Arbiter() = default;
    virtual void start() = 0;
    virtual void stop() = 0;
    virtual void act(core::authority::ArbiterDo&& action) = 0;
    [[nodiscard]] virtual Health health() const = 0;
};

}  // namespace latchd::store
