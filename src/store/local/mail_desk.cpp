// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// The owner's side of the desk. A batch of a loop is served at one go, its answers leave in one
// batch; what the table then has to say to other loops leaves behind it. Nothing waits for anybody:
// a loop that doesn't take its mail has at most operations_max answers and messages_max messages
// waiting, and is told if there were more of these.
#include "lane.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <type_traits>
#include <utility>

namespace latchd::store::local {

class MailDesk::Counter {
public:
    Counter(const std::vector<DeskLoop>& loops, const DeskLimits& limits)
        : context_(*loops.front().context), node_(loops.front().node) {
        const std::size_t requests_max = 2 * limits.operations_max + limits.forgotten_max;
        for (std::size_t i = 1; i < loops.size(); ++i) {
            auto post = std::make_unique<Post>(loops[i].node, *loops[i].context, limits);
            post->lane.requests = std::make_unique<runtime::Mailbox<Request>>(
                context_, requests_max, [this, at = post.get()](std::vector<Request>& mail) {
                    serve(*at, mail);
                });
            posts_.push_back(std::move(post));
        }
    }

    void open(Keeper& keeper) {
        keeper_ = &keeper;
        for (const auto& post : posts_) {
            if (post->wants_opening) say(*post, Opened{keeper.opening()});
        }
        flush_soon();
    }

    void close() {
        keeper_ = nullptr;
        for (const auto& post : posts_) post->lane.requests->close();
    }

    void tell(std::vector<core::Table::Told>&& told) {
        if (told.empty()) return;
        for (core::Table::Told& one : told) {
            for (const auto& post : posts_) {
                if (one.node.empty() || one.node == post->lane.node) tell(*post, one.message);
            }
            if (keeper_ == nullptr || (!one.node.empty() && one.node != node_)) continue;
            keeper_->hear(std::move(one.message));
        }
        flush_soon();
    }

    [[nodiscard]] Lane& lane(std::size_t loop) { return posts_.at(loop - 1)->lane; }

private:
    struct Post {
        Post(NodeName to, boost::asio::io_context& loop, const DeskLimits& most)
            : lane(std::move(to), loop, most) {}

        Lane lane;
        std::vector<Reply> out;
        bool wants_opening = false;  // has entered
    };

    void serve(Post& post, std::vector<Request>& mail) {
        for (Request& request : mail) {
            if (keeper_ == nullptr) return;
            std::visit([this, &post](auto& one) { take(post, one); }, request);
        }
        flush();
    }

    void take(Post& post, Enter&) {
        if (!std::exchange(post.wants_opening, true)) keeper_->entered();
        say(post, Opened{keeper_->opening()});
    }
    void take(Post& post, Leave&) {
        if (std::exchange(post.wants_opening, false)) keeper_->left();
    }
    void take(Post& post, Look&) { say(post, Opened{keeper_->opening()}); }
    void take(Post& post, Ask& ask) {
        if (auto why = keeper_->refusal(ask.operation)) {
            return say(post, Refused{ask.id, std::move(*why)});
        }
        say(post, Done{ask.id, keeper_->serve(ask.operation)});
        // The owner's node hears of it before the loop can answer anybody.
        tell(keeper_->take_told());
    }
    void take(Post& post, Forget& forget) {
        keeper_->forget(post.lane.node, forget.key, forget.fence);
    }

    void tell(Post& post, const core::NodeMessage& message) {
        if (post.lane.messages.load() >= post.lane.limits.messages_max) {
            if (!post.lane.missed.exchange(true)) say(post, Missed{});
            return;
        }
        post.lane.messages.fetch_add(1);
        say(post, message);
    }

    static void say(Post& post, Reply&& reply) { post.out.push_back(std::move(reply)); }

    void flush() {
        for (const auto& post : posts_) {
            // Both bounds are kept, so there is room; else it stays for the next time.
            if (post->lane.replies) (void)post->lane.replies->put(post->out);
        }
    }

    // Once per turn, whatever it was that spoke.
    void flush_soon() {
        if (std::exchange(flush_posted_, true)) return;
        boost::asio::post(context_, [this] {
            flush_posted_ = false;
            flush();
        });
    }

    boost::asio::io_context& context_;
    const NodeName node_;
    Keeper* keeper_ = nullptr;
    std::vector<std::unique_ptr<Post>> posts_;
    bool flush_posted_ = false;
};

MailDesk::MailDesk(const std::vector<DeskLoop>& loops, const DeskLimits& limits)
    : counter_(std::make_unique<Counter>(loops, limits)) {}
MailDesk::~MailDesk() = default;
void MailDesk::open(Keeper& keeper) { counter_->open(keeper); }
void MailDesk::close() { counter_->close(); }
void MailDesk::tell(std::vector<core::Table::Told>&& told) { counter_->tell(std::move(told)); }

std::unique_ptr<Window> MailDesk::make_window(std::size_t loop,
                                              std::function<Time()> boot_now,
                                              Sink& sink) {
    return make_lane_window(counter_->lane(loop), std::move(boot_now), sink);
}

}  // namespace latchd::store::local
