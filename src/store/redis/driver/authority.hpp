// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../dialect/replies.hpp"

#include <latchd/base/time.hpp>
#include <latchd/core/authority/fleet.hpp>
#include <latchd/resp/value.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace latchd::store::redis {

// Why a connection ended or a probe failed, as evidence.
using Evidence = core::authority::TierFailed::Evidence;

[[nodiscard]] constexpr Evidence evidence_of(Cause cause) noexcept {
    return cause == Cause::access ? Evidence::access : Evidence::failed;
}

// A write probe that succeeded.
struct ProbeSeen {
    Time sent{};
    Time received{};
    core::authority::StoreMs shown{};
    std::optional<std::uint32_t> counter;  // of the served epoch
};

// What a script did not find as it was told to expect.
enum class Doubt : std::uint8_t {
    stale,           // epoch, nonce or counter differ
    unknown_script,  // NOSCRIPT: flushed, or another process
};

// Decides whether a Driver may serve, and is told what it needs for that. Called by the Driver on
// the loop's thread; may call the Driver back.
class Authority {
public:
    virtual ~Authority() = default;

    // The process behind the connection is known (Driver::server()): the first thing on each
    // connection, and with each probe and look.
    virtual void identified(bool is_first) = 0;
    virtual void connection_lost(const std::string& reason, Evidence evidence) = 0;
    // The next reply of those commands that were announced with Kind::authority.
    virtual void answered(const resp::Value& value) = 0;

    // A probe is being composed: its identity is asked for, its write comes next.
    virtual void probing() = 0;
    virtual void probed(const ProbeSeen& seen) = 0;
    // The connection goes on.
    virtual void probe_failed(const std::string& reason, Evidence evidence) = 0;
    // Until the next probe.
    [[nodiscard]] virtual Duration probe_interval() const noexcept = 0;

    virtual void doubted(Doubt doubt) = 0;
    // Operations can be sent from now on.
    virtual void opened() = 0;
};

}  // namespace latchd::store::redis
