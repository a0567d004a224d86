// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "speaker.hpp"

#include <latchd/resp/command_writer.hpp>

#include <cstdio>

namespace latchd::load {
namespace {

class LatchdSpeaker final : public Speaker {
public:
    explicit LatchdSpeaker(const Settings& settings)
        : wait_(std::to_string(settings.wait_ms)), ttl_(std::to_string(settings.ttl_ms)) {}

    void append_lock(std::string& out, Cycle& cycle) override {
        const std::string id = lock_id(cycle.lock);
        if (wait_ == "0") {
            resp::append_command(out, {"LOCK", resource, id, "PX", ttl_});
        } else {
            resp::append_command(out, {"LOCK", resource, id, "PX", ttl_, "WAIT", wait_});
        }
    }

    void append_unlock(std::string& out, const Cycle& cycle) override {
        resp::append_command(out, {"UNLOCK", resource, lock_id(cycle.lock), cycle.token});
    }

    Answer read_lock(const Reply& reply, Cycle& cycle) override {
        if (reply.is_null()) return Answer::refused;
        if (reply.count != 6 || reply[0].kind != '*') return Answer::failed;
        cycle.token = reply[1].text;
        cycle.fence = static_cast<std::uint64_t>(reply[2].number());
        cycle.ttl_ms = reply[3].number();
        return Answer::granted;
    }

    [[nodiscard]] bool is_released(const Reply& reply) const override {
        return reply[0].kind == ':' && reply[0].text == "1";
    }

private:
    std::string wait_;
    std::string ttl_;
};

class SetSpeaker final : public Speaker {
public:
    explicit SetSpeaker(const Settings& settings)
        : ttl_ms_(settings.ttl_ms), ttl_(std::to_string(settings.ttl_ms)) {}

    void append_lock(std::string& out, Cycle& cycle) override {
        cycle.token = fresh_name('t');
        resp::append_command(out, {"SET", key(cycle), cycle.token, "NX", "PX", ttl_});
    }

    void append_unlock(std::string& out, const Cycle& cycle) override {
        resp::append_command(out, {"DEL", key(cycle)});
    }

    Answer read_lock(const Reply& reply, Cycle& cycle) override {
        if (reply.is_null()) return Answer::refused;
        if (reply[0].kind != '+') return Answer::failed;
        cycle.fence = 0;
        cycle.ttl_ms = ttl_ms_;
        return Answer::granted;
    }

    [[nodiscard]] bool is_released(const Reply& reply) const override {
        return reply[0].kind == ':' && reply[0].text == "1";
    }

private:
    static std::string key(const Cycle& cycle) {
        return "lock:" + std::string(resource) + ":" + lock_id(cycle.lock);
    }

    std::int64_t ttl_ms_;
    std::string ttl_;
};

}  // namespace

std::string lock_id(std::size_t lock) {
    char text[32];
    const int size = std::snprintf(text, sizeof text, "2026-11-29-%08zu", lock);
    return {text, static_cast<std::size_t>(size)};
}

std::string fresh_name(char kind) {
    static std::uint64_t number = 0;
    char text[32];
    const int size = std::snprintf(
        text, sizeof text, "%cJx4vR%016llx", kind, static_cast<unsigned long long>(++number));
    return {text, static_cast<std::size_t>(size)};
}

std::unique_ptr<Speaker> make_speaker(const Settings& settings) {
    switch (settings.language) {
        case Language::latchd:
            break;
        case Language::set:
            return std::make_unique<SetSpeaker>(settings);
        case Language::scripts:
            return make_scripts_speaker(settings);
    }
    return std::make_unique<LatchdSpeaker>(settings);
}

}  // namespace latchd::load
