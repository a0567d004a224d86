// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// A loop's side of the desk.
//
// The owner answers in the order of asking, so a queue of what is open suffices to tell what an
// answer is for. An owner that is late (a loop that hangs) is treated as a store that is: what it
// has not taken is taken back and fails as unsent, for certain; what it had taken is in doubt. It
// will be done before anything that is asked later, and its answers are counted off and ignored:
// that is all of "kill, then look" that is left to do here.
#include "lane.hpp"

#include <latchd/runtime/deadline.hpp>
#include <latchd/telemetry/log.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <deque>
#include <utility>

namespace latchd::store::local {
namespace {

class MailWindow final : public Window {
public:
    MailWindow(MailDesk::Lane& lane, std::function<Time()> boot_now, Sink& sink)
        : lane_(lane),
          boot_now_(std::move(boot_now)),
          sink_(sink),
          deadline_(lane.context, [this] { on_due(); }) {
        // Late answers count beside those that are waited for; the rest is a few words of state.
        const DeskLimits& limits = lane.limits;
        const std::size_t most = 2 * limits.operations_max + limits.messages_max + 1'024;
        lane_.replies = std::make_unique<runtime::Mailbox<Reply>>(
            lane_.context, most, [this](std::vector<Reply>& mail) { receive(mail); });
    }

    ~MailWindow() override { lane_.replies->close(); }

    void open() override {
        state_ = State::entering;
        post(Enter{});
    }

    void close() override {
        if (state_ == State::shut) return;
        (void)take_back();
        pending_.clear();
        state_ = State::shut;
        post(Leave{});
    }

    void submit(core::OperationId id, core::Operation&& operation) override {
        if (state_ == State::shut || state_ == State::away) {
            return sink_.deliver(core::StoreFailed{id, core::Failure::unsent, reason_});
        }
        if (pending_.size() >= lane_.limits.operations_max) {
            return sink_.deliver(core::StoreFailed{
                id,
                core::Failure::refused,
                "the mailbox of this process's first event loop is full: " +
                    std::to_string(lane_.limits.operations_max) + " operations wait"});
        }
        const Time now = boot_now_();
        pending_.push_back({id, now + lane_.limits.operation_timeout});
        if (pending_.size() == 1) deadline_.arm(now, pending_.front().due);
        ++asked_;
        post(Ask{id, std::move(operation)});
    }

    void forget(const LockKey& key, Fence fence) override {
        // The owner ended it itself and has dropped it.
        if (fence != ended_) post(Forget{key, fence});
    }

    // The owner says so where there is none: what it told before would be over by now.
    [[nodiscard]] std::size_t room() const override { return static_cast<std::size_t>(-1); }

    [[nodiscard]] Health health() const override {
        Health health;
        health.type = "local";
        health.address = "embedded";
        health.state = state_ == State::open ? "up" : "down";
        health.last_error = state_ == State::open ? "-" : reason_;
        health.checks_ok = asked_;
        health.checks_failed = times_away_;
        health.in_flight = pending_.size();
        health.epoch = epoch_;
        return health;
    }

private:
    enum class State {
        shut,      // not asked to open
        entering,  // the owner has not answered yet; operations go behind the question
        open,      // it has
        away,      // it was late; a Look is on its way
    };
    struct Pending {
        core::OperationId id;
        Time due;
    };

    template <class T>
    void post(T&& request) {
        outbox_.emplace_back(std::forward<T>(request));
        if (std::exchange(flush_posted_, true)) return;
        boost::asio::post(lane_.context, [this] {
            flush_posted_ = false;
            flush();
        });
    }

    // There is room for all that a loop may have open. What there is none for stays for later.
    void flush() { (void)lane_.requests->put(outbox_); }

    // Leaves what asks for nothing; how many operations the owner has not seen and never will.
    std::size_t take_back() {
        std::vector<Request> mail = lane_.requests->take_back();
        std::move(outbox_.begin(), outbox_.end(), std::back_inserter(mail));
        const std::size_t all = mail.size();
        std::erase_if(mail, [](const Request& one) { return std::holds_alternative<Ask>(one); });
        outbox_ = std::move(mail);
        const std::size_t unseen = all - outbox_.size();
        late_ += pending_.size() - unseen;
        return unseen;
    }

    void on_due() {
        // A loop that was late itself finds the answers beside the time-out.
        lane_.replies->receive();
        if (pending_.empty()) return;
        const Time now = boot_now_();
        if (now < pending_.front().due) return deadline_.arm(now, pending_.front().due);
        lose();
    }

    void lose() {
        reason_ = "the first event loop of this process does not answer";
        telemetry::log(telemetry::Level::error,
                       "store.away",
                       reason_ +
                           "; it has the host's table, and no lock is granted here until "
                           "then");
        state_ = State::away;
        ++times_away_;
        const std::size_t unseen = take_back();
        const std::vector<Pending> lost(pending_.begin(), pending_.end());
        pending_.clear();
        post(Look{});
        sink_.deliver(core::StoreClosed{.reason = reason_});
        for (std::size_t i = 0; i < lost.size(); ++i) {
            const bool was_taken = i < lost.size() - unseen;
            sink_.deliver(core::StoreFailed{
                lost[i].id, was_taken ? core::Failure::in_doubt : core::Failure::unsent, reason_});
        }
    }

    void receive(std::vector<Reply>& mail) {
        for (Reply& reply : mail) {
            std::visit([this](auto& one) { take(one); }, reply);
        }
    }

    void take(Opened& said) {
        if (state_ == State::shut) return;
        const bool is_known = state_ == State::open && epoch_ == said.opened.epoch;
        if (state_ == State::away) {
            telemetry::log(telemetry::Level::notice, "store.back", "the first event loop answers");
        }
        state_ = State::open;
        epoch_ = said.opened.epoch;
        if (!is_known) sink_.deliver(std::move(said.opened));
    }

    void take(Done& done) {
        if (!is_awaited()) return;
        note_ended(done.reply.reply);
        sink_.deliver(core::StoreReplied{done.id, std::move(done.reply)});
    }

    void take(Refused& refused) {
        if (!is_awaited()) return;
        sink_.deliver(core::StoreFailed{refused.id, core::Failure::full, refused.text});
    }

    void take(core::NodeMessage& message) {
        lane_.messages.fetch_sub(1);
        if (message.kind == core::NodeMessage::Kind::released ||
            message.kind == core::NodeMessage::Kind::forced) {
            ended_ = message.fence;
        }
        sink_.deliver(std::move(message));
    }

    void take(Missed&) {
        lane_.missed.store(false);
        sink_.deliver(core::MessagesResumed{});
    }

    // Whether the answer that has come is to a question that is still open.
    bool is_awaited() {
        if (late_ > 0) {
            --late_;
            return false;
        }
        pending_.pop_front();
        return true;
    }

    void note_ended(const core::Reply& reply) {
        if (reply.status == core::Status::released && reply.record) ended_ = reply.record->fence;
    }

    MailDesk::Lane& lane_;
    std::function<Time()> boot_now_;
    Sink& sink_;
    runtime::Deadline deadline_;
    State state_ = State::shut;
    std::string reason_ = "the first event loop of this process has not opened its table yet";
    std::vector<Request> outbox_;
    bool flush_posted_ = false;
    std::deque<Pending> pending_;  // in the order of the answers
    std::size_t late_ = 0;         // answers to come that nobody waits for any more
    Fence ended_ = 0;              // of the last grant that the owner told us it ended
    Epoch epoch_ = 0;
    std::uint64_t asked_ = 0;
    std::uint64_t times_away_ = 0;
};

}  // namespace

std::unique_ptr<Window> make_lane_window(MailDesk::Lane& lane,
                                         std::function<Time()> boot_now,
                                         Sink& sink) {
    return std::make_unique<MailWindow>(lane, std::move(boot_now), sink);
}

}  // namespace latchd::store::local
