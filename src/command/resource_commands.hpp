// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "table.hpp"

#include <latchd/core/resource/registry.hpp>
#include <latchd/resp/writer.hpp>

#include <span>
#include <string>
#include <string_view>

namespace latchd::command {

[[nodiscard]] std::span<const Command> resource_subcommands() noexcept;

// What LATCHD STATUS and RESOURCE GET say of it.
[[nodiscard]] std::string pending_text(const core::PendingSettings& pending);

// The reply of RESOURCE GET: a map of what holds for a LOCK that names nothing.
void write_resource(resp::Writer reply,
                    const core::Registry& registry,
                    std::string_view name,
                    const core::ResourceSettings& settings,
                    bool is_shared);

}  // namespace latchd::command
