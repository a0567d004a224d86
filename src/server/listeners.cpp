// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "accepted.hpp"
#include "socket.hpp"

#include <latchd/server/listeners.hpp>
#include <latchd/telemetry/log.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace latchd::server {
namespace {

using Watched = boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;

constexpr int accepts_per_turn = 64;
constexpr auto pause = std::chrono::milliseconds(100);
constexpr std::string_view no_room = "-ERR max number of clients reached\r\n";

enum class Refusal {
    refused,  // a client was told
    nobody,   // none is waiting
    failed,   // the lack is worse than one descriptor
};

Descriptor open_spare() { return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

bool is_descriptor_lack(int error) { return error == EMFILE || error == ENFILE; }

bool is_passing(int error) {
    // What Linux reports of a connection that ended before it was accepted.
    return error == EINTR || error == ECONNABORTED || error == EPROTO || error == EPERM ||
           error == ENETDOWN || error == EHOSTDOWN || error == EHOSTUNREACH ||
           error == ENETUNREACH || error == ENONET || error == ENOPROTOOPT;
}

}  // namespace

// One endpoint of the configuration, on all addresses that it stands for ("localhost" may be two).
// Runs on through lack of descriptors: a spare one lets it refuse a client by word instead of
// leaving it waiting, and what the kernel lacks is waited for.
class Listeners::Listener : public std::enable_shared_from_this<Listeners::Listener> {
public:
    using OnAccept = std::function<void(Accepted&&)>;

    Listener(boost::asio::io_context& context, ListenerOptions options)
        : options_(std::move(options)), timer_(context), spare_(open_spare()) {
        if (options_.endpoint.is_unix()) {
            add(context, listen_on_unix(options_.endpoint.path));
            remember_file();
        } else {
            for (Descriptor& socket : listen_on_tcp(options_)) add(context, std::move(socket));
        }
    }

    void start(OnAccept on_accept) {
        on_accept_ = std::move(on_accept);
        for (std::size_t i = 0; i < sockets_.size(); ++i) wait(i);
    }

    void stop() {
        if (std::exchange(stopped_, true)) return;
        timer_.cancel();
        boost::system::error_code ignored;
        for (Watched& socket : sockets_) socket.close(ignored);
        struct stat info {};
        const std::string& path = options_.endpoint.path;
        if (options_.endpoint.is_unix() && ::lstat(path.c_str(), &info) == 0 &&
            info.st_ino == file_.st_ino && info.st_dev == file_.st_dev) {
            ::unlink(path.c_str());
        }
    }

    [[nodiscard]] const std::vector<Endpoint>& endpoints() const noexcept { return endpoints_; }
    [[nodiscard]] const ListenerOptions& options() const noexcept { return options_; }

private:
    void add(boost::asio::io_context& context, Descriptor socket) {
        endpoints_.push_back(options_.endpoint.is_unix() ? options_.endpoint
                                                         : local_endpoint(socket.get()));
        sockets_.emplace_back(context, socket.get());
        resting_.push_back(false);
        socket.release();
    }

    void remember_file() { (void)::lstat(options_.endpoint.path.c_str(), &file_); }

    void wait(std::size_t index) {
        sockets_[index].async_wait(
            Watched::wait_read,
            [self = shared_from_this(), index](boost::system::error_code error) {
                if (!error && !self->stopped_) self->accept_some(index);
            });
    }

    void accept_some(std::size_t index) {
        for (int i = 0; i < accepts_per_turn; ++i) {
            sockaddr_storage address{};
            socklen_t size = sizeof address;
            Descriptor client(::accept4(sockets_[index].native_handle(),
                                        reinterpret_cast<sockaddr*>(&address),
                                        &size,
                                        SOCK_NONBLOCK | SOCK_CLOEXEC));
            if (client.is_open()) {
                hand_over(std::move(client), address, index);
                if (stopped_) return;
                continue;
            }
            const int error = errno;
            if (error == EAGAIN || error == EWOULDBLOCK) return wait(index);
            if (is_passing(error)) continue;
            const Refusal refusal = is_descriptor_lack(error) ? refuse_one(index) : Refusal::failed;
            if (refusal == Refusal::refused) continue;
            // accept() complains of the lack before it looks whether somebody is there.
            if (refusal == Refusal::nobody) return wait(index);
            return rest(index, error);
        }
        wait(index);  // the other sessions' turn
    }

    void hand_over(Descriptor client, const sockaddr_storage& address, std::size_t index) {
        const std::string local = endpoints_[index].to_string();
        const bool is_unix = options_.endpoint.is_unix();
        on_accept_({.descriptor = std::move(client),
                    .family = is_unix ? AF_UNIX : address.ss_family,
                    .peer = is_unix ? local : endpoint_of(address).to_string(),
                    .local = local,
                    .clients_max = options_.clients_max,
                    .idle_timeout = options_.idle_timeout});
    }

    // Without the spare descriptor the client would hang in the backlog, and the loop spin.
    Refusal refuse_one(std::size_t index) {
        if (!spare_.is_open()) return Refusal::failed;
        spare_ = Descriptor();
        Refusal refusal = Refusal::refused;
        {
            const Descriptor client(::accept4(
                sockets_[index].native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
            if (client.is_open()) {
                (void)::send(client.get(), no_room.data(), no_room.size(), MSG_NOSIGNAL);
            } else {
                refusal =
                    errno == EAGAIN || errno == EWOULDBLOCK ? Refusal::nobody : Refusal::failed;
            }
        }
        spare_ = open_spare();
        if (refusal == Refusal::refused) {
            telemetry::log(telemetry::Level::error,
                           "client.refused",
                           "out of file descriptors; raise LimitNOFILE or lower "
                           "listen.max_clients");
        }
        return refusal;
    }

    void rest(std::size_t index, int error) {
        telemetry::log(telemetry::Level::error,
                       "listener.paused",
                       endpoints_[index].to_string() + ": " +
                           std::generic_category().message(error) + "; trying again in 100 ms");
        resting_[index] = true;
        timer_.expires_after(pause);
        timer_.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
            if (!cancelled && !self->stopped_) self->wake();
        });
    }

    void wake() {
        if (!spare_.is_open()) spare_ = open_spare();
        for (std::size_t i = 0; i < sockets_.size(); ++i) {
            if (std::exchange(resting_[i], false)) wait(i);
        }
    }

    ListenerOptions options_;
    OnAccept on_accept_;
    boost::asio::steady_timer timer_;
    Descriptor spare_;
    std::vector<Watched> sockets_;
    std::vector<Endpoint> endpoints_;
    std::vector<char> resting_;  // by socket: waits for the timer
    struct stat file_ {};
    bool stopped_ = false;
};

Listeners::Listeners(boost::asio::io_context& context,
                     const std::vector<ListenerOptions>& options) {
    for (const ListenerOptions& one : options) {
        auto listener = std::make_shared<Listener>(context, one);
        for (const Endpoint& bound : listener->endpoints()) endpoints_.push_back(bound);
        listeners_.push_back(std::move(listener));
    }
}

Listeners::~Listeners() { stop(); }

std::vector<ListenerOptions> Listeners::for_further_loop() const {
    std::vector<ListenerOptions> all;
    for (const auto& listener : listeners_) {
        for (const Endpoint& bound : listener->endpoints()) {
            if (bound.is_unix()) continue;
            ListenerOptions one = listener->options();
            one.endpoint = bound;
            one.sharing = ListenerOptions::Sharing::further;
            all.push_back(std::move(one));
        }
    }
    return all;
}

void Listeners::start(std::function<void(Accepted&&)> on_accept) {
    for (const auto& listener : listeners_) listener->start(on_accept);
}

void Listeners::stop() {
    for (const auto& listener : listeners_) listener->stop();
}

}  // namespace latchd::server
