// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "node_impl.hpp"

#include <latchd/core/lock/node.hpp>

#include <algorithm>
#include <utility>

namespace latchd::core {

std::string printable(std::string_view bytes) {
    static constexpr char digits[] = "0123456789ABCDEF";
    std::string text;
    text.reserve(bytes.size());
    for (const char byte : bytes) {
        const auto value = static_cast<unsigned char>(byte);
        if (value > 0x20 && value < 0x7f && byte != '%') {
            text += byte;
        } else {
            text += '%';
            text += digits[value >> 4];
            text += digits[value & 15];
        }
    }
    return text;
}

std::string grant_name(const LockKey& key, Fence fence) {
    std::string name = key.resource.str() + '/' + printable(key.id.view());
    if (fence != 0) name += '#' + std::to_string(fence);
    return name;
}

std::string holds_full_text() {
    return "at most " + std::to_string(holds_per_lock_max) + " holds of a lock and " +
           std::to_string(attempts_per_hold_max) + " sendings of one REQ";
}

void Node::Impl::step(Time now, Event&& event, Actions& out) {
    now_ = now;
    out_ = &out;
    pop_timers();
    std::visit([this](auto&& e) { on(std::forward<decltype(e)>(e)); }, std::move(event));
    forget_old();
    check_drained();
    locks_.pack_some();
    out_ = nullptr;
}

void Node::Impl::erase_if_idle(Lock& lock) {
    if (lock.record || lock.aside().delayed || lock.busy != 0 || !lock.requests.empty()) return;
    if (now_ < lock.aside().busy_until) return;
    locks_.erase(lock);
}

OperationId Node::Impl::take_off(const Flight& flight) {
    flights_.emplace(++operations_, flight);
    return OperationId{operations_};
}

void Node::Impl::fail(const Ticket& ticket, ErrorWord word, std::string text) {
    if (word == ErrorWord::uncertain) ++counts_.uncertain;
    answer(ticket, Error{word, std::move(text)});
}

void Node::Impl::notice(Notice::Level level, const char* event, std::string text) {
    out_->push_back(Notice{level, event, std::move(text)});
}

void Node::Impl::happened(Happened::Kind kind, const Lock& lock, const char* reason) {
    Happened event{kind, *lock.key, lock.record->fence, lock.record->owner, reason, {}};
    for (const Holder& holder : lock.holders) event.holders.push_back(holder.client);
    out_->push_back(std::move(event));
}

// The same UNLOCK is answered the same. That a token holds nothing never takes the place of what
// became of its hold.
void Node::Impl::remember(const LockKey& key, const Token& token, std::int64_t value) {
    const Time until = now_ + options_.answer_kept;
    const auto [it, is_new] = remembered_.try_emplace(token);
    const bool is_news = value > 0 || value == lost_maxhold;
    if (!is_new && !is_news && it->second.until > now_) return;
    it->second = {value, std::hash<LockKey>{}(key), until};
    remembered_order_.emplace_back(now_ + options_.answer_kept, token);
    if (remembered_order_.size() > remembered_max) {
        remembered_.erase(remembered_order_.front().second);
        remembered_order_.pop_front();
    }
}

std::optional<std::int64_t> Node::Impl::remembered(const LockKey& key, const Token& token) const {
    const auto it = remembered_.find(token);
    if (it == remembered_.end() || it->second.until <= now_) return std::nullopt;
    if (it->second.lock != std::hash<LockKey>{}(key)) return std::nullopt;
    return it->second.value;
}

void Node::Impl::forget_old() {
    while (!remembered_order_.empty() && remembered_order_.front().first <= now_) {
        const auto it = remembered_.find(remembered_order_.front().second);
        if (it != remembered_.end() && it->second.until <= now_) remembered_.erase(it);
        remembered_order_.pop_front();
    }
}

Node::Node(NodeOptions options, Registry& registry, NameSource& names)
    : impl_(std::make_unique<Impl>(std::move(options), registry, names)) {}
Node::~Node() = default;

void Node::step(Time now, Event&& event, Actions& out) { impl_->step(now, std::move(event), out); }

std::optional<Time> Node::next_deadline() const noexcept {
    const auto of_waits = impl_->waits_.earliest();
    const auto of_locks = impl_->deadlines_.earliest();
    return of_waits && of_locks ? std::min(of_waits, of_locks) : of_waits ? of_waits : of_locks;
}

NodeCounts Node::counts() const noexcept { return impl_->counts_; }

bool Node::keeps_for(ClientId client) const noexcept {
    return impl_->keeping_clients_.contains(client);
}

std::uint64_t Node::held_of(const ResourceName& resource) const noexcept {
    const auto it = impl_->held_.find(resource);
    return it == impl_->held_.end() ? 0 : it->second;
}

}  // namespace latchd::core
