// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "posix.hpp"

#include <latchd/journal/host.hpp>

#include <fcntl.h>

namespace latchd::journal {
namespace {

std::string first_line(const char* path) {
    const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) return {};
    const auto text = read_all(file.get(), 256);
    return text ? text->substr(0, text->find('\n')) : std::string();
}

}  // namespace

Host read_host() {
    Host host{first_line("/etc/machine-id"), first_line("/proc/sys/kernel/random/boot_id")};
    if (host.machine.empty()) host.machine = first_line("/var/lib/dbus/machine-id");
    return host;
}

}  // namespace latchd::journal
