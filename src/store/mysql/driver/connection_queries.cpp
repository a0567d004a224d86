// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "connection_impl.hpp"

#include <boost/asio/post.hpp>
#include <openssl/err.h>

#include <cerrno>
#include <sys/socket.h>
#include <utility>

// Queries: one under way, each of its statements sent, stored and read in turn.
namespace latchd::store::mysql {

namespace {

constexpr unsigned tls_failed = 2026;  // CR_SSL_CONNECTION_ERROR

}  // namespace

void Connection::Impl::query(Query&& query) {
    queue_.push_back(std::move(query));
    if (posted_ || current_) return;
    posted_ = true;
    asio::post(context_, [self = shared_from_this()] {
        self->posted_ = false;
        if (self->is_open_) return self->begin_next();
        if (!self->is_over_) return;  // it waits for the opening
        auto rest = std::exchange(self->queue_, {});
        for (Query& each : rest) {
            each.done({{}, Error{0, "", "the connection is closed", ErrorClass::unsent, false}});
        }
    });
}

void Connection::Impl::begin_next() {
    if (current_ || is_over_) return;
    if (queue_.empty()) return watch_idle();
    current_ = std::move(queue_.front());
    queue_.pop_front();
    answer_ = {};
    arm(current_->limit.value_or(options_.operation_timeout), "waiting for an answer");
    start_step(Step::send);
}

// Nothing is expected of the server now: what comes is the end. Known before the next query is
// sent, nothing is in doubt.
void Connection::Impl::watch_idle() {
    const int fd = static_cast<int>(mysql_get_socket(handle_.get()));
    if (!is_open_ || !watch(fd)) return;
    watched_.async_wait(
        asio::posix::stream_descriptor::wait_read,
        [self = shared_from_this(), serial = ++serial_](const error_code& error) {
            if (error || self->is_stale(serial)) return;
            if (!self->is_readable()) return self->watch_idle();
            self->fail({0, "", "the server closed the connection", ErrorClass::unsent, false});
        });
}

// A wait can end for the last bytes of a reply that was read while it was being reported.
bool Connection::Impl::is_readable() {
    char byte = 0;
    const auto count =
        ::recv(watched_.native_handle(), &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
    return count >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void Connection::Impl::start_step(Step step) {
    ++serial_;
    step_ = step;
    proceed(start(step));
}

// OpenSSL keeps a thread's errors until somebody takes them, and libmariadb doesn't: what another
// connection ended with would be read as this one's error.
int Connection::Impl::start(Step step) {
    ERR_clear_error();
    switch (step) {
        case Step::send:
            return mysql_real_query_start(
                &int_result_, handle_.get(), current_->text.data(), current_->text.size());
        case Step::store:
            return mysql_store_result_start(&stored_, handle_.get());
        case Step::next:
            return mysql_next_result_start(&int_result_, handle_.get());
        case Step::roll_back:
            return mysql_real_query_start(&int_result_, handle_.get(), "ROLLBACK", 8);
        case Step::none:
        case Step::connect:
            break;
    }
    return 0;
}

int Connection::Impl::cont(Step step, int ready) {
    ERR_clear_error();
    switch (step) {
        case Step::connect:
            return mysql_real_connect_cont(&connect_result_, handle_.get(), ready);
        case Step::send:
        case Step::roll_back:
            return mysql_real_query_cont(&int_result_, handle_.get(), ready);
        case Step::store:
            return mysql_store_result_cont(&stored_, handle_.get(), ready);
        case Step::next:
            return mysql_next_result_cont(&int_result_, handle_.get(), ready);
        case Step::none:
            break;
    }
    return 0;
}

void Connection::Impl::proceed(int wanted) {
    if (wanted != 0) return wait(wanted);
    ended(step_);
}

void Connection::Impl::ended(Step step) {
    switch (step) {
        case Step::connect:
            return connected(connect_result_);
        case Step::send:
            return int_result_ == 0 ? start_step(Step::store) : statement_failed();
        case Step::store:
            return result_stored();
        case Step::next:
            // -1: there was no other result.
            if (int_result_ > 0) return statement_failed();
            return int_result_ == 0 ? start_step(Step::store) : query_done();
        case Step::roll_back:
            if (int_result_ != 0) {
                Error error = last_error(false);
                error.kind = ErrorClass::unknown;
                return fail(std::move(error));
            }
            return query_done();
        case Step::none:
            return;
    }
}

void Connection::Impl::result_stored() {
    if (stored_ == nullptr) {
        if (mysql_errno(handle_.get()) != 0) return statement_failed();
        answer_.sets.emplace_back();
    } else {
        const unsigned columns = mysql_num_fields(stored_);
        Rows& rows = answer_.sets.emplace_back(columns);
        while (const MYSQL_ROW row = mysql_fetch_row(stored_)) {
            const unsigned long* const lengths = mysql_fetch_lengths(stored_);
            for (unsigned i = 0; i < columns; ++i) {
                if (row[i] == nullptr) {
                    rows.add_null();
                } else {
                    rows.add(row[i], lengths[i]);
                }
            }
        }
        mysql_free_result(std::exchange(stored_, nullptr));
    }
    if (!mysql_more_results(handle_.get())) return query_done();
    start_step(Step::next);
}

void Connection::Impl::statement_failed() {
    Error error = last_error(false);
    if (error.ends_connection()) return fail(std::move(error));
    answer_.error = std::move(error);
    // Whether a transaction is open is known from the statements that succeeded.
    unsigned status = 0;
    mariadb_get_infov(handle_.get(), MARIADB_CONNECTION_SERVER_STATUS, &status);
    if ((status & SERVER_STATUS_IN_TRANS) == 0) return query_done();
    start_step(Step::roll_back);
}

void Connection::Impl::query_done() {
    step_ = Step::none;
    due_.reset();
    const Done done = std::move(current_->done);
    const bool is_denied = !current_->is_own && is_open_ && answer_.error &&
                           answer_.error->kind == ErrorClass::configuration;
    current_.reset();
    if (is_denied && !options_.database.empty()) queue_.push_front(choose_database());
    const auto keep = shared_from_this();
    done(std::exchange(answer_, {}));
    begin_next();
}

// A session has the rights on a database that its user had when it was chosen: what has been
// granted since counts from the next time.
Query Connection::Impl::choose_database() const {
    return {"USE `" + options_.database + '`', [](Answer&&) {}, std::nullopt, true};
}

// The library names neither the file of certificates nor the name that it looked for.
std::string Connection::Impl::wanted_certificate() const {
    if (options_.tls != ConnectOptions::Tls::verified) return {};
    return "; tls.mode verified wants a certificate for '" + options_.host + "' signed by " +
           (options_.tls_ca.empty() ? "one of the system's" : "one of " + options_.tls_ca);
}

Error Connection::Impl::last_error(bool connecting) const {
    Error error;
    error.code = mysql_errno(handle_.get());
    error.sqlstate = mysql_sqlstate(handle_.get());
    error.text = mysql_error(handle_.get());
    if (connecting && error.code == tls_failed) error.text += wanted_certificate();
    error.kind = connecting ? class_of_connect(error.code) : class_of(error.code);
    error.is_refusal = connecting && is_refusal(error.code, error.text);
    return error;
}

}  // namespace latchd::store::mysql
