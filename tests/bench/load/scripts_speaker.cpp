// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "speaker.hpp"

#include <latchd/resp/command_writer.hpp>

#include <calls.hpp>
#include <chrono>
#include <keys.hpp>
#include <scripts.hpp>

namespace latchd::load {
namespace {

using namespace store::redis;

constexpr Epoch epoch = 201'600;  // of as many digits as the first of 2026 have
constexpr std::string_view nonce = "8f14e45fceea167a";

// Composes the calls as latchd's store does, by the same functions.
class ScriptsSpeaker final : public Speaker {
public:
    explicit ScriptsSpeaker(const Settings& settings)
        : ttl_ms_(settings.ttl_ms), scripts_(epoch, nonce) {}

    Preparation prepare() override {
        Preparation it;
        resp::append_command(it.bytes,
                             {"HSET",
                              keys_.marker(),
                              "uuid",
                              "load",
                              "epoch",
                              std::to_string(epoch),
                              "nonce",
                              nonce,
                              "run_id",
                              "load"});
        resp::append_command(it.bytes, {"HSETNX", keys_.marker(), "counter", "0"});
        it.replies = 2 + scripts_.append_load_locks(it.bytes);
        return it;
    }

    void append_lock(std::string& out, Cycle& cycle) override {
        cycle.token = fresh_name('t');
        core::Acquire wish;
        wish.key = key(cycle);
        wish.request = RequestId(fresh_name('r'));
        wish.attempt = {5'349'762'103'462'311, ++attempts_};
        wish.token = Token(cycle.token);
        wish.node = node_;
        wish.client = ClientName("127.0.0.1:40000");
        wish.ttl = std::chrono::milliseconds(ttl_ms_);
        wish.retry_window = std::chrono::seconds(15);
        append_operation(out, target(), wish);
    }

    void append_unlock(std::string& out, const Cycle& cycle) override {
        append_operation(
            out, target(), core::Release{key(cycle), Token(cycle.token), node_, std::nullopt});
    }

    // What is frequent is one string, as lua/acquire.lua says; the rest is an array.
    Answer read_lock(const Reply& reply, Cycle& cycle) override {
        const std::string_view text = status(reply);
        if (text.starts_with("held")) return Answer::refused;
        if (!text.starts_with("granted")) return Answer::failed;
        const bool is_string = reply.count == 1;
        const Part digits{
            ':', is_string ? text.substr(text.rfind(' ') + 1) : reply[reply.count - 1].text};
        cycle.fence = static_cast<std::uint64_t>(digits.number());
        cycle.ttl_ms = ttl_ms_;
        return Answer::granted;
    }

    [[nodiscard]] bool is_released(const Reply& reply) const override {
        return status(reply).starts_with("released");
    }

private:
    static std::string_view status(const Reply& reply) {
        if (reply.count == 0) return {};
        return reply[reply[0].kind == '*' && reply.count > 1 ? 1 : 0].text;
    }
    static LockKey key(const Cycle& cycle) {
        return {ResourceName(resource), LockId(lock_id(cycle.lock))};
    }

    [[nodiscard]] Target target() const {
        const auto unix_time = std::chrono::system_clock::now().time_since_epoch();
        Guard guard;
        guard.expected_ms =
            std::chrono::duration_cast<std::chrono::milliseconds>(unix_time).count();
        guard.window = std::chrono::seconds(1);
        return {keys_, scripts_, guard};
    }

    std::int64_t ttl_ms_;
    Keys keys_;
    Scripts scripts_;
    NodeName node_{"web-1.example:7411"};
    std::uint64_t attempts_ = 0;
};

}  // namespace

std::unique_ptr<Speaker> make_scripts_speaker(const Settings& settings) {
    return std::make_unique<ScriptsSpeaker>(settings);
}

}  // namespace latchd::load
