// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// Locks and unlocks through several pipelining connections at a set rate, until the server ends
// them, and prints what was answered. Every tenth grant is kept.
//
//   hammer PORT CONNECTIONS DEPTH LOCKS_PER_SECOND SECONDS_AT_MOST RUN
//
// Output, a line each, in the order of the answers:
//   G id token fence ttl_ms called_us returned_us   a grant
//   U token reply                                   an UNLOCK; reply '?': sent, not answered
//   L id                                            a LOCK that was sent and not answered
//   E text                                          an error reply
//   R locks seconds                                 at the end: how many were answered in what time
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t kept_of = 10;
constexpr const char* resource = "crash";
constexpr const char* lease_ms = "60000";

std::int64_t now_us() {
    // CLOCK_MONOTONIC, as the test's own.
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

struct Wish {
    bool is_lock = false;
    std::string name;  // id of a LOCK, token of an UNLOCK
    std::string id;
    std::int64_t called_us = 0;
    bool is_kept = false;
};

struct Connection {
    int fd = -1;
    std::deque<Wish> sent;
    std::string in;
    std::string out;
};

void append_command(std::string& out, std::initializer_list<std::string_view> words) {
    out += '*' + std::to_string(words.size()) + "\r\n";
    for (const std::string_view word : words) {
        out += '$' + std::to_string(word.size()) + "\r\n";
        out += word;
        out += "\r\n";
    }
}

// The next line or bulk string at `at`, and where what follows begins; nullopt: not all of it yet.
std::optional<std::string_view> next_value(std::string_view data, std::size_t& at) {
    const std::size_t end = data.find("\r\n", at);
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view value = data.substr(at, end - at);
    std::size_t next = end + 2;
    if (!value.empty() && value.front() == '$' && value != "$-1") {
        const auto size = std::strtoull(value.data() + 1, nullptr, 10);
        if (data.size() < next + size + 2) return std::nullopt;
        value = data.substr(next, size);
        next += size + 2;
    }
    at = next;
    return value;
}

class Hammer {
public:
    Hammer(int port, std::size_t connections, std::size_t depth, double rate, std::string run)
        : depth_(depth), rate_(rate), run_(std::move(run)) {
        for (std::size_t i = 0; i < connections; ++i) connections_.push_back(connect_to(port));
    }

    // Returns whether the server ended the connections within the time.
    bool run(double seconds) {
        begin_us_ = now_us();
        const std::int64_t end_us = begin_us_ + static_cast<std::int64_t>(seconds * 1e6);
        while (now_us() < end_us) {
            std::vector<pollfd> polls;
            bool is_alive = false;
            for (Connection& c : connections_) {
                if (c.fd < 0) continue;
                is_alive = true;
                fill(c);
                flush(c);
                const short events = c.out.empty() ? POLLIN : POLLIN | POLLOUT;
                polls.push_back({c.fd, events, 0});
            }
            if (!is_alive) return true;
            poll(polls.data(), polls.size(), 1);
            for (Connection& c : connections_) {
                if (c.fd >= 0) receive(c);
            }
        }
        return false;
    }

    void finish() {
        const double seconds = static_cast<double>(now_us() - begin_us_) / 1e6;
        for (const Connection& c : connections_) {
            for (const Wish& wish : c.sent) {
                std::printf(wish.is_lock ? "L %s\n" : "U %s ?\n", wish.name.c_str());
            }
        }
        std::printf("R %zu %.3f\n", answered_, seconds);
    }

private:
    static Connection connect_to(int port) {
        Connection c;
        c.fd = socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(static_cast<std::uint16_t>(port));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (connect(c.fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
            std::perror("connect");
            std::exit(1);
        }
        const int one = 1;
        setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        return c;
    }

    void fill(Connection& c) {
        while (c.sent.size() < depth_) {
            const double due = static_cast<double>(now_us() - begin_us_) / 1e6 * rate_;
            if (static_cast<double>(issued_) >= due) return;
            const std::size_t number = ++issued_;
            std::string id = run_ + "-" + std::to_string(number);
            append_command(c.out, {"LOCK", resource, id, "PX", lease_ms});
            c.sent.push_back({true, id, id, now_us(), number % kept_of == 0});
        }
    }

    void flush(Connection& c) {
        while (!c.out.empty()) {
            const ssize_t sent =
                send(c.fd, c.out.data(), c.out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
            if (sent <= 0) return;  // what ended it is seen by receive()
            c.out.erase(0, static_cast<std::size_t>(sent));
        }
    }

    void receive(Connection& c) {
        char buffer[1 << 16];
        const ssize_t size = recv(c.fd, buffer, sizeof buffer, MSG_DONTWAIT);
        if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (size <= 0) {
            close(c.fd);
            c.fd = -1;
            return;
        }
        c.in.append(buffer, static_cast<std::size_t>(size));
        std::size_t at = 0;
        while (!c.sent.empty() && take_reply(c, at)) {
        }
        c.in.erase(0, at);
    }

    bool take_reply(Connection& c, std::size_t& at) {
        std::size_t next = at;
        const auto first = next_value(c.in, next);
        if (!first) return false;
        std::vector<std::string> parts;
        if (*first == "*5") {
            for (int i = 0; i < 5; ++i) {
                const auto part = next_value(c.in, next);
                if (!part) return false;
                parts.emplace_back(part->substr(part->front() == ':' ? 1 : 0));
            }
        }
        const std::string head(*first);
        at = next;
        const Wish wish = std::move(c.sent.front());
        c.sent.pop_front();
        if (!wish.is_lock) {
            std::printf("U %s %s\n", wish.name.c_str(), head.c_str() + 1);
        } else if (parts.empty()) {
            std::printf("E %s\n", head.c_str());
        } else {
            granted(c, wish, parts);
        }
        return true;
    }

    void granted(Connection& c, const Wish& wish, const std::vector<std::string>& parts) {
        ++answered_;
        std::printf("G %s %s %s %s %lld %lld\n",
                    wish.id.c_str(),
                    parts[0].c_str(),
                    parts[1].c_str(),
                    parts[2].c_str(),
                    static_cast<long long>(wish.called_us),
                    static_cast<long long>(now_us()));
        if (wish.is_kept) return;
        append_command(c.out, {"UNLOCK", resource, wish.id, parts[0]});
        c.sent.push_back({false, parts[0], wish.id, now_us(), false});
    }

    const std::size_t depth_;
    const double rate_;
    const std::string run_;
    std::vector<Connection> connections_;
    std::int64_t begin_us_ = 0;
    std::size_t issued_ = 0;
    std::size_t answered_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 7) {
        std::fputs("hammer PORT CONNECTIONS DEPTH LOCKS_PER_SECOND SECONDS_AT_MOST RUN\n", stderr);
        return 64;
    }
    std::signal(SIGPIPE, SIG_IGN);
    Hammer hammer(std::atoi(argv[1]),
                  std::strtoull(argv[2], nullptr, 10),
                  std::strtoull(argv[3], nullptr, 10),
                  std::atof(argv[4]),
                  argv[6]);
    const bool is_ended = hammer.run(std::atof(argv[5]));
    hammer.finish();
    return is_ended ? 0 : 2;
}
