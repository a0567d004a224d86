// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// Whose turn it is when a lock becomes free: rules T12 to T14.
#include "table_impl.hpp"

namespace latchd::core {

// T14
Reply Table::Impl::acquire_free(Time now, const Acquire& wish, Turn turn) {
    NodeQueue* const queue = turn == Turn::taken ? nullptr : queue_of(now, wish.key);
    if (queue == nullptr || queue->nodes.front() == wish.node) return grant(now, wish);
    if (queue->reserved_until <= now) offer(now, wish.key, wish.node);
    return refuse(now, wish, {Status::held, std::nullopt, queue->reserved_until - now, 0});
}

// T12
Reply Table::Impl::refuse(Time now, const Acquire& wish, Reply&& reply) {
    if (!wish.waits) return reply;
    NodeQueue* const former = queue_of(now, wish.key);
    NodeQueue queue = former != nullptr ? *former : NodeQueue{};
    const bool is_in = std::ranges::find(queue.nodes, wish.node) != queue.nodes.end();
    if (is_in || queue.nodes.size() >= queue_nodes_max) return reply;
    queue.nodes.push_back(wish.node);
    queue.kept_until = now + queue_kept;
    put_queue(wish.key, std::move(queue));
    return reply;
}

// T13
void Table::Impl::offer(Time now, const LockKey& key, const NodeName& sender) {
    NodeQueue* const queue = queue_of(now, key);
    if (queue == nullptr) return;
    queue->reserved_until = now + reserved_for;
    queue->kept_until = now + queue_kept;
    deadlines_.arm(queues_.find(key)->second, queue->kept_until);
    tell(queue->nodes.front(), sender, {NodeMessage::Kind::offered, key, 0, RequestId{}});
}

void Table::Impl::step_out(const LockKey& key, const NodeName& node) {
    if (queues_.empty()) return;
    const auto it = queues_.find(key);
    if (it == queues_.end()) return;
    NodeQueue& queue = it->second.waiting;
    const auto place = std::ranges::find(queue.nodes, node);
    if (place == queue.nodes.end()) return;
    if (place == queue.nodes.begin()) queue.reserved_until = Time{};
    queue.nodes.erase(place);
    if (!queue.nodes.empty()) return;
    deadlines_.disarm(it->second);
    queues_.erase(it);
}

// The queue as it counts now: a node that did not use its reservation is out. Never empty.
NodeQueue* Table::Impl::queue_of(Time now, const LockKey& key) {
    if (queues_.empty()) return nullptr;
    const auto it = queues_.find(key);
    if (it == queues_.end() || it->second.waiting.kept_until <= now) return nullptr;
    NodeQueue& queue = it->second.waiting;
    if (queue.reserved_until == Time{} || queue.reserved_until > now) return &queue;
    const NodeName late = queue.nodes.front();
    step_out(key, late);
    return queues_.contains(key) ? &queue : nullptr;
}

void Table::Impl::put_queue(const LockKey& key, NodeQueue&& waiting) {
    const auto [it, is_new] = queues_.try_emplace(key);
    Queue& queue = it->second;
    if (is_new) queue.key = &it->first;
    queue.waiting = std::move(waiting);
    deadlines_.arm(queue, queue.waiting.kept_until);
}

Reply Table::Impl::step_out(Time now, const StepOut& wish) {
    NodeQueue* const queue = queue_of(now, wish.key);
    if (queue == nullptr || std::ranges::find(queue->nodes, wish.node) == queue->nodes.end()) {
        return {};
    }
    const bool was_offered = queue->reserved_until > now && queue->nodes.front() == wish.node;
    step_out(wish.key, wish.node);
    if (was_offered) offer(now, wish.key, wish.node);
    Reply reply;
    reply.status = Status::undone;
    return reply;
}

NodeQueue Table::queue(Time now, const LockKey& key) const {
    const NodeQueue* const queue = impl_->queue_of(now, key);
    return queue != nullptr ? *queue : NodeQueue{};
}
void Table::set_queue(const LockKey& key, NodeQueue&& queue) {
    if (!queue.nodes.empty()) impl_->put_queue(key, std::move(queue));
}

}  // namespace latchd::core
