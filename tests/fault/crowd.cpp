// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// Many clients that take a few locks from several nodes, as client libraries in trouble do: LOCK,
// RENEW and UNLOCK of one lock go to different nodes, each over a connection of its own, and what
// is not answered in time is sent again, elsewhere, with the same REQ. Writes every operation.
//
//   crowd PORT,PORT,… CLIENTS LOCKS TTL_MS SECONDS SEED RESOURCE,RESOURCE,… [PATIENCE_MS]
//
// PATIENCE_MS: how long a client waits for a reply; without it, 300 ms, 1 s or 5 s by chance.
// SIGTERM ends it early. Output, a line for each sending, when that is over:
//   verb resource id client node called_us returned_us|- token|- request|- wait_ms ttl_ms reply
// reply: G token fence ttl holds tier | I number | N (nil) | E text | - (none: it was given up)
#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <poll.h>
#include <random>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

constexpr std::int64_t ms = 1000;
volatile std::sig_atomic_t is_over = 0;

std::int64_t now_us() {
    // CLOCK_MONOTONIC, as the test's own.
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

struct Settings {
    std::vector<int> ports;
    std::vector<std::string> resources;
    std::size_t locks = 1;
    std::int64_t ttl_ms = 2000;
    std::int64_t patience_ms = 0;
};

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(','), text.size());
        parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

// The next line or bulk string at `at`, and where what follows begins; nullopt: not all of it yet.
std::optional<std::string> next_value(std::string_view data, std::size_t& at) {
    const std::size_t end = data.find("\r\n", at);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = data.substr(at, end - at);
    at = end + 2;
    if (line.empty() || line.front() != '$' || line == "$-1") return std::string(line);
    const auto size = std::strtoull(line.data() + 1, nullptr, 10);
    if (data.size() < at + size + 2) return std::nullopt;
    std::string value(data.substr(at, size));
    at += size + 2;
    return value;
}

class Client {
public:
    Client(const Settings& settings, std::size_t number, std::uint64_t seed)
        : settings_(settings), number_(number), random_(seed) {
        due_us_ = now_us() + below(200) * ms;
    }
    ~Client() { disconnect(); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] bool wants_to_write() const { return !out_.empty(); }
    [[nodiscard]] std::int64_t due_us() const { return due_us_; }
    [[nodiscard]] bool is_idle() const { return state_ == State::idle; }

    // Its time has come: a reply is late, a pause is over.
    void wake(bool may_begin) {
        if (fd_ >= 0) {
            record("-");
            disconnect();
            return again();
        }
        switch (state_) {
            case State::idle:
                if (may_begin)
                    begin_wish();
                else
                    due_us_ = now_us() + 100 * ms;
                break;
            case State::locking:
                send_lock();
                break;
            case State::holding:
                go_on();
                break;
            case State::renewing:
                send_renew();
                break;
            case State::unlocking:
                send_unlock();
                break;
        }
    }

    void ready(short events) {
        if ((events & POLLOUT) != 0 && !flush()) return lost();
        if ((events & (POLLIN | POLLERR | POLLHUP)) == 0) return;
        char buffer[4096];
        const ssize_t size = recv(fd_, buffer, sizeof(buffer), MSG_DONTWAIT);
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (size <= 0) return lost();
        in_.append(buffer, static_cast<std::size_t>(size));
        take_reply();
    }

    void give_up() {
        if (fd_ >= 0) record("-");
        disconnect();
    }

private:
    enum class State { idle, locking, holding, renewing, unlocking };

    std::int64_t below(std::int64_t end) {
        return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random_);
    }

    void begin_wish() {
        resource_ = settings_.resources[static_cast<std::size_t>(
            below(static_cast<std::int64_t>(settings_.resources.size())))];
        id_ = std::to_string(below(static_cast<std::int64_t>(settings_.locks)));
        char request[40];
        std::snprintf(request,
                      sizeof(request),
                      "%zx-%llx",
                      number_,
                      static_cast<unsigned long long>(random_()));
        request_ = request;
        constexpr std::int64_t waits[] = {0, 500, 2000};
        wait_ms_ = settings_.patience_ms > 0 ? 2000 : waits[below(3)];
        token_.clear();
        sendings_ = 0;
        wish_until_us_ = now_us() + 8000 * ms;
        state_ = State::locking;
        send_lock();
    }

    void send_lock() {
        send("LOCK",
             {"LOCK",
              resource_,
              id_,
              "PX",
              std::to_string(settings_.ttl_ms),
              "WAIT",
              std::to_string(wait_ms_),
              "REQ",
              request_});
    }
    void send_renew() { send("RENEW", {"RENEW", resource_, id_, token_}); }
    void send_unlock() { send("UNLOCK", {"UNLOCK", resource_, id_, token_}); }

    // Not answered: once more, elsewhere, until the wish is too old or the lease is over.
    void again() {
        ++sendings_;
        const std::int64_t until = state_ == State::locking ? wish_until_us_ : lease_us_;
        if (sendings_ > 11 || now_us() > until) return rest(20);
        due_us_ = now_us() + (5 + below(30)) * ms;
    }

    void rest(std::int64_t least_ms) {
        state_ = State::idle;
        due_us_ = now_us() + (least_ms + below(60)) * ms;
    }

    void go_on() {
        sendings_ = 0;
        state_ = below(2) == 0 ? State::renewing : State::unlocking;
        if (state_ == State::renewing) return send_renew();
        send_unlock();
    }

    void lost() {
        record("-");
        disconnect();
        again();
    }

    void disconnect() {
        if (fd_ >= 0) close(fd_);
        fd_ = -1;
        in_.clear();
        out_.clear();
    }

    void send(const char* verb, const std::vector<std::string>& words) {
        verb_ = verb;
        const std::size_t count = settings_.ports.size();
        node_ = (node_ + 1 +
                 static_cast<std::size_t>(
                     below(static_cast<std::int64_t>(std::max<std::size_t>(count, 2) - 1)))) %
                count;
        called_us_ = now_us();
        constexpr std::int64_t patiences[] = {300, 1000, 5000};
        patience_us_ =
            (settings_.patience_ms > 0 ? settings_.patience_ms : patiences[below(3)]) * ms;
        due_us_ = called_us_ + patience_us_;
        out_ = "*" + std::to_string(words.size()) + "\r\n";
        for (const std::string& word : words) {
            out_ += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
        }
        if (!connect_to(settings_.ports[node_]) || !flush()) lost();
    }

    bool connect_to(int port) {
        fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        const int on = 1;
        setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ||
               errno == EINPROGRESS;
    }

    bool flush() {
        while (!out_.empty()) {
            const ssize_t sent = ::send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent < 0) return errno == EAGAIN || errno == EINTR;
            out_.erase(0, static_cast<std::size_t>(sent));
        }
        return true;
    }

    void record(const std::string& reply) const {
        const bool is_over_now = reply == "-";
        std::printf("%s %s %s c%zu %zu %lld %s %s %s %lld %lld %s\n",
                    verb_,
                    resource_.c_str(),
                    id_.c_str(),
                    number_,
                    node_,
                    static_cast<long long>(called_us_),
                    is_over_now ? "-" : std::to_string(now_us()).c_str(),
                    token_.empty() ? "-" : token_.c_str(),
                    request_.c_str(),
                    static_cast<long long>(wait_ms_),
                    static_cast<long long>(settings_.ttl_ms),
                    reply.c_str());
    }

    void take_reply() {
        std::size_t at = 0;
        const auto first = next_value(in_, at);
        if (!first) return;
        std::vector<std::string> parts;
        if (*first == "*5") {
            for (int i = 0; i < 5; ++i) {
                auto part = next_value(in_, at);
                if (!part) return;
                parts.push_back(part->front() == ':' ? part->substr(1) : std::move(*part));
            }
        }
        const std::string& head = *first;
        if (!parts.empty()) {
            std::string text = "G";
            for (const std::string& part : parts) text += ' ' + part;
            record(text);
        } else if (head.front() == ':') {
            record("I " + head.substr(1));
        } else if (head.front() == '-') {
            record("E " + head.substr(1));
        } else {
            record("N");
        }
        disconnect();
        answered(head, parts);
    }

    void answered(const std::string& head, const std::vector<std::string>& parts) {
        const bool is_error = head.front() == '-';
        if (is_error) return again();
        switch (state_) {
            case State::locking:
                if (parts.empty()) return rest(20);
                token_ = parts[0];
                lease_us_ = called_us_ + std::strtoll(parts[2].c_str(), nullptr, 10) * ms;
                state_ = State::holding;
                due_us_ = now_us() + below(settings_.ttl_ms / 20) * ms;
                break;
            case State::renewing:
                if (head == ":0" || head == ":-1") return rest(20);
                lease_us_ = called_us_ + std::strtoll(head.c_str() + 1, nullptr, 10) * ms;
                sendings_ = 0;
                state_ = State::unlocking;
                due_us_ = now_us() + below(settings_.ttl_ms / 20) * ms;
                break;
            default:
                rest(0);
        }
    }

    const Settings& settings_;
    const std::size_t number_;
    std::mt19937_64 random_;
    State state_ = State::idle;
    std::int64_t due_us_ = 0;
    int fd_ = -1;
    std::string in_;
    std::string out_;
    const char* verb_ = "";
    std::size_t node_ = 0;
    std::int64_t called_us_ = 0;
    std::int64_t patience_us_ = 0;
    std::string resource_;
    std::string id_;
    std::string request_;
    std::string token_;
    std::int64_t wait_ms_ = 0;
    std::int64_t wish_until_us_ = 0;
    std::int64_t lease_us_ = 0;
    int sendings_ = 0;
};

class Crowd {
public:
    Crowd(const Settings& settings, std::size_t count, std::uint64_t seed) {
        for (std::size_t i = 0; i < count; ++i) {
            clients_.push_back(std::make_unique<Client>(settings, i, seed * 1'000'003 + i));
        }
    }

    // Begins nothing new after so many seconds, ends what has begun, at most 10 s later.
    void run(double seconds) {
        const std::int64_t end_us = now_us() + static_cast<std::int64_t>(seconds * 1e6);
        while (true) {
            const std::int64_t now = now_us();
            const bool may_begin = is_over == 0 && now < end_us;
            if (!may_begin && (all_idle() || now > end_us + 10'000 * ms)) break;
            turn(now, may_begin);
        }
        for (auto& client : clients_) client->give_up();
    }

private:
    [[nodiscard]] bool all_idle() const {
        return std::ranges::all_of(clients_, [](const auto& client) { return client->is_idle(); });
    }

    void turn(std::int64_t now, bool may_begin) {
        polls_.clear();
        who_.clear();
        std::int64_t next = now + 100 * ms;
        for (auto& client : clients_) {
            if (client->due_us() <= now) client->wake(may_begin);
            next = std::min(next, client->due_us());
            if (client->fd() < 0) continue;
            const short events = client->wants_to_write() ? POLLIN | POLLOUT : POLLIN;
            polls_.push_back({client->fd(), events, 0});
            who_.push_back(client.get());
        }
        const auto pause = std::max<std::int64_t>((next - now_us()) / ms, 0);
        poll(polls_.data(), polls_.size(), static_cast<int>(std::min<std::int64_t>(pause, 100)));
        for (std::size_t i = 0; i < polls_.size(); ++i) {
            if (polls_[i].revents != 0) who_[i]->ready(polls_[i].revents);
        }
    }

    std::vector<std::unique_ptr<Client>> clients_;
    std::vector<pollfd> polls_;
    std::vector<Client*> who_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 8) {
        std::fputs("crowd PORTS CLIENTS LOCKS TTL_MS SECONDS SEED RESOURCES [PATIENCE_MS]\n",
                   stderr);
        return 64;
    }
    std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);  // a test looks at what is there
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGTERM, [](int) { is_over = 1; });
    Settings settings;
    for (const std::string& port : split(argv[1])) settings.ports.push_back(std::stoi(port));
    settings.locks = std::strtoull(argv[3], nullptr, 10);
    settings.ttl_ms = std::strtoll(argv[4], nullptr, 10);
    settings.resources = split(argv[7]);
    if (argc > 8) settings.patience_ms = std::strtoll(argv[8], nullptr, 10);
    Crowd crowd(settings, std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[6], nullptr, 10));
    crowd.run(std::atof(argv[5]));
    return 0;
}
