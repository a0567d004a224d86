// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "identity.hpp"
#include "redis_scripts_fixture.hpp"

#include <latchd/resp/command_writer.hpp>

#include <algorithm>
#include <stdexcept>

// What isn't an operation on one lock: messages, lists, the sweep, the probe.
namespace latchd::testing {
namespace {

using namespace store::redis;
using core::NodeMessage;
using core::Status;
using std::chrono::seconds;

class RedisStoreScripts : public RedisScripts {
protected:
    void SetUp() override {
        RedisScripts::SetUp();
        if (!IsSkipped()) listener_ = std::make_unique<RedisClient>(server_->socket_path());
    }
    void TearDown() override {
        listener_.reset();
        RedisScripts::TearDown();
    }

    void listen(const std::string& channel) { (void)listener_->command({"SUBSCRIBE", channel}); }
    // Messages so far: they are written before the reply to what caused them, and so before the
    // answer to this PING.
    std::vector<NodeMessage> messages() {
        std::vector<NodeMessage> all;
        std::string ping;
        resp::append_command(ping, {"PING"});
        listener_->send(ping);
        while (true) {
            const resp::Value value = listener_->receive();
            if (value.elements.size() != 3) return all;
            const auto message = read_message(keys_, value.elements[2].string);
            EXPECT_TRUE(message) << value.elements[2].string;
            if (message) all.push_back(*message);
        }
    }
    template <class T>
    T got(std::variant<T, Refusal> answer) {
        if (auto* refusal = std::get_if<Refusal>(&answer)) throw std::runtime_error(refusal->text);
        return std::get<T>(std::move(answer));
    }
    Target target() { return {keys_, scripts_, guard_}; }

    Make make;
    std::unique_ptr<RedisClient> listener_;
};

TEST_F(RedisStoreScripts, the_node_of_the_record_is_told_what_others_do) {
    listen(keys_.node_channel(NodeName("node-a")));
    core::Acquire wish = make.acquire("owner");
    const Token wish_token = wish.token;
    (void)reply(wish);
    core::Acquire elsewhere = make.acquire("owner");
    elsewhere.node = NodeName("node-b");
    elsewhere.keep = true;
    EXPECT_EQ(status(elsewhere), Status::reentered);
    (void)reply(Make::renew(wish));  // back to node-a: node-b is told, which nobody hears
    core::Renew renew = Make::renew(wish);
    renew.node = NodeName("node-b");
    renew.keep = true;
    EXPECT_EQ(status(renew), Status::renewed);
    (void)reply(Make::renew(wish));
    core::Release release = Make::release(wish);
    release.node = NodeName("node-b");
    EXPECT_EQ(status(release), Status::hold_removed);
    renew = Make::renew(elsewhere);
    renew.node = NodeName("node-a");
    EXPECT_EQ(status(renew), Status::renewed);
    EXPECT_EQ(status(core::Force{settle_1001, NodeName("node-c"), std::nullopt}), Status::ended);
    wish = make.acquire();
    (void)reply(wish);
    release = Make::release(wish);
    release.node = NodeName("node-b");
    EXPECT_EQ(status(release), Status::released);

    const std::vector<NodeMessage> all = messages();
    ASSERT_EQ(all.size(), 5u);
    EXPECT_EQ(all[0].kind, NodeMessage::Kind::moved);
    EXPECT_FALSE(all[0].keep) << "a hold of its own takes nothing over";
    EXPECT_EQ(all[1].kind, NodeMessage::Kind::moved);
    EXPECT_TRUE(all[1].keep);
    EXPECT_EQ(all[1].hold, core::token_tail(wish_token)) << "never a whole token";
    EXPECT_EQ(all[2].kind, NodeMessage::Kind::moved) << "what a hold was taken out of";
    EXPECT_FALSE(all[2].keep);
    EXPECT_EQ(all[3].kind, NodeMessage::Kind::forced);
    EXPECT_EQ(all[4].kind, NodeMessage::Kind::released);
    EXPECT_EQ(all[4].key, settle_1001);
    EXPECT_EQ(all[4].fence, make_fence(epoch, 2));
}

TEST_F(RedisStoreScripts, all_nodes_are_told_of_a_cancel_with_any_bytes) {
    listen(keys_.nodes_channel());
    const LockKey key{ResourceName("a:b"), LockId("1:2 3%\n")};
    const RequestId request(std::string("a b\0\xff c", 8));
    (void)reply(core::Cancel{key, request, NodeName("node-a"), seconds(9)});
    const std::vector<NodeMessage> all = messages();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].kind, NodeMessage::Kind::cancelled);
    EXPECT_EQ(all[0].key, key);
    EXPECT_EQ(all[0].request, request);
}

TEST_F(RedisStoreScripts, a_list_has_the_live_records_that_match) {
    for (int i = 0; i < 20; ++i) {
        (void)reply(make.acquire(
            "", {ResourceName(i % 2 ? "odd" : "even:er"), LockId("id:" + std::to_string(i))}));
    }
    command({"SET", "lock:odd:foreign", "not latchd's"});
    command({"RPUSH", "lock:odd:list:foreign", "not a string"});
    command(
        {"SET", "lock:odd:void", "{\"token\":\"t\",\"epoch\":1,\"nonce\":\"n\"}", "PX", "9999"});
    std::vector<std::string> ids;
    core::List list{"odd:id:1*", 3, 0};
    do {
        std::string out;
        append_scan(out, keys_, list);
        const ScanPage page = got(read_scan(client_->round_trip(out)));
        out.clear();
        append_list(out, target(), page.redis_keys);
        const Answer answer =
            read_list(keys_, page.redis_keys, list.pattern, client_->round_trip(out));
        for (const core::GrantRecord& row : std::get<Answered>(answer).reply.rows) {
            EXPECT_EQ(row.key.resource, ResourceName("odd"));
            ids.push_back(row.key.id.str());
        }
        list.cursor = page.cursor;
    } while (list.cursor != 0);
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    EXPECT_EQ(ids, (std::vector<std::string>{"id:1", "id:11", "id:13", "id:15", "id:17", "id:19"}));
}

TEST_F(RedisStoreScripts, a_sweep_deletes_void_records_and_nothing_else) {
    std::vector<std::string> names;
    const auto key = [](const char* id) { return LockKey{ResourceName("r"), LockId(id)}; };
    (void)reply(make.acquire("", key("live")));
    (void)reply(make.acquire("", key("void")));
    std::string text = text_at("lock:r:void");
    text.replace(text.find("\"nonce\":\"") + 9, 1, "X");
    command({"SET", "lock:r:void", text, "PX", "60000"});
    command({"SET", "lock:r:plain:foreign", "a token"});
    command({"SET", "lock:r:like:foreign", "{\"token\":\"somebody's\",\"epoch\":1}"});
    command({"HSET", "lock:r:hash:foreign", "f", "v"});
    names = {"lock:r:live",
             "lock:r:void",
             "lock:r:plain:foreign",
             "lock:r:like:foreign",
             "lock:r:hash:foreign",
             "lock:r:absent"};
    std::string out;
    append_sweep(out, target(), names);
    EXPECT_EQ(got(read_sweep(client_->round_trip(out))), 1u);
    EXPECT_EQ(command({"EXISTS", "lock:r:void"}).integer, 0);
    EXPECT_EQ(command({"DBSIZE"}).integer, 5);  // with the marker
}

TEST_F(RedisStoreScripts, a_probe_writes_the_time_and_shows_the_counter) {
    (void)reply(make.acquire());
    std::string out;
    append_probe(out, target());
    const Probed probed = got(read_probe(client_->round_trip(out)));
    EXPECT_EQ(probed.run_id, "run");
    EXPECT_EQ(probed.counter, 1u);
    EXPECT_EQ(command({"HGET", keys_.marker(), "time"}).string, std::to_string(probed.server_ms));
}

TEST_F(RedisStoreScripts, a_real_server_s_info_shows_its_identity) {
    std::string out;
    const std::size_t replies = append_identity(out);
    client_->send(out);
    std::string info;
    for (std::size_t i = 0; i < replies; ++i) info += client_->receive().string;
    const auto server = read_identity(info);
    ASSERT_TRUE(server);
    EXPECT_EQ(server->identity.run_id.size(), 40u);
    EXPECT_EQ(server->identity.replid.size(), 40u);
    EXPECT_EQ(server->identity.replid2, "");
    EXPECT_EQ(server->identity.role, core::authority::Role::master);
    EXPECT_EQ(server->maxmemory_policy, "noeviction");
    EXPECT_EQ(server->mode, "standalone");
}

TEST_F(RedisStoreScripts, the_digests_are_those_of_the_server) {
    for (std::size_t i = 0; i < script_count; ++i) {
        const auto script = static_cast<Script>(i);
        EXPECT_EQ(command({"SCRIPT", "LOAD", scripts_.text(script)}).string,
                  scripts_.digest(script));
    }
}

}  // namespace
}  // namespace latchd::testing
