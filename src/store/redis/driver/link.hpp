// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latchd/resp/reply_decoder.hpp>
#include <latchd/store/redis/options.hpp>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace latchd::store::redis {

// One connection to a Redis server, from resolving its name to its end; never opened again.
// Knows nothing of what is sent. What is appended in one turn of the loop leaves in one write.
//
// Loop thread only. Owned by its user through shared_ptr (handlers keep it alive); after close()
// the user is not called any more.
class Link : public std::enable_shared_from_this<Link> {
public:
    class User {
    public:
        virtual ~User() = default;
        virtual void link_opened() = 0;
        virtual void link_replied(resp::Value&& value) = 0;
        // What was appended in this turn is about to leave: the last moment to append to it.
        virtual void link_flushing() {}
        // All replies that came are handed out; more will be read.
        virtual void link_idle() = 0;
        // `refused`: the server's host said no, so nobody listens there.
        virtual void link_closed(const std::string& reason, bool refused) = 0;
    };

    Link(boost::asio::io_context& context, const Options& options, User& user);

    void open();
    void close();

    // Append commands here, then call flush_soon().
    [[nodiscard]] std::string& out() noexcept { return out_; }
    // Appends what has to be the first on a connection: AUTH and SELECT, as far as they are needed.
    // Returns the number of replies to it.
    [[nodiscard]] std::size_t append_login();
    void flush_soon();

    // Positions in the stream of bytes that was written to the connection.
    [[nodiscard]] std::uint64_t appended() const noexcept { return base_ + out_.size(); }
    [[nodiscard]] std::uint64_t sent() const noexcept { return base_ + out_sent_; }

private:
    using Executor = boost::asio::io_context::executor_type;
    using Protocol = boost::asio::generic::stream_protocol;
    using Resolver = boost::asio::ip::basic_resolver<boost::asio::ip::tcp, Executor>;
    using Endpoints = Resolver::results_type;
    using Timer =
        boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                          boost::asio::wait_traits<std::chrono::steady_clock>,
                                          Executor>;

    void resolve();
    void connect_next();
    void connect(const Protocol::endpoint& endpoint);
    void connected();
    void arm(const char* waiting_for);
    void read();
    void received(std::size_t count);
    void leave();
    void flush();
    void wait_writable();
    void fail(const std::string& reason, bool refused = false);

    boost::asio::io_context& context_;
    const Options& options_;
    User* user_;  // none: closed
    Resolver resolver_;
    boost::asio::basic_stream_socket<Protocol, Executor> socket_;
    Timer timer_;
    Endpoints endpoints_;
    Endpoints::iterator next_endpoint_;
    std::string last_error_;
    bool last_refused_ = false;
    resp::ReplyDecoder decoder_;
    std::array<char, 16 * 1024> input_;
    std::string out_;
    std::size_t out_sent_ = 0;
    std::uint64_t base_ = 0;  // bytes that were sent and are not in out_ any more
    bool is_open_ = false;
    bool flush_posted_ = false;
    bool wait_write_ = false;
};

}  // namespace latchd::store::redis
