// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace latchd::store::redis {

// One per file in lua/, in the order of the tables in scripts.cpp.
enum class Script : std::uint8_t {
    acquire,
    release,
    renew,
    undo,
    cancel,
    force,
    inspect,
    restore,
    step_out,
    list,
    sweep,
    probe,
    many,
    marker_set,  // these don't depend on an epoch: their text never changes
    claims_load,
    claims_read,
};
inline constexpr std::size_t script_count = 16;

// The scripts as they are sent to one store process in one epoch: epoch and nonce are in the text
// of each that serves locks, so that another process answers NOSCRIPT by itself.
class Scripts {
public:
    // Before an epoch is open: only the authority's scripts may be called.
    Scripts();
    Scripts(Epoch epoch, std::string_view nonce);

    // For SCRIPT LOAD.
    [[nodiscard]] std::string text(Script script) const;
    // For EVALSHA: 40 lower-case hexadecimal digits.
    [[nodiscard]] std::string_view digest(Script script) const noexcept {
        return digests_[static_cast<std::size_t>(script)];
    }

    [[nodiscard]] Epoch epoch() const noexcept { return epoch_; }
    [[nodiscard]] const std::string& nonce() const noexcept { return nonce_; }
    // How each record of theirs ends.
    [[nodiscard]] const std::string& tail() const noexcept { return tail_; }

    // Appends `SCRIPT LOAD` of the scripts that serve locks (acquire … many) or of the
    // authority's, in one pipeline; returns how many replies will come.
    std::size_t append_load_locks(std::string& out) const;
    std::size_t append_load_authority(std::string& out) const;

private:
    Epoch epoch_ = 0;
    std::string nonce_;
    std::string tail_;
    std::array<std::string, script_count> digests_;
};

}  // namespace latchd::store::redis
