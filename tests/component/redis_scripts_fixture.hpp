// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls.hpp"
#include "keys.hpp"
#include "redis_server.hpp"
#include "replies.hpp"
#include "scripts.hpp"

#include <latchd/core/lock/operation.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

namespace latchd::testing {

inline const LockKey settle_1001{ResourceName("order:settle"), LockId("1001")};

// The scripts on a real server, with an epoch opened on it. One server for all tests of a suite;
// each test begins with an empty one.
class RedisScripts : public ::testing::Test {
protected:
    static constexpr Epoch epoch = 178'000;

    static void SetUpTestSuite();
    static void TearDownTestSuite();
    void SetUp() override;
    void TearDown() override;

    // Answers the operation or ends the test run with what was said instead.
    store::redis::Answered answered(const core::Operation& operation);
    core::OperationReply reply(const core::Operation& operation) {
        return answered(operation).reply;
    }
    core::Status status(const core::Operation& operation) { return reply(operation).reply.status; }
    store::redis::Answer run(const core::Operation& operation);
    // The refusal, or one with the text "carried out".
    store::redis::Refusal refusal(const core::Operation& operation);

    void load_scripts();
    resp::Value command(std::initializer_list<std::string_view> arguments) {
        return client_->command(arguments);
    }
    [[nodiscard]] std::string text_at(std::string_view redis_key) {
        return command({"GET", redis_key}).string;
    }
    [[nodiscard]] std::string lock_name(const LockKey& key = settle_1001) const {
        return keys_.lock(key);
    }
    // Every key of the server but marker and record has a time to live.
    void expect_ttl_everywhere();

    static std::unique_ptr<RedisServer> server_;
    std::unique_ptr<RedisClient> client_;
    store::redis::Keys keys_;
    store::redis::Scripts scripts_;
    store::redis::Guard guard_;
};

// An operation with what a test doesn't care about filled in. Numbers count up.
struct Make {
    std::uint64_t number = 0;

    core::Acquire acquire(std::string owner = "", LockKey key = settle_1001);
    static core::Release release(const core::Acquire& acquire) {
        return {acquire.key, acquire.token, acquire.node, std::nullopt};
    }
    static core::Renew renew(const core::Acquire& acquire) {
        return {acquire.key, acquire.token, acquire.node, std::nullopt, false};
    }
    static core::Undo undo(const core::Acquire& acquire) {
        return {acquire.key, acquire.request, acquire.attempt, acquire.node, std::nullopt};
    }
};

}  // namespace latchd::testing

namespace latchd::core {
inline void PrintTo(Status status, std::ostream* out) { *out << "status " << int(status); }
void PrintTo(const GrantRecord& record, std::ostream* out);
}  // namespace latchd::core
