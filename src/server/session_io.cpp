// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "session.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <cerrno>
#include <sys/socket.h>

namespace latchd::server {
namespace {

constexpr std::size_t read_bytes_min = 2 * 1024;
constexpr std::size_t read_bytes_max = 64 * 1024;
constexpr std::size_t output_kept_max = 64 * 1024;

// Neither clear() nor an assignment of {} does.
template <class T>
void free_memory(T& container) {
    T().swap(container);
}

}  // namespace

bool Session::wants_input() const noexcept {
    if (ending_ || input_ended_ || unsent() >= limits_.output_bytes_max) return false;
    // What can't be run yet is read only so far, and then so that an end of the input is seen.
    return starved_ || decoder_.buffered_bytes() < limits_.input_bytes_max;
}

void Session::read() {
    if (reading_ || closed_ || yielded_ || !wants_input()) return;
    if (read_buffer_.empty()) read_buffer_.resize(read_bytes_min);
    reading_ = true;
    socket_.async_read_some(
        boost::asio::buffer(read_buffer_),
        [self = shared_from_this()](boost::system::error_code error, std::size_t count) {
            self->on_read(error, count);
        });
}

void Session::on_read(boost::system::error_code error, std::size_t count) {
    reading_ = false;
    if (closed_) return;
    const bool was_relaxing = std::exchange(relaxing_, false);
    if (error == boost::asio::error::operation_aborted && was_relaxing) {
        free_memory(read_buffer_);
        return read();
    }
    home_.begin_turn();
    if (!error) {
        state_.bytes_in += count;
        decoder_.feed({read_buffer_.data(), count});
        starved_ = false;
        fit_read_buffer(count);
        home_.touch(*this);
    } else if (error == boost::asio::error::eof) {
        input_ended_ = true;
        home_.touch(*this);
    } else {
        close();
    }
    home_.end_turn();
}

// Larger than what usually arrives: a read that doesn't fill its buffer saves the next, vain one.
void Session::fit_read_buffer(std::size_t count) {
    const std::size_t size = read_buffer_.size();
    if (count == size && size < read_bytes_max) {
        read_buffer_.resize(size * 2);
    } else if (size > read_bytes_min && count < size / 16) {
        read_buffer_.resize(size / 2);
        read_buffer_.shrink_to_fit();
    }
}

void Session::flush() {
    if (write_waiting_ || broken_) return;
    while (sent_ < output_.size()) {
        const std::size_t wanted = output_.size() - sent_;
        const ssize_t count = ::send(
            socket_.native_handle(), output_.data() + sent_, wanted, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
            broken_ = true;
            return;
        }
        const std::size_t taken = count < 0 ? 0 : static_cast<std::size_t>(count);
        sent_ += taken;
        state_.bytes_out += taken;
        if (taken < wanted) {
            // Dropping what was sent costs a move of the rest: only when it pays.
            if (sent_ >= output_.size() - sent_) {
                output_.erase(0, sent_);
                sent_ = 0;
            }
            return wait_writable();
        }
    }
    output_.clear();
    sent_ = 0;
    if (output_.capacity() > output_kept_max) free_memory(output_);
}

void Session::wait_writable() {
    write_waiting_ = true;
    socket_.async_wait(Socket::wait_write,
                       [self = shared_from_this()](boost::system::error_code error) {
                           self->write_waiting_ = false;
                           if (!error) self->enter();
                       });
}

// The rest of a deep pipeline, behind what the other sessions have ready.
void Session::yield() {
    if (std::exchange(yielded_, true)) return;
    boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
        self->yielded_ = false;
        self->enter();
    });
}

void Session::enter() {
    if (closed_) return;
    home_.begin_turn();
    home_.touch(*this);
    home_.end_turn();
}

void Session::relax() {
    decoder_.release_idle_memory();
    if (!is_idle()) return;
    slots_.release_idle_memory();
    free_memory(scratch_);
    free_memory(output_);
    sent_ = 0;
    if (!reading_ || relaxing_ || write_waiting_ || read_buffer_.size() <= read_bytes_min) return;
    relaxing_ = true;
    boost::system::error_code ignored;
    socket_.cancel(ignored);
}

}  // namespace latchd::server
