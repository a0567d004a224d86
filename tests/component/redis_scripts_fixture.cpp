// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "redis_scripts_fixture.hpp"

#include <stdexcept>

namespace latchd::testing {

using namespace store::redis;

namespace {

// The replies of a pipeline of SCRIPT LOAD; each is the digest that the dialect computed.
void expect_loaded(RedisClient& client, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const resp::Value value = client.receive();
        ASSERT_EQ(value.type, resp::Value::Type::bulk) << value.string;
    }
}

}  // namespace

std::unique_ptr<RedisServer> RedisScripts::server_;

void RedisScripts::SetUpTestSuite() { server_ = std::make_unique<RedisServer>(); }
void RedisScripts::TearDownTestSuite() { server_.reset(); }

void RedisScripts::SetUp() {
    if (!server_->is_running()) GTEST_SKIP() << "redis-server is not installed";
    client_ = std::make_unique<RedisClient>(server_->socket_path());
    command({"FLUSHALL"});
    command({"SCRIPT", "FLUSH"});

    std::string out;
    const std::size_t loaded = scripts_.append_load_authority(out);
    client_->send(out);
    expect_loaded(*client_, loaded);
    const std::string nonce = "nonce-of-the-opening";
    command({"HSET",
             keys_.marker(),
             "uuid",
             "a-cluster",
             "epoch",
             std::to_string(epoch),
             "nonce",
             nonce,
             "run_id",
             "run",
             "counter",
             "0"});
    scripts_ = Scripts(epoch, nonce);
    load_scripts();
}

void RedisScripts::TearDown() {
    if (client_ != nullptr && !IsSkipped()) expect_ttl_everywhere();
}

void RedisScripts::load_scripts() {
    std::string out;
    const std::size_t count = scripts_.append_load_locks(out);
    client_->send(out);
    expect_loaded(*client_, count);
}

Answer RedisScripts::run(const core::Operation& operation) {
    std::string out;
    append_operation(out, {keys_, scripts_, guard_}, operation);
    return read_operation(operation, client_->round_trip(out));
}

Answered RedisScripts::answered(const core::Operation& operation) {
    Answer answer = run(operation);
    if (auto* refusal = std::get_if<Refusal>(&answer)) throw std::runtime_error(refusal->text);
    return std::get<Answered>(std::move(answer));
}

Refusal RedisScripts::refusal(const core::Operation& operation) {
    Answer answer = run(operation);
    if (auto* refusal = std::get_if<Refusal>(&answer)) return *refusal;
    return {core::Failure::in_doubt, Cause::other, "carried out", 0};
}

void RedisScripts::expect_ttl_everywhere() {
    for (const resp::Value& key : command({"KEYS", "*"}).elements) {
        if (key.string == keys_.marker()) continue;
        if (key.string.starts_with("foreign") || key.string.ends_with(":foreign")) continue;
        EXPECT_GT(command({"PTTL", key.string}).integer, 0) << key.string;
    }
}

core::Acquire Make::acquire(std::string owner, LockKey key) {
    ++number;
    core::Acquire wish;
    wish.key = std::move(key);
    wish.request = RequestId("request-" + std::to_string(number));
    wish.attempt = {4'503'599'627'370'497, number};
    wish.token = Token("token-" + std::to_string(number));
    wish.owner = OwnerName(std::move(owner));
    wish.node = NodeName("node-a");
    wish.client = ClientName("127.0.0.1:5000");
    wish.ttl = std::chrono::seconds(30);
    wish.retry_window = std::chrono::seconds(15);
    return wish;
}

}  // namespace latchd::testing

namespace latchd::core {

void PrintTo(const GrantRecord& record, std::ostream* out) {
    *out << record.key.id.view() << " fence " << record.fence << " version " << record.version
         << " owner " << record.owner.view() << " left " << record.left.count() << " ttl "
         << record.ttl.count() << " hard " << (record.hard_left ? record.hard_left->count() : -1)
         << " renewals " << record.renewals << "/" << record.renew_max << " delay "
         << record.delay.count() << " age " << record.age.count() << " node " << record.node.view()
         << " client " << record.client.view();
    for (const Hold& hold : record.holds) {
        *out << " [" << hold.token.view() << " " << hold.request.view() << " adopt "
             << hold.adopt_left.count();
        for (const Attempt& attempt : hold.attempts) *out << " " << attempt.number;
        *out << "]";
    }
}

}  // namespace latchd::core
