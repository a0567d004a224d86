// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "connection_impl.hpp"

#include <latchd/runtime/clock.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>
#include <utility>
#include <variant>

// The library runs its blocking code on a stack of its own and hands out what it waits for: each
// step is _start, then _cont whenever the socket is ready. The socket may be another one after each
// step, so it is asked for every time; it is watched by a descriptor of our own (dup), because the
// library may close its one while the loop still watches it.
namespace latchd::store::mysql {

// ---- connecting ------------------------------------------------------------------------------

void Connection::Impl::open() {
    // With TLS the library looks the name up itself, aside: the certificate is for the name.
    if (!options_.path.empty() || options_.tls != ConnectOptions::Tls::off) {
        addresses_.push_back(options_.host);
        return connect_next();
    }
    resolve();
}

void Connection::Impl::resolve() {
    error_code not_numeric;
    (void)asio::ip::make_address(options_.host, not_numeric);
    if (!not_numeric) {
        addresses_.push_back(options_.host);
        return connect_next();
    }
    arm(options_.connect_timeout, "resolving the name");
    resolver_.async_resolve(
        options_.host,
        std::to_string(options_.port),
        asio::ip::tcp::resolver::numeric_service,
        [self = shared_from_this()](const error_code& error,
                                    const asio::ip::tcp::resolver::results_type& found) {
            if (self->is_over_) return;
            if (error) {
                return self->fail(
                    {0, "", "resolving the name: " + error.message(), ErrorClass::unsent, false});
            }
            for (const auto& entry : found) {
                self->addresses_.push_back(entry.endpoint().address().to_string());
            }
            self->connect_next();
        });
}

void Connection::Impl::connect_next() {
    if (next_address_ == addresses_.size()) {
        return fail(connect_error_.value_or(
            Error{0, "", "the name has no address", ErrorClass::unsent, false}));
    }
    connect_to(addresses_[next_address_++]);
}

void Connection::Impl::connect_to(std::string address) {
    arm(options_.connect_timeout, "connecting");
    handle_.prepare(options_, std::move(address));
    if (options_.tls == ConnectOptions::Tls::off) {
        step_ = Step::connect;
        return proceed(handle_.connect_start(&connect_result_));
    }
    // The library's handshake blocks: it runs aside, and comes back whole.
    mailbox_ = std::make_shared<Mailbox>();
    mailbox_->context = &context_;
    handle_.connect_aside(
        [mailbox = mailbox_, weak = weak_from_this()](Handle&& handle, bool good) {
            auto shared = std::make_shared<Handle>(std::move(handle));
            const std::lock_guard lock(mailbox->mutex);
            if (mailbox->context == nullptr) return;
            asio::post(*mailbox->context, [mailbox, weak, shared, good] {
                const auto self = weak.lock();
                if (!self || self->mailbox_ != mailbox) return;
                self->mailbox_.reset();
                self->handle_ = std::move(*shared);
                self->connected(good ? self->handle_.get() : nullptr);
            });
        });
}

void Connection::Impl::connected(MYSQL* result) {
    step_ = Step::none;
    if (result == nullptr) {
        connect_error_ = last_error(true);
        drop_handle();
        return connect_next();
    }
    // The library goes on without TLS where the server, or who stands in between, offers none.
    const bool is_encrypted = mysql_get_ssl_cipher(handle_.get()) != nullptr;
    if (options_.tls != ConnectOptions::Tls::off && !is_encrypted) {
        connect_error_ = Error{0, "", "the server offers no TLS", ErrorClass::unsent, false};
        drop_handle();
        return connect_next();
    }
    const int fd = static_cast<int>(mysql_get_socket(handle_.get()));
    if (options_.path.empty()) runtime::set_tcp_options(fd, options_.tcp);
    greet();
}

void Connection::Impl::greet() {
    Query first;
    first.text = session_statements();
    first.done = [this](Answer&& answer) { greeted(std::move(answer)); };
    first.limit = options_.connect_timeout;
    queue_.push_front(std::move(first));
    begin_next();
}

void Connection::Impl::greeted(Answer&& answer) {
    if (answer.error) {
        Error error = std::move(*answer.error);
        if (!error.ends_connection()) error.kind = class_of_connect(error.code);
        error.text = "setting up the session: " + error.text;
        return fail(std::move(error));
    }
    auto read = read_session(answer.sets);
    if (const auto* wrong = std::get_if<std::string>(&read)) {
        return fail({0, "", *wrong, ErrorClass::configuration, false});
    }
    session_ = std::move(std::get<Session>(read));
    is_open_ = true;
    if (user_.opened) user_.opened(session_);
}

// ---- the socket and time ---------------------------------------------------------------------

void Connection::Impl::wait(int wanted) {
    const int fd = static_cast<int>(mysql_get_socket(handle_.get()));
    if (!watch(fd)) {
        return fail({0, "", "no socket that can be watched", ErrorClass::unknown, false});
    }
    const std::uint64_t serial = ++serial_;
    const auto on_ready = [self = shared_from_this(), serial](int flag) {
        return [self, serial, flag](const error_code& error) {
            if (self->is_stale(serial) || error == asio::error::operation_aborted) return;
            self->ready(flag);
        };
    };
    using Watched = asio::posix::stream_descriptor;
    if (wanted & MYSQL_WAIT_READ)
        watched_.async_wait(Watched::wait_read, on_ready(MYSQL_WAIT_READ));
    if (wanted & MYSQL_WAIT_WRITE) {
        watched_.async_wait(Watched::wait_write, on_ready(MYSQL_WAIT_WRITE));
    }
    if (wanted & MYSQL_WAIT_EXCEPT) {
        watched_.async_wait(Watched::wait_error, on_ready(MYSQL_WAIT_EXCEPT));
    }
    // MYSQL_WAIT_TIMEOUT: the library's time-outs are whole seconds; the deadline is ours.
}

// While connecting every step may have a socket of its own; later it is the same one.
bool Connection::Impl::watch(int fd) {
    if (watched_.is_open() && step_ != Step::connect) return true;
    error_code ignored;
    watched_.close(ignored);
    const int own = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (own < 0) return false;
    error_code error;
    watched_.assign(own, error);
    if (error) ::close(own);
    return !error;
}

void Connection::Impl::ready(int flags) {
    ++serial_;
    proceed(cont(step_, flags));
}

void Connection::Impl::arm(Duration limit, const char* waiting_for) {
    const Time now = runtime::boot_time();
    due_ = now + limit;
    waiting_for_ = waiting_for;
    sleep(now);
}

// Deadlines move away with each query, the timer is left where it is and looks again: arming costs
// a system call. At most a second: the kernel's timer stands still while the host is suspended.
void Connection::Impl::sleep(Time now) {
    const Time wakes = std::min(*due_, now + std::chrono::seconds(1));
    if (wakes_ && *wakes_ <= wakes) return;
    wakes_ = wakes;
    timer_.expires_after(std::max(wakes - now, Duration::zero()) + std::chrono::milliseconds(1));
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
        if (error) return;  // armed again, or closed
        self->wakes_.reset();
        self->on_time();
    });
}

void Connection::Impl::on_time() {
    if (is_over_ || !due_) return;
    const Time now = runtime::boot_time();
    if (now < *due_) return sleep(now);
    const ErrorClass kind = is_open_ ? ErrorClass::unknown : ErrorClass::unsent;
    fail({0, "", std::string(waiting_for_) + " timed out", kind, false});
}

// What is suspended in the library is told that its time is over, until it returns: a handle that
// is closed in between would lose what is on its stack.
void Connection::Impl::drop_handle() {
    ++serial_;
    error_code ignored;
    watched_.close(ignored);
    const Step step = std::exchange(step_, Step::none);
    if (step != Step::none && handle_.get() != nullptr) {
        handle_.shut_down();
        for (int i = 0; i < 20 && cont(step, MYSQL_WAIT_TIMEOUT) != 0; ++i) {
        }
    }
    if (stored_ != nullptr) mysql_free_result(std::exchange(stored_, nullptr));
    handle_.close_aside(step == Step::none);
}

void Connection::Impl::fail(Error error) {
    if (is_over_) return;
    const auto keep = shared_from_this();
    if (!is_open_ && error.kind == ErrorClass::unknown) error.kind = ErrorClass::unsent;
    const bool was_open = is_open_;
    close();
    auto current = std::exchange(current_, std::nullopt);
    auto rest = std::exchange(queue_, {});
    if (was_open && current) current->done({std::move(answer_.sets), error});
    Error unsent = error;
    unsent.kind = ErrorClass::unsent;
    for (Query& each : rest) each.done({{}, unsent});
    if (const auto closed = std::exchange(user_, {}).closed) closed(error);
}

void Connection::Impl::close() {
    is_over_ = true;
    is_open_ = false;
    due_.reset();
    resolver_.cancel();
    timer_.cancel();
    if (mailbox_) {
        const std::lock_guard lock(mailbox_->mutex);
        mailbox_->context = nullptr;
    }
    mailbox_.reset();
    drop_handle();
}

void Connection::Impl::end() {
    user_ = {};
    current_.reset();
    queue_.clear();
    if (!is_over_) close();
}

// ---- the outside -----------------------------------------------------------------------------

Connection::Connection(asio::io_context& context, const ConnectOptions& options, User user)
    : impl_(std::make_shared<Impl>(context, options, std::move(user))) {}

Connection::~Connection() { close(); }

void Connection::open() { impl_->open(); }
void Connection::close() { impl_->end(); }

void Connection::query(std::string text, Done done, std::optional<Duration> limit) {
    impl_->query({std::move(text), std::move(done), limit});
}

bool Connection::is_open() const noexcept { return impl_->is_open(); }
bool Connection::is_idle() const noexcept { return impl_->is_idle(); }
const Session& Connection::session() const noexcept { return impl_->session(); }
std::size_t Connection::helpers() noexcept { return Handle::helpers(); }

}  // namespace latchd::store::mysql
