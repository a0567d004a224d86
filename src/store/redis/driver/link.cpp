// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "link.hpp"

#include <latchd/resp/command_writer.hpp>

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/socket_base.hpp>

#include <cerrno>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace latchd::store::redis {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

bool is_refusal(const error_code& error) {
    return error == asio::error::connection_refused ||
           error == boost::system::errc::no_such_file_or_directory;  // a Unix socket's
}

}  // namespace

Link::Link(asio::io_context& context, const Options& options, User& user)
    : context_(context),
      options_(options),
      user_(&user),
      resolver_(context),
      socket_(context),
      timer_(context) {}

void Link::open() {
    if (options_.path.empty()) {
        resolve();
    } else {
        next_endpoint_ = endpoints_.end();
        arm("connecting");
        connect(Protocol::endpoint(asio::local::stream_protocol::endpoint(options_.path)));
    }
}

void Link::close() {
    user_ = nullptr;
    resolver_.cancel();
    timer_.cancel();
    error_code ignored;
    socket_.close(ignored);
}

void Link::fail(const std::string& reason, bool refused) {
    User* user = std::exchange(user_, nullptr);
    if (!user) return;
    close();
    user->link_closed(reason, refused);
}

// The kernel's timer stands still while the host is suspended; then the connection is tried for
// a little longer, which harms nobody.
void Link::arm(const char* waiting_for) {
    timer_.expires_after(options_.connect_timeout);
    timer_.async_wait([self = shared_from_this(), waiting_for](const error_code& error) {
        if (error || self->is_open_) return;
        // An armed-again timer that was already queued says so by its expiry.
        if (self->timer_.expiry() > std::chrono::steady_clock::now()) return;
        self->fail(std::string(waiting_for) + " timed out");
    });
}

void Link::resolve() {
    error_code not_numeric;
    const auto address = asio::ip::make_address(options_.host, not_numeric);
    if (!not_numeric) {
        // Spares the resolver's thread.
        next_endpoint_ = endpoints_.end();
        arm("connecting");
        return connect(Protocol::endpoint(asio::ip::tcp::endpoint(address, options_.port)));
    }
    arm("resolving the name");
    resolver_.async_resolve(
        options_.host,
        std::to_string(options_.port),
        asio::ip::tcp::resolver::numeric_service,
        [self = shared_from_this()](const error_code& error, Endpoints endpoints) {
            if (!self->user_) return;
            if (error) return self->fail("resolving the name: " + error.message());
            self->endpoints_ = std::move(endpoints);
            self->next_endpoint_ = self->endpoints_.begin();
            self->arm("connecting");
            self->connect_next();
        });
}

void Link::connect_next() {
    if (next_endpoint_ == endpoints_.end()) return fail(last_error_, last_refused_);
    const Protocol::endpoint endpoint(next_endpoint_->endpoint());
    ++next_endpoint_;
    connect(endpoint);
}

void Link::connect(const Protocol::endpoint& endpoint) {
    error_code ignored;
    socket_.close(ignored);
    socket_.async_connect(endpoint, [self = shared_from_this()](const error_code& error) {
        if (!self->user_) return;
        if (!error) return self->connected();
        self->last_error_ = error.message();
        self->last_refused_ = is_refusal(error);
        self->connect_next();
    });
}

void Link::connected() {
    is_open_ = true;
    timer_.cancel();
    error_code error;
    socket_.native_non_blocking(true, error);
    if (error) return fail(error.message());
    if (options_.path.empty()) {
        runtime::set_tcp_options(socket_.native_handle(), options_.tcp);
    }
    read();
    user_->link_opened();
}

std::size_t Link::append_login() {
    std::size_t replies = 0;
    const auto append = [&](std::initializer_list<std::string_view> words) {
        resp::append_command(out_, words);
        ++replies;
    };
    if (!options_.password.empty() && options_.username.empty()) {
        append({"AUTH", options_.password});
    } else if (!options_.password.empty()) {
        append({"AUTH", options_.username, options_.password});
    }
    if (options_.database != 0) append({"SELECT", std::to_string(options_.database)});
    return replies;
}

void Link::read() {
    socket_.async_read_some(asio::buffer(input_),
                            [self = shared_from_this()](const error_code& error, std::size_t n) {
                                if (!self->user_) return;
                                if (error == asio::error::eof)
                                    return self->fail("the server closed the connection");
                                if (error) return self->fail(error.message());
                                self->received(n);
                            });
}

void Link::received(std::size_t count) {
    decoder_.feed(std::string_view(input_.data(), count));
    for (;;) {
        resp::DecodedReply reply = decoder_.next();
        if (reply.status == resp::ReplyStatus::need_more) break;
        if (reply.status == resp::ReplyStatus::protocol_error) {
            return fail("not Redis's protocol: " + std::string(reply.error));
        }
        user_->link_replied(std::move(reply.value));
        if (!user_) return;  // closed by what the reply said
    }
    user_->link_idle();
    if (user_) read();
}

// Runs after the handlers that are ready now: what they append leaves with it.
void Link::flush_soon() {
    if (flush_posted_ || wait_write_) return;
    flush_posted_ = true;
    asio::post(context_, [self = shared_from_this()] { self->leave(); });
}

void Link::leave() {
    // While flush_posted_: what is appended now asks for no further flush.
    flush_posted_ = true;
    if (user_ && is_open_) user_->link_flushing();
    flush_posted_ = false;
    flush();
}

void Link::flush() {
    if (!user_ || !is_open_) return;
    while (out_sent_ < out_.size()) {
        const ssize_t n = ::send(socket_.native_handle(),
                                 out_.data() + out_sent_,
                                 out_.size() - out_sent_,
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return wait_writable();
        if (n < 0) return fail(error_code(errno, boost::system::system_category()).message());
        out_sent_ += static_cast<std::size_t>(n);
    }
    base_ += out_.size();
    out_.clear();
    out_sent_ = 0;
}

void Link::wait_writable() {
    wait_write_ = true;
    socket_.async_wait(asio::socket_base::wait_write,
                       [self = shared_from_this()](const error_code& error) {
                           self->wait_write_ = false;
                           if (!error) self->leave();
                       });
}

}  // namespace latchd::store::redis
