// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arbiter_run.hpp"

#include <cstdint>

namespace latchd::testing {

// Random calls, to an arbiter whose server is empty and to the reference: all that they answer has
// to agree. The reference is told the server's time, so times agree as well.
void expect_conformance(ArbiterRun& arbiter, std::uint64_t seed, int calls);

// Four nodes at once on one empty server: of those that compare the same, one is done; epochs never
// fall; and an epoch opens only over all claims that came before.
void expect_agreement(const ArbiterRun::Make& make, std::uint64_t seed, int rounds);

// Ten nodes with a thousand locks each, and a leaver with as many, on an empty server.
void expect_room(ArbiterRun& arbiter);

}  // namespace latchd::testing
