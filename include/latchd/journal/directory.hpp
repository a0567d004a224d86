// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/base/ids.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace latchd::journal {

struct DirectoryOpened;

// A node's own folder `<base>/<node name>`, locked for this process as long as the object lives.
// Whoever has it may write the files in it and speak for the node's former self.
//
// The lock is a flock on `runtime.lock` or `state.lock`, so that one base may serve as both. The
// folder itself is locked too where the file system can: cleaners of temporary folders leave a
// locked folder alone. A forked child shares the lock; exec lets go of it.
class NodeDirectory {
public:
    enum class Purpose : std::uint8_t {
        runtime,  // the journal: survives the process
        state,    // what must survive the host
    };

    // Creates what is missing, 0700. A folder that another user may write in is not used.
    [[nodiscard]] static DirectoryOpened open(const std::string& base,
                                              const NodeName& node,
                                              Purpose purpose);

    NodeDirectory(NodeDirectory&& other) noexcept;
    NodeDirectory& operator=(NodeDirectory&& other) noexcept;
    ~NodeDirectory();

    [[nodiscard]] int fd() const noexcept { return folder_; }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    NodeDirectory(int folder, int lock, std::string path) noexcept;

    int folder_ = -1;
    int lock_ = -1;
    std::string path_;
};

// Exactly one of the three is set.
struct DirectoryOpened {
    std::optional<NodeDirectory> directory;
    std::string warning;  // can't be used: the node goes on without it
    std::string refusal;  // taken by a running process, which is named: the node must not start
};

// The name of a node's folder: `/` and every byte outside [A-Za-z0-9_.:-] as %XX, a leading dot
// too. Different names give different folders. Empty for an empty name.
[[nodiscard]] std::string folder_name(const NodeName& node);

}  // namespace latchd::journal
