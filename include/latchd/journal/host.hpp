// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace latchd::journal {

// Which host this is and which of its lives. The boot id guards the instants of a journal: they
// are of CLOCK_BOOTTIME and mean nothing after a restart of the host. The machine id tells apart
// two hosts that share a folder or were cloned together with their boot id.
struct Host {
    std::string machine;  // may be empty: containers often have none
    std::string boot;     // empty: unknown, and then no journal is ever taken over

    friend bool operator==(const Host&, const Host&) = default;
};

// Reads /etc/machine-id (or D-Bus' copy) and the kernel's boot id. What can't be read is empty.
[[nodiscard]] Host read_host();

}  // namespace latchd::journal
