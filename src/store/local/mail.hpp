// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/node.hpp>

#include <cstddef>
#include <string>
#include <variant>

// What a loop and the owner of the host's table say to each other. Values only.
namespace latchd::store::local {

// ---- to the owner
// --------------------------------------------------------------------------------

struct Enter {};  // answered by Opened
struct Leave {};
// Answered by Opened: everything before it was done, or never will be.
struct Look {};
struct Ask {
    core::OperationId id{};
    core::Operation operation;
};
struct Forget {
    LockKey key;
    Fence fence = 0;
};
using Request = std::variant<Enter, Leave, Look, Ask, Forget>;

// ---- to the loop
// ---------------------------------------------------------------------------------

struct Opened {
    core::StoreOpened opened;
};
struct Done {
    core::OperationId id{};
    core::OperationReply reply;
};
struct Refused {
    core::OperationId id{};
    std::string text;
};
struct Missed {};  // of messages: there was no room for them
using Reply = std::variant<Opened, Done, Refused, core::NodeMessage, Missed>;

}  // namespace latchd::store::local
