// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace latchd::runtime {

// Values from any thread to one loop, in order and bounded. A vector under a mutex that the
// receiver swaps for an empty one: a lock and, if it was empty, a wake per batch, and nothing that
// ThreadSanitizer would have to be told about.
//
// Invariants: (1) a value is received once, or taken back, never both; (2) what one thread puts is
// received in its order; (3) no more than `max` values wait.
template <class T>
class Mailbox {
public:
    using OnMail = std::function<void(std::vector<T>&)>;

    // Both contexts' owner ends the threads before it ends the box. `on_mail` runs on `receiver`.
    Mailbox(boost::asio::io_context& receiver, std::size_t max, OnMail on_mail)
        : receiver_(receiver), box_(std::make_shared<Box>(max, std::move(on_mail))) {}

    // All of `mail`, which is empty afterwards, or nothing of it: there is no room. Any thread.
    [[nodiscard]] bool put(std::vector<T>& mail) {
        if (mail.empty()) return true;
        {
            const std::scoped_lock lock(box_->mutex);
            if (box_->waiting.size() + mail.size() > box_->max) return false;
            if (box_->waiting.empty()) {
                box_->waiting.swap(mail);
            } else {
                box_->waiting.insert(box_->waiting.end(),
                                     std::make_move_iterator(mail.begin()),
                                     std::make_move_iterator(mail.end()));
            }
            mail.clear();
            if (std::exchange(box_->is_woken, true)) return true;
        }
        boost::asio::post(receiver_, [box = box_] { box->receive(); });
        return true;
    }

    // What the receiver has not taken yet, and now never will. Any thread.
    [[nodiscard]] std::vector<T> take_back() {
        const std::scoped_lock lock(box_->mutex);
        return std::exchange(box_->waiting, {});
    }

    // What waits is received now. The receiver's loop only, not from within on_mail.
    void receive() { box_->receive(); }

    // Nothing is received any more. The receiver's loop only.
    void close() noexcept { box_->on_mail = nullptr; }

private:
    struct Box {
        Box(std::size_t most, OnMail receiver) : max(most), on_mail(std::move(receiver)) {}

        void receive() {
            {
                const std::scoped_lock lock(mutex);
                is_woken = false;
                taken.swap(waiting);
            }
            if (on_mail && !taken.empty()) on_mail(taken);
            taken.clear();
        }

        const std::size_t max;
        OnMail on_mail;        // the receiver's
        std::vector<T> taken;  // the receiver's: keeps its memory for the next swap
        std::mutex mutex;
        std::vector<T> waiting;
        bool is_woken = false;
    };

    boost::asio::io_context& receiver_;
    std::shared_ptr<Box> box_;
};

}  // namespace latchd::runtime
