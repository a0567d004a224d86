// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/store/desk.hpp>
#include <latchd/store/fleet/store.hpp>

#include <cstddef>
#include <memory>
#include <optional>

namespace latchd::store::fleet {

// A fleet's last resort as its node reaches it. Answers go to the sink, from within submit() or
// later; so do messages of other loops' nodes, and, where the table is another loop's, StoreClosed
// and StoreOpened when that one hangs and is back.
class HostTable {
public:
    virtual ~HostTable() = default;
    virtual void start() = 0;
    virtual void stop() = 0;
    // Locks of this node are kept there from now on, or no more.
    virtual void open() = 0;
    virtual void close() = 0;
    virtual void submit(core::OperationId id, core::Operation&& operation) = 0;
    // Locks in it. Nothing: it is another loop's.
    [[nodiscard]] virtual std::optional<std::size_t> size() const = 0;
};

// This loop's own table, with the other loops of the process at its desk, if it has one.
[[nodiscard]] std::unique_ptr<HostTable> make_own_table(const Options& options,
                                                        const Surroundings& surroundings,
                                                        Sink& sink);
// Another loop's.
[[nodiscard]] std::unique_ptr<HostTable> make_table_of_other(std::unique_ptr<Window> window);

}  // namespace latchd::store::fleet
