// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "loops.hpp"

#include <latchd/runtime/clock.hpp>

#include <boost/asio/post.hpp>

#include <atomic>
#include <condition_variable>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

namespace latchd::test {
namespace {

constexpr auto patience = std::chrono::seconds(20);

}  // namespace

void Gate::close() {
    const std::scoped_lock lock(mutex_);
    is_closed_ = true;
}

void Gate::open() {
    const std::scoped_lock lock(mutex_);
    is_closed_ = false;
    changed_.notify_all();
}

void Gate::pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !is_closed_; });
    --waiting_;
}

bool Gate::wait_for_somebody() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [this] { return waiting_ > 0; });
}

store::local::Ledger Paper::ledger() {
    store::local::Ledger ledger;
    ledger.put = [this](const core::GrantRecord& record, Time) {
        gate.pass();
        const std::scoped_lock lock(mutex_);
        written_[record.key] = record.fence;
        return true;
    };
    ledger.drop = [this](const LockKey& key, Fence fence) {
        const std::scoped_lock lock(mutex_);
        const auto it = written_.find(key);
        if (it != written_.end() && it->second <= fence) written_.erase(it);
        changed_.notify_all();
    };
    ledger.room = [this] {
        const std::scoped_lock lock(mutex_);
        return room_;
    };
    return ledger;
}

std::map<LockKey, Fence> Paper::written() {
    const std::scoped_lock lock(mutex_);
    return written_;
}

bool Paper::wait_until_dropped(const LockKey& key, Fence fence) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] {
        const auto it = written_.find(key);
        return it == written_.end() || it->second != fence;
    });
}

void Paper::set_room(std::size_t room) {
    const std::scoped_lock lock(mutex_);
    room_ = room;
}

class NodeLoop::Names final : public core::NameSource {
public:
    explicit Names(std::string prefix) : prefix_(std::move(prefix)) {}
    [[nodiscard]] std::string draw() override {
        std::string name = prefix_ + std::to_string(++count_);
        return std::string(22 - name.size(), 'n') + name;
    }

private:
    std::string prefix_;
    std::uint64_t count_ = 0;
};

// As the program's: of the owner put() is the journal's, forgetting goes by the store.
class NodeLoop::Log final : public server::GrantLog {
public:
    [[nodiscard]] bool put(const core::GrantRecord& record, Time now) override {
        return !write || write(record, now);
    }
    void drop(const LockKey& key, Fence fence) override {
        if (forget) forget(key, fence);
    }
    [[nodiscard]] std::size_t room() override { return 1'000'000; }

    std::function<bool(const core::GrantRecord&, Time)> write;
    std::function<void(const LockKey&, Fence)> forget;
};

NodeLoop::NodeLoop(std::string called, std::uint64_t incarnation)
    : name(called),
      work_(context.get_executor()),
      names_(std::make_unique<Names>(std::move(called))),
      log_(std::make_unique<Log>()) {
    core::NodeOptions options;
    options.name = name;
    options.incarnation = incarnation;
    options.wake_check = std::chrono::milliseconds(100);
    shell_ =
        std::make_unique<server::NodeShell>(context,
                                            server::NodeShell::Parts{.options = std::move(options),
                                                                     .registry = &registry_,
                                                                     .names = names_.get(),
                                                                     .grants = log_.get()},
                                            *this);
}

NodeLoop::~NodeLoop() { stop(); }

void NodeLoop::build(const std::function<std::unique_ptr<store::Store>(store::Sink&)>& make) {
    store_ = make(*shell_);
    shell_->attach(*store_);
    if (auto* owner = dynamic_cast<store::local::SharedStore*>(store_.get())) {
        log_->forget = [owner](const LockKey& key, Fence fence) { owner->forget(key, fence); };
    } else if (auto* window = dynamic_cast<store::local::WindowStore*>(store_.get())) {
        log_->forget = [window](const LockKey& key, Fence fence) { window->forget(key, fence); };
    }
}

void NodeLoop::start() {
    post([this] { store_->start(); });
    thread_ = std::thread([this] {
        context.run();
        store_->stop();
        shell_->stop();
    });
}

void NodeLoop::stop() {
    context.stop();
    if (thread_.joinable()) thread_.join();
}

void NodeLoop::post(std::function<void()> work) { boost::asio::post(context, std::move(work)); }

void NodeLoop::hold_at(Gate& gate) {
    post([&gate] { gate.pass(); });
}

std::future<NodeLoop::Answer> NodeLoop::begin(core::ClientCommand command) {
    auto waiting = std::make_shared<Waiting>();
    waiting->asked = std::chrono::steady_clock::now();
    std::future<Answer> future = waiting->promise.get_future();
    post([this, waiting, command = std::move(command)]() mutable {
        const core::Ticket ticket{ClientId{1}, ++slots_};
        waiting_.emplace(ticket.slot, std::move(*waiting));
        shell_->begin_turn();
        std::visit(
            [&](auto& one) {
                one.ticket = ticket;
                shell_->handle(std::move(one));
            },
            command);
        shell_->end_turn();
    });
    return future;
}

NodeLoop::Answer NodeLoop::ask(core::ClientCommand command) {
    std::future<Answer> future = begin(std::move(command));
    if (future.wait_for(patience) != std::future_status::ready) {
        throw std::runtime_error("no answer of loop " + name.str());
    }
    return future.get();
}

void NodeLoop::answered(const core::Ticket& ticket, const core::Outcome& outcome) {
    const auto it = waiting_.find(ticket.slot);
    if (it == waiting_.end()) throw std::logic_error("answered twice");
    const auto took = std::chrono::steady_clock::now() - it->second.asked;
    it->second.promise.set_value(
        {outcome, std::chrono::duration_cast<std::chrono::milliseconds>(took)});
    waiting_.erase(it);
}

Loops::Loops(std::size_t count, const store::local::DeskLimits& limits) {
    std::vector<store::local::DeskLoop> ends;
    for (std::size_t i = 0; i < count; ++i) {
        loops_.push_back(std::make_unique<NodeLoop>("n" + std::to_string(i + 1), i + 1));
        ends.push_back({loops_[i]->name, &loops_[i]->context});
    }
    desk_ = std::make_unique<store::local::MailDesk>(ends, limits);
    loops_[0]->build([this](store::Sink& sink) {
        store::local::Options options;
        options.node = loops_[0]->name;
        options.epoch = 7;
        options.boot_now = runtime::boot_time;
        return store::local::make_shared_store(std::move(options), *desk_, paper.ledger(), sink);
    });
    for (std::size_t i = 1; i < count; ++i) {
        loops_[i]->build([this, i](store::Sink& sink) {
            return store::local::make_window_store(
                "local",
                [this, i](store::Sink& to) {
                    return desk_->make_window(i, runtime::boot_time, to);
                },
                sink);
        });
    }
    // As the program does: the owner is open before the others ask.
    loops_[0]->start();
    std::promise<void> opened;
    loops_[0]->post([&opened] { opened.set_value(); });
    opened.get_future().wait();
    for (std::size_t i = 1; i < count; ++i) loops_[i]->start();
}

Loops::~Loops() {
    paper.gate.open();
    for (const auto& loop : loops_) loop->stop();
}

core::LockCommand lock(const std::string& id, int ttl_ms, int wait_ms) {
    core::LockCommand command;
    command.key = {ResourceName("r"), LockId(id)};
    command.ttl = std::chrono::milliseconds(ttl_ms);
    command.wait = std::chrono::milliseconds(wait_ms);
    command.client = ClientName("test");
    return command;
}

core::UnlockCommand unlock(const std::string& id, const Token& token) {
    return {{}, {ResourceName("r"), LockId(id)}, token, ClientName("test")};
}

core::RenewCommand renew(const std::string& id, const Token& token) {
    core::RenewCommand command;
    command.key = {ResourceName("r"), LockId(id)};
    command.token = token;
    return command;
}

core::ForceCommand force(const std::string& id) {
    core::ForceCommand command;
    command.key = {ResourceName("r"), LockId(id)};
    return command;
}

std::string text_of(const core::Outcome& outcome) {
    return std::visit(
        [](const auto& one) -> std::string {
            using T = std::decay_t<decltype(one)>;
            if constexpr (std::is_same_v<T, core::Granted>) {
                return "granted";
            } else if constexpr (std::is_same_v<T, core::Refused>) {
                return "nil";
            } else if constexpr (std::is_same_v<T, core::Number>) {
                return std::to_string(one.value);
            } else if constexpr (std::is_same_v<T, core::Error>) {
                const char* word = one.word == core::ErrorWord::nostore     ? "NOSTORE "
                                   : one.word == core::ErrorWord::uncertain ? "UNCERTAIN "
                                   : one.word == core::ErrorWord::limit     ? "LIMIT "
                                                                            : "ERROR ";
                return word + one.text;
            } else {
                return "other";
            }
        },
        outcome);
}

}  // namespace latchd::test
