// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "session.hpp"

#include <latchd/telemetry/log.hpp>

#include <utility>
#include <variant>

namespace latchd::server {
namespace {

// Commands of one session in one turn; a deep pipeline shares the loop with the others.
constexpr int commands_per_turn = 4'096;
// A long turn takes a new reading of the clock so often.
constexpr int commands_per_reading = 32;

resp::ClientTrust trust_of(const command::ClientState& state, const command::Options& options) {
    return command::is_trusted(state, options) ? resp::ClientTrust::authenticated
                                               : resp::ClientTrust::unauthenticated;
}

}  // namespace

Session::Session(Socket socket,
                 command::ClientState state,
                 const SessionLimits& limits,
                 SessionHome& home)
    : socket_(std::move(socket)),
      state_(std::move(state)),
      limits_(limits),
      home_(home),
      decoder_(trust_of(state_, home.dispatcher().options()), limits.requests) {}

void Session::start() { read(); }

void Session::resume() {
    if (closed_) return;
    if (!killed_) {
        process();
        flush();
    }
    if (killed_ || broken_ || is_finished() || (input_ended_ && locks_in_flight_ > 0)) {
        return close();
    }
    note_sizes();
    read();
}

bool Session::may_run() const noexcept {
    return !ending_ && !killed_ && !broken_ && !blocker_ && in_flight_ < limits_.in_flight_max &&
           unsent() < limits_.output_bytes_max;
}

std::size_t Session::unsent() const noexcept { return output_.size() - sent_ + reply_bytes_; }

void Session::process() {
    for (int count = 1; may_run(); ++count) {
        if (!postponed_.empty()) {
            if (!slots_.empty()) return;
            run_postponed();
            continue;
        }
        if (count > commands_per_turn) return yield();
        if (count % commands_per_reading == 0) home_.refresh_now();
        const resp::Decoded decoded = decoder_.next();
        starved_ = decoded.status == resp::DecodeStatus::need_more;
        if (starved_) return;
        if (decoded.status == resp::DecodeStatus::protocol_error) {
            std::string reply;
            home_.dispatcher().write_error("ERR " + std::string(decoded.error), reply);
            take_reply(std::move(reply));
            ending_ = true;
            return;
        }
        run(decoded.arguments);
        if (unsent() >= limits_.output_bytes_max) flush();
    }
}

void Session::run(command::Arguments args) {
    const bool is_direct = slots_.empty();
    scratch_.clear();
    std::string& out = is_direct ? output_ : scratch_;
    command::Disposition disposition =
        home_.dispatcher().run(state_, args, slots_.next_number(), out);
    using Kind = command::Disposition::Kind;
    switch (disposition.kind) {
        case Kind::started:
            start_command(std::move(*disposition.started));
            break;
        case Kind::asked:
            ask_fleet(std::move(*disposition.asked));
            break;
        case Kind::gathering:
            gather(std::move(*disposition.gathering));
            break;
        case Kind::postponed:
            postpone(args);
            break;
        case Kind::close_after_flush:
            ending_ = true;
            [[fallthrough]];
        case Kind::done:
            if (!is_direct && !scratch_.empty()) take_reply(std::move(scratch_));
            break;
    }
    decoder_.set_trust(trust_of(state_, home_.dispatcher().options()));
}

void Session::start_command(command::Started&& started) {
    const std::uint64_t number = slots_.next_number();
    Slot& slot = slots_.push();
    slot.pending = std::move(started.pending);
    slot.is_lock = std::holds_alternative<core::LockCommand>(started.command);
    ++in_flight_;
    if (slot.is_lock) ++locks_in_flight_;
    if (!started.may_overlap) blocker_ = number;
    home_.start_command(std::move(started.command));
}

void Session::ask_fleet(command::Asked&& asked) {
    const std::uint64_t number = slots_.next_number();
    slots_.push().pending = std::move(asked.pending);
    ++in_flight_;
    home_.ask_fleet({state_.id, number}, std::move(asked));
}

// It may be about this connection, too: nothing overtakes it.
void Session::gather(command::Gathering&& gathering) {
    const std::uint64_t number = slots_.next_number();
    slots_.push().pending = gathering.pending;
    ++in_flight_;
    blocker_ = number;
    home_.gather({state_.id, number}, std::move(gathering));
}

void Session::finish_command(const command::Pending& pending,
                             const core::Outcome& outcome,
                             std::string& out) {
    home_.dispatcher().finish(state_, pending, outcome, out);
}

void Session::finish_command(const command::Pending& pending,
                             const command::FleetAnswer& answer,
                             std::string& out) {
    home_.dispatcher().finish(state_, pending, answer, out);
}

void Session::finish_command(const command::Pending&, const Gathered& gathered, std::string& out) {
    const bool ends = home_.dispatcher().finish(
        state_, *gathered.gathering, gathered.reports, gathered.silent, out);
    ending_ = ending_ || ends;
}

// A reply that is known already, in its turn.
void Session::take_reply(std::string&& reply) {
    if (slots_.empty()) {
        output_ += reply;
        return;
    }
    Slot& slot = slots_.push();
    reply_bytes_ += reply.size();
    slot.reply = std::move(reply);
    slot.ready = true;
}

void Session::postpone(command::Arguments args) {
    if (slots_.empty()) {
        // There is nothing to wait for: running it again would never end.
        telemetry::log(telemetry::Level::error,
                       "session.bug",
                       "a command was postponed behind nothing; connection closed");
        broken_ = true;
        return;
    }
    postponed_.assign(args.begin(), args.end());
}

void Session::run_postponed() {
    const std::vector<std::string> kept = std::exchange(postponed_, {});
    const std::vector<std::string_view> args(kept.begin(), kept.end());
    run(args);
}

template <class Answer>
void Session::complete(std::uint64_t number, const Answer& answer) {
    Slot* slot = closed_ ? nullptr : slots_.find(number);
    if (slot == nullptr || slot->ready) return;
    --in_flight_;
    if (slot->is_lock) --locks_in_flight_;
    if (blocker_ == number) blocker_.reset();
    if (slots_.is_front(number)) {
        finish_command(slot->pending, answer, output_);
        slots_.pop();
        emit_ready();
    } else {
        finish_command(slot->pending, answer, slot->reply);
        reply_bytes_ += slot->reply.size();
        slot->ready = true;
    }
    home_.touch(*this);
}
template void Session::complete(std::uint64_t number, const core::Outcome& answer);
template void Session::complete(std::uint64_t number, const command::FleetAnswer& answer);
template void Session::complete(std::uint64_t number, const Gathered& answer);

void Session::emit_ready() {
    while (!slots_.empty() && slots_.front().ready) {
        const std::string& reply = slots_.front().reply;
        output_ += reply;
        reply_bytes_ -= reply.size();
        slots_.pop();
    }
}

void Session::push(std::string_view bytes) {
    if (closed_ || killed_) return;
    // Replies are held back by not running commands; messages of others can't be.
    if (output_.size() - sent_ + bytes.size() > limits_.output_bytes_max) {
        overrun_ = true;
        kill();
    } else {
        output_ += bytes;
    }
    home_.touch(*this);
}

void Session::kill() noexcept { killed_ = true; }

void Session::finish() {
    ending_ = true;
    home_.touch(*this);
}

bool Session::is_finished() const noexcept {
    const bool nothing_comes =
        ending_ || (input_ended_ && starved_ && postponed_.empty() && !yielded_);
    return nothing_comes && slots_.empty() && sent_ == output_.size();
}

void Session::close() {
    if (std::exchange(closed_, true)) return;
    boost::system::error_code ignored;
    socket_.close(ignored);
    home_.closed(*this);
}

void Session::note_sizes() noexcept {
    state_.input_buffered = decoder_.buffered_bytes();
    state_.output_buffered = unsent();
}

bool Session::is_deaf() const noexcept { return !closed_ && !reading_ && locks_in_flight_ > 0; }

bool Session::is_idle() const noexcept {
    return slots_.empty() && sent_ == output_.size() && state_.subscriptions() == 0 &&
           decoder_.buffered_bytes() == 0;
}

std::size_t Session::memory_bytes() const noexcept {
    return sizeof(*this) + read_buffer_.capacity() + output_.capacity() + decoder_.memory_bytes() +
           reply_bytes_;
}

}  // namespace latchd::server
