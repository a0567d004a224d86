// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fixture.hpp"

#include <latchd/runtime/clock.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace latchd::test {
namespace {

constexpr auto patience = std::chrono::seconds(30);

std::string fence_text(Fence fence) {
    return std::to_string(epoch_of(fence)) + "." + std::to_string(counter_of(fence));
}

std::string key_text(const LockKey& key) { return key.resource.str() + "/" + key.id.str(); }

}  // namespace

void SlowStore::start() {
    core::StoreOpened opened;
    opened.tier = "redis";
    opened.epoch = table_.epoch();
    sink_.deliver(std::move(opened));
}

void SlowStore::submit(core::OperationId id, core::Operation&& operation) {
    queue_.push_back({id, std::move(operation)});
    if (at_once) answer(queue_.size() - 1);
}

store::Health SlowStore::health() const {
    store::Health health;
    health.name = "slow";
    health.type = "redis";
    health.address = "nowhere";
    health.state = "up";
    return health;
}

void SlowStore::answer(std::size_t index) {
    const Asked asked = std::move(queue_.at(index));
    queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(index));
    sink_.deliver(
        core::StoreReplied{asked.id, table_.apply(runtime::boot_time(), asked.operation)});
}

class Fixture::Names final : public core::NameSource {
public:
    [[nodiscard]] std::string draw() override {
        std::string name = std::to_string(++count_);
        return std::string(22 - name.size(), 'n') + name;
    }

private:
    std::uint64_t count_ = 0;
};

class Fixture::Grants final : public server::GrantLog {
public:
    Grants(std::vector<std::string>& lines, const bool& is_full, const std::size_t& room)
        : lines_(lines), is_full_(is_full), room_(room) {}
    [[nodiscard]] bool put(const core::GrantRecord& record, Time) override {
        if (is_full_) return false;
        lines_.push_back("put " + key_text(record.key) + "#" + fence_text(record.fence));
        return true;
    }
    [[nodiscard]] std::size_t room() override { return is_full_ ? 0 : room_; }
    void drop(const LockKey& key, Fence fence) override {
        lines_.push_back("drop " + key_text(key) + "#" + fence_text(fence));
    }

private:
    std::vector<std::string>& lines_;
    const bool& is_full_;
    const std::size_t& room_;
};

Fixture::Fixture(const std::function<void(server::Options&)>& change)
    : names_(std::make_unique<Names>()),
      grants_(std::make_unique<Grants>(journal, journal_is_full, journal_room)) {
    server::Parts parts;
    parts.options.listeners.push_back({.endpoint = {"127.0.0.1", 0, {}}});
    if (change) change(parts.options);
    parts.listeners = std::make_unique<server::Listeners>(context, parts.options.listeners);
    endpoints = parts.listeners->endpoints();
    parts.node.name = NodeName("test");
    parts.node.incarnation = 1;
    parts.registry = &registry_;
    parts.names = names_.get();
    parts.grants = grants_.get();
    parts.on_finished = [this] { finished = true; };
    server = std::make_unique<server::Server>(context, std::move(parts));
    store = std::make_unique<SlowStore>(server->sink());
    server->attach(*store);
    store->start();
    server->serve();
}

Fixture::~Fixture() { server.reset(); }

bool Fixture::wait_for(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end) return false;
        context.restart();
        if (context.poll() == 0) context.run_one_for(std::chrono::milliseconds(1));
    }
    return true;
}

void Fixture::turn() {
    context.restart();
    context.poll();
}

SocketFile::SocketFile() {
    std::string pattern = std::filesystem::temp_directory_path() / "latchd-test-XXXXXX";
    const char* made = ::mkdtemp(pattern.data());
    if (made == nullptr) throw std::runtime_error("can't make " + pattern);
    folder_ = made;
}

SocketFile::~SocketFile() { std::filesystem::remove_all(folder_); }

std::function<void(server::Options&)> SocketFile::on_it() const {
    return [path = path()](server::Options& options) {
        options.listeners.front().endpoint = {{}, 0, path};
    };
}

Peer::Peer(Fixture& fixture, const server::Endpoint& to, int receive_bytes) : fixture_(fixture) {
    int result = -1;
    if (to.is_unix()) {
        fd_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, to.path.c_str(), sizeof address.sun_path - 1);
        result = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    } else {
        fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
        if (receive_bytes > 0) {
            (void)::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
        }
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(to.port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        result = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    }
    if (result != 0) throw std::runtime_error("can't connect to " + to.to_string());
}

Peer::~Peer() { close(); }

std::size_t Peer::send_some(std::string_view bytes) {
    const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return count < 0 ? 0 : static_cast<std::size_t>(count);
}

void Peer::send(std::string_view bytes) {
    const bool sent = fixture_.wait_for([&] {
        bytes.remove_prefix(send_some(bytes));
        return bytes.empty();
    });
    if (!sent) throw std::runtime_error("the node doesn't read");
}

bool Peer::receive() {
    std::array<char, 65536> buffer{};
    const ssize_t count = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count > 0) received_.append(buffer.data(), static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) ended_ = true;
    return count > 0;
}

std::string Peer::read(std::size_t count) {
    (void)fixture_.wait_for([&] {
        receive();
        return received_.size() >= count || ended_;
    });
    return std::exchange(received_, {});
}

std::string Peer::read_up_to(std::string_view end) {
    (void)fixture_.wait_for([&] {
        receive();
        return received_.ends_with(end) || ended_;
    });
    return std::exchange(received_, {});
}

std::string Peer::read_ready() {
    fixture_.turn();
    while (receive()) {
    }
    return std::exchange(received_, {});
}

std::string Peer::read_all() {
    (void)fixture_.wait_for([&] {
        receive();
        return ended_;
    });
    return std::exchange(received_, {});
}

std::string Peer::ask(std::string_view bytes, std::string_view end) {
    send(bytes);
    return read_up_to(end);
}

void Peer::end_output() { ::shutdown(fd_, SHUT_WR); }

void Peer::close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

void Peer::reset() {
    const linger now{1, 0};
    (void)::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
}

std::string request(const std::vector<std::string_view>& words) {
    std::string out = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string_view word : words) {
        out += "$" + std::to_string(word.size()) + "\r\n" + std::string(word) + "\r\n";
    }
    return out;
}

}  // namespace latchd::test
