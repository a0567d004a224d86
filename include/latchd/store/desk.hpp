// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/core/lock/node.hpp>
#include <latchd/core/lock/table.hpp>
#include <latchd/store/port.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

// A process of several loops is several nodes, and its host has one table, which lives on the first
// loop: the owner's. The others reach it over a desk: what they ask for is carried there by mail,
// and what becomes of it is carried back.
namespace latchd::store {

// Who has the table. Called on the owner's loop only, with what the nodes of other loops ask.
class Keeper {
public:
    virtual ~Keeper() = default;
    // A loop begins to keep its locks here, or ceases to.
    virtual void entered() = 0;
    virtual void left() = 0;
    // As told to the node of a loop that asks: the tier, and the epoch as it is now.
    [[nodiscard]] virtual core::StoreOpened opening() const = 0;
    // Why there is no room for what this may grant: it is answered as `full`. Nothing: there is.
    [[nodiscard]] virtual std::optional<std::string> refusal(const core::Operation& operation) = 0;
    // What has to be written down of it is, before this returns.
    [[nodiscard]] virtual core::OperationReply serve(const core::Operation& operation) = 0;
    // What the table has to say to nodes since the last call.
    [[nodiscard]] virtual std::vector<core::Table::Told> take_told() = 0;
    // For the node of the owner's own loop.
    virtual void hear(core::NodeMessage&& message) = 0;
    // A node that kept this grant sees it over.
    virtual void forget(const NodeName& node, const LockKey& key, Fence fence) = 0;
    // For how many further locks' records there is room; of all loops together. What a loop was
    // told of it last may be too much by now.
    [[nodiscard]] virtual std::size_t room() = 0;
};

// The owner's end. The owner's loop only.
class Desk {
public:
    virtual ~Desk() = default;
    // From now on windows are served. Again: what Keeper::opening() says has changed.
    virtual void open(Keeper& keeper) = 0;
    virtual void close() = 0;
    // Sends what a table has to say to the nodes of other loops; the keeper hears the rest.
    virtual void tell(std::vector<core::Table::Told>&& told) = 0;
};

// Another loop's end. Between open() and close() its sink is told StoreOpened once the owner has
// answered, StoreClosed when it is late by the operation time-out, and so on. Each operation is
// answered once: StoreReplied; StoreFailed `unsent` if it is certain that it never will be done,
// for a full mailbox too; `in_doubt` if the owner had taken it already. An operation that is
// submitted after that is done after it. Its own loop only.
class Window {
public:
    virtual ~Window() = default;
    virtual void open() = 0;
    virtual void close() = 0;
    virtual void submit(core::OperationId id, core::Operation&& operation) = 0;
    // This node's journal would drop the record.
    virtual void forget(const LockKey& key, Fence fence) = 0;
    // As the owner said last.
    [[nodiscard]] virtual std::size_t room() const = 0;
    [[nodiscard]] virtual Health health() const = 0;
};

}  // namespace latchd::store
