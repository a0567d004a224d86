// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include <latchd/config/surroundings.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace latchd::config {
namespace {

class Descriptor {
public:
    explicit Descriptor(int fd) noexcept : fd_(fd) {}
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    [[nodiscard]] int get() const noexcept { return fd_; }

private:
    int fd_;
};

FileContent failed(int error) {
    FileContent content;
    content.status = error == ENOENT ? FileContent::Status::missing : FileContent::Status::failed;
    content.error = std::strerror(error);
    return content;
}

FileContent read_file(const std::string& path) {
    constexpr std::size_t longest = 1024 * 1024;
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return failed(errno);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return failed(errno);
    FileContent content;
    content.mode = status.st_mode;
    char buffer[16384];
    while (content.text.size() <= longest) {
        const auto count = ::read(file.get(), buffer, sizeof buffer);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return failed(errno);
        if (count == 0) {
            content.status = FileContent::Status::read;
            return content;
        }
        content.text.append(buffer, static_cast<std::size_t>(count));
    }
    return failed(EFBIG);
}

std::string host_name() {
    char name[256] = {};
    // Truncation leaves no closing zero by the standard: the last byte is kept back.
    if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
    return name;
}

}  // namespace

Surroundings system_surroundings() {
    return {
        .variable = [](const std::string& name) -> std::optional<std::string> {
            const char* value = std::getenv(name.c_str());
            return value == nullptr ? std::nullopt : std::optional<std::string>(value);
        },
        .read_file = read_file,
        .host_name = host_name(),
        .user_id = ::geteuid(),
    };
}

}  // namespace latchd::config
