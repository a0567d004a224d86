// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "redis_scripts_fixture.hpp"

#include <latchd/core/lock/table.hpp>
#include <latchd/resp/command_writer.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

// The same random operations on core::Table and on the scripts: equal answers, records, messages
// and lists after each. The table is told the server's time of each answer, so that times agree to
// the millisecond. Time passes by rewriting what is stored as if it had been written earlier: keys
// outlive their records then, and only the scripts' own sense of time can end them.
namespace latchd::testing {
namespace {

using namespace store::redis;
using std::chrono::milliseconds;
using std::chrono::seconds;

class RedisConformance : public RedisScripts {
protected:
    void SetUp() override {
        RedisScripts::SetUp();
        if (IsSkipped()) return;
        listener_ = std::make_unique<RedisClient>(server_->socket_path());
        (void)listener_->command({"PSUBSCRIBE", "latchd:node*"});
        const char* const seed = std::getenv("LATCHD_TEST_SEED");
        seed_ = seed != nullptr ? std::strtoul(seed, nullptr, 10) : std::random_device()();
        std::printf("seed %lu\n", seed_);
        random_.seed(seed_);
    }

    std::uint64_t below(std::uint64_t n) { return random_() % n; }
    bool one_in(std::uint64_t n) { return below(n) == 0; }
    template <class T>
    const T& any_of(const std::vector<T>& items) {
        return items[below(items.size())];
    }
    NodeName node() { return NodeName(one_in(4) ? "node-c" : one_in(3) ? "node-b" : "node-a"); }
    LockKey key() { return {ResourceName("r"), LockId(one_in(2) ? "1" : "2")}; }

    core::Acquire acquire(const LockKey& key);
    core::Acquire known() { return wishes_.empty() ? acquire(key()) : any_of(wishes_); }
    core::Operation operation();
    void compare(const core::Operation& operation);
    void compare_many(const std::vector<core::Operation>& operations);
    void compare_answer(const Answered& server, const core::Operation& operation);
    void compare_messages();
    void pass_time(milliseconds passed);
    void pass_time_of_queue(const std::string& name, milliseconds passed);
    std::string server_queue(const LockKey& key);
    std::string model_queue(const LockKey& key);
    void pass_some_time();
    std::vector<std::string> said();
    std::vector<core::GrantRecord> model_rows();
    std::vector<core::GrantRecord> server_rows();

    std::unique_ptr<RedisClient> listener_;
    unsigned long seed_ = 0;
    std::mt19937_64 random_;
    core::Table table_{epoch};
    milliseconds shift_{};  // how much later than the server's clock the table's is
    Time last_{};
    std::uint64_t number_ = 0;
    std::vector<core::Acquire> wishes_;
    std::vector<core::GrantRecord> records_;
    std::map<core::Status, int> seen_;
};

core::Acquire RedisConformance::acquire(const LockKey& key) {
    Make make{++number_};
    core::Acquire wish = make.acquire(one_in(2) ? "" : one_in(3) ? "o/t \"her" : "owner", key);
    number_ = make.number;  // no attempt twice
    // Names that the scripts can't look for in a value without taking it apart.
    if (one_in(4)) wish.request = RequestId("a/b\n" + wish.request.str());
    if (one_in(4)) wish.token = Token("a/b\xff" + wish.token.str());
    wish.node = node();
    wish.client = ClientName("client-" + std::to_string(below(3)));
    wish.ttl = seconds(1 + below(60));
    if (one_in(3)) wish.hold_max = seconds(2 + below(60));
    if (one_in(3)) wish.delay = seconds(below(20));
    wish.renew_max = one_in(2) ? static_cast<std::uint32_t>(1 + below(2)) : 0;
    wish.keep = one_in(2);
    wish.join_only = one_in(8);
    wish.waits = one_in(2);
    if (!wishes_.empty() && one_in(3)) wish.request = any_of(wishes_).request;
    wishes_.push_back(wish);
    return wish;
}

core::Operation RedisConformance::operation() {
    const core::Acquire wish = one_in(3) ? acquire(key()) : known();
    switch (below(13)) {
        case 0:
        case 1:
        case 2:
            return wish;
        case 3: {
            core::Acquire again = wish;  // the same request, sent anew
            again.attempt.number = ++number_;
            again.node = node();
            wishes_.push_back(again);
            return again;
        }
        case 4:
            return core::Release{wish.key, wish.token, node(), std::nullopt};
        case 5:
            return core::Release{wish.key, wish.token, node(), acquire(wish.key), one_in(3)};
        case 6:
        case 7: {
            core::Renew renew{wish.key, wish.token, node(), std::nullopt, one_in(2)};
            if (one_in(2)) renew.ttl = seconds(1 + below(60));
            if (renew.keep) renew.stands = Attempt{1 + below(2), 0};
            return renew;
        }
        case 8: {
            core::Undo undo{wish.key, wish.request, wish.attempt, node(), std::nullopt};
            if (one_in(2)) undo.tombstone = seconds(30);
            return undo;
        }
        case 9:
            if (!one_in(4)) return core::Renew{wish.key, wish.token, node(), std::nullopt, false};
            return core::Cancel{wish.key, wish.request, node(), seconds(30)};
        case 10: {
            core::Force force{wish.key, node(), std::nullopt};
            if (one_in(2) || records_.empty()) return core::Inspect{wish.key};
            if (one_in(2)) force.fence = any_of(records_).fence;
            return force;
        }
        case 11:
            return core::StepOut{wish.key, node()};
        default: {
            if (records_.empty()) return wish;
            core::Restore restore{any_of(records_), one_in(3)};
            restore.record.left -= seconds(below(3));
            return restore;
        }
    }
}

const LockKey* key_of(const core::Operation& operation) {
    if (const auto* acquire = std::get_if<core::Acquire>(&operation)) return &acquire->key;
    if (const auto* release = std::get_if<core::Release>(&operation)) return &release->key;
    if (const auto* undo = std::get_if<core::Undo>(&operation)) return &undo->key;
    if (const auto* step = std::get_if<core::StepOut>(&operation)) return &step->key;
    return nullptr;
}

std::string kind_and_target(const std::string& channel, const core::NodeMessage& message) {
    return channel + " " + std::to_string(int(message.kind)) + " " + message.key.id.str() + " " +
           std::to_string(message.fence) + " " + message.request.str() +
           (message.keep ? " k" + message.hold : "");
}

std::vector<std::string> RedisConformance::said() {
    std::vector<std::string> all;
    std::string ping;
    resp::append_command(ping, {"PING"});
    listener_->send(ping);
    while (true) {
        const resp::Value value = listener_->receive();
        if (value.elements.size() != 4) return all;
        const auto message = read_message(keys_, value.elements[3].string);
        all.push_back(message ? kind_and_target(value.elements[2].string, *message)
                              : "unreadable " + value.elements[3].string);
    }
}

// T4.
void expect_one_hold_per_request(const core::GrantRecord& record) {
    std::set<RequestId> requests;
    for (const core::Hold& hold : record.holds) {
        if (hold.request.empty()) continue;
        ASSERT_TRUE(requests.insert(hold.request).second) << hold.request.str();
    }
}

void expect_equal(const core::Reply& server, const core::Reply& model) {
    if (server.record) expect_one_hold_per_request(*server.record);
    ASSERT_EQ(server.status, model.status);
    ASSERT_EQ(server.record, model.record);
    ASSERT_EQ(server.left, model.left);
    if (model.status == core::Status::held || model.status == core::Status::held_by_other) {
        ASSERT_EQ(server.fence_seen, model.fence_seen);
    }
}

void RedisConformance::compare(const core::Operation& operation) {
    ASSERT_NO_FATAL_FAILURE(compare_answer(answered(operation), operation));
    compare_messages();
    if (const LockKey* const key = key_of(operation)) {
        ASSERT_EQ(server_queue(*key), model_queue(*key));
    }
}

void RedisConformance::compare_many(const std::vector<core::Operation>& operations) {
    std::vector<const core::Operation*> all;
    for (const core::Operation& operation : operations) all.push_back(&operation);
    std::string out;
    append_many(out, {keys_, scripts_, guard_}, all);
    const auto read = read_many(all, client_->round_trip(out));
    const auto& answers = std::get<std::vector<Answer>>(read);
    for (std::size_t i = 0; i < operations.size(); ++i) {
        SCOPED_TRACE("one of many, " + std::to_string(i));
        ASSERT_NO_FATAL_FAILURE(
            compare_answer(std::get<Answered>(answers.at(i)), operations.at(i)));
    }
    compare_messages();
    for (const core::Operation& operation : operations) {
        ASSERT_EQ(server_queue(*key_of(operation)), model_queue(*key_of(operation)));
    }
}

void RedisConformance::compare_answer(const Answered& server, const core::Operation& operation) {
    last_ = Time(milliseconds(server.server_ms) + shift_);
    const core::OperationReply model = table_.apply(last_, operation);
    expect_equal(server.reply.reply, model.reply);
    ASSERT_EQ(server.reply.then.has_value(), model.then.has_value());
    if (model.then) expect_equal(*server.reply.then, *model.then);
    ++seen_[model.reply.status];
    if (model.then) ++seen_[model.then->status];
    if (model.reply.record) records_.push_back(*model.reply.record);
}

void RedisConformance::compare_messages() {
    std::vector<std::string> told;
    for (const core::Table::Told& one : table_.take_told()) {
        told.push_back(kind_and_target(
            one.node.empty() ? keys_.nodes_channel() : keys_.node_channel(one.node), one.message));
    }
    // A release is told before the cancel that caused it on one side, after it on the other.
    std::vector<std::string> heard = said();
    std::sort(told.begin(), told.end());
    std::sort(heard.begin(), heard.end());
    ASSERT_EQ(heard, told);
}

std::vector<core::GrantRecord> RedisConformance::model_rows() {
    auto rows = table_.apply(last_, core::List{"", 100, 0}).rows;
    std::ranges::sort(rows, {}, &core::GrantRecord::key);
    return rows;
}

std::vector<core::GrantRecord> RedisConformance::server_rows() {
    std::string out;
    append_scan(out, keys_, core::List{"", 1000, 0});
    auto page = std::get<ScanPage>(read_scan(client_->round_trip(out)));
    std::ranges::sort(page.redis_keys);
    out.clear();
    append_list(out, {keys_, scripts_, guard_}, page.redis_keys);
    const Answer answer = read_list(keys_, page.redis_keys, "", client_->round_trip(out));
    const Answered& answered = std::get<Answered>(answer);
    last_ = Time(milliseconds(answered.server_ms) + shift_);
    return answered.reply.rows;
}

void RedisConformance::pass_time(milliseconds passed) {
    static constexpr std::string_view since = "\"since_ms\":";
    shift_ += passed;
    last_ += passed;
    for (const resp::Value& name : command({"KEYS", "*"}).elements) {
        if (name.string.starts_with("lock:")) {
            std::string moved = text_at(name.string);
            const std::size_t at = moved.find(since) + since.size();
            const std::size_t end = moved.find(',', at);
            const long long was = std::stoll(moved.substr(at, end - at));
            moved.replace(at, end - at, std::to_string(was - passed.count()));
            command({"SET", name.string, moved, "PX", "3600000"});
        } else if (name.string.starts_with("bar:")) {
            const std::int64_t left = command({"PTTL", name.string}).integer - passed.count();
            if (left > 0) {
                command({"PEXPIRE", name.string, std::to_string(left)});
            } else {
                command({"DEL", name.string});
            }
        } else if (name.string.starts_with("queue:")) {
            pass_time_of_queue(name.string, passed);
        }
    }
}

void RedisConformance::pass_time_of_queue(const std::string& name, milliseconds passed) {
    constexpr std::size_t digits = 13;
    const std::int64_t left = command({"PTTL", name}).integer - passed.count();
    std::string moved = text_at(name);
    const long long until = std::stoll(moved.substr(0, digits));
    if (until != 0) moved.replace(0, digits, std::to_string(until - passed.count()));
    command({"DEL", name});
    if (left > 0) command({"SET", name, moved, "PX", std::to_string(left)});
}

// As the scripts keep it, what is over left out as they do.
std::string RedisConformance::server_queue(const LockKey& key) {
    const resp::Value value = command({"GET", keys_.queue(key, epoch)});
    if (!value.is(resp::Value::Type::bulk)) return {};
    std::string text = value.string;
    const Time until(milliseconds(std::stoll(text.substr(0, 13))) + shift_);
    text.erase(0, 14);
    if (until != Time(shift_) && until <= last_) text.erase(0, text.find(' ') + 1);
    return text;
}

std::string RedisConformance::model_queue(const LockKey& key) {
    std::string text;
    for (const NodeName& node : table_.queue(last_, key).nodes) text += node.str() + ' ';
    return text;
}

// Never to a moment so close to the end of a record or a bar that the server's key could go before
// the next rewriting: ends are whole seconds apart from each other, so half a second is far.
void RedisConformance::pass_some_time() {
    const auto is_near = [&](Duration ahead) {
        for (const core::GrantRecord& row : model_rows()) {
            const Duration left = row.left + row.delay - ahead;
            if (left > Duration::zero() && left < milliseconds(700)) return true;
        }
        for (const resp::Value& name : command({"KEYS", "[bq][au][re]*"}).elements) {
            const Duration left = milliseconds(command({"PTTL", name.string}).integer) - ahead;
            if (left > -milliseconds(700) && left < milliseconds(700)) return true;
        }
        return false;
    };
    milliseconds passed(one_in(4) ? below(60'000) : one_in(2) ? below(150) : below(9'000));
    while (is_near(passed)) passed += milliseconds(350);
    pass_time(passed);
}

TEST_F(RedisConformance, random_operations_are_answered_as_by_the_table) {
    for (int step = 0; step < 6'000; ++step) {
        const core::Operation next = operation();
        SCOPED_TRACE("step " + std::to_string(step) + ", operation " +
                     std::to_string(next.index()));
        ASSERT_NO_FATAL_FAILURE(compare(next));
        if (one_in(6)) {
            const auto server = server_rows();
            ASSERT_EQ(server, model_rows());
            pass_some_time();
        }
        if (wishes_.size() > 8) wishes_.erase(wishes_.begin());
        if (records_.size() > 8) records_.erase(records_.begin());
    }
    EXPECT_EQ(command({"HGET", keys_.marker(), "counter"}).string,
              std::to_string(table_.counter()));
    using core::Status;
    for (const Status status : {Status::granted,
                                Status::reentered,
                                Status::adopted,
                                Status::held,
                                Status::cancelled,
                                Status::released,
                                Status::hold_removed,
                                Status::renewed,
                                Status::renew_limit,
                                Status::not_held,
                                Status::held_by_other,
                                Status::undone,
                                Status::ended,
                                Status::nothing,
                                Status::restored,
                                Status::found}) {
        EXPECT_GT(seen_[status], 0) << "never met: " << int(status);
    }
}

TEST_F(RedisConformance, many_at_once_are_answered_as_one_after_the_other) {
    for (int step = 0; step < 2'000; ++step) {
        SCOPED_TRACE("step " + std::to_string(step));
        std::vector<core::Operation> together;
        const std::size_t count = 1 + below(5);
        while (together.size() < count) {
            core::Operation next = operation();
            if (fits_many(next)) {
                together.push_back(std::move(next));
            } else if (together.empty()) {
                ASSERT_NO_FATAL_FAILURE(compare(next));
            }
        }
        ASSERT_NO_FATAL_FAILURE(compare_many(together));
        if (one_in(6)) {
            const auto server = server_rows();
            ASSERT_EQ(server, model_rows());
            pass_some_time();
        }
        if (wishes_.size() > 8) wishes_.erase(wishes_.begin(), wishes_.end() - 8);
        if (records_.size() > 8) records_.erase(records_.begin(), records_.end() - 8);
    }
    EXPECT_EQ(command({"HGET", keys_.marker(), "counter"}).string,
              std::to_string(table_.counter()));
    for (const core::Status status : {core::Status::granted,
                                      core::Status::reentered,
                                      core::Status::adopted,
                                      core::Status::held,
                                      core::Status::cancelled,
                                      core::Status::released,
                                      core::Status::hold_removed,
                                      core::Status::not_held,
                                      core::Status::held_by_other}) {
        EXPECT_GT(seen_[status], 0) << "never met: " << int(status);
    }
}

TEST_F(RedisConformance, past_the_retry_window_a_request_id_goes_over_to_the_new_hold) {
    core::Acquire first = acquire({ResourceName("r"), LockId("again")});
    first.owner = OwnerName("owner");
    first.ttl = seconds(60);
    first.hold_max.reset();
    first.join_only = false;
    ASSERT_NO_FATAL_FAILURE(compare(first));
    core::Acquire second = first;
    second.attempt.number = ++number_;
    second.token = Token("of-the-second");
    core::Acquire third = second;
    third.attempt.number = ++number_;
    pass_time(seconds(16));
    ASSERT_NO_FATAL_FAILURE(compare(second));
    ASSERT_NO_FATAL_FAILURE(compare(third));
    ASSERT_NO_FATAL_FAILURE(compare(first));
    const auto undo = [&](const core::Acquire& of) {
        return core::Undo{of.key, of.request, of.attempt, node(), std::nullopt};
    };
    ASSERT_NO_FATAL_FAILURE(compare(undo(first)));
    ASSERT_NO_FATAL_FAILURE(compare(undo(second)));
    ASSERT_NO_FATAL_FAILURE(compare(core::Cancel{first.key, first.request, node(), seconds(30)}));
    ASSERT_NO_FATAL_FAILURE(compare(core::Inspect{first.key}));
    EXPECT_EQ(seen_[core::Status::reentered], 1);
    EXPECT_EQ(seen_[core::Status::adopted], 2);
    EXPECT_EQ(seen_[core::Status::hold_removed], 1);
    EXPECT_EQ(seen_[core::Status::undone], 1);
}

TEST_F(RedisConformance, a_lease_and_a_delay_end_at_their_very_millisecond) {
    core::Acquire first = acquire({ResourceName("r"), LockId("edge")});
    first.ttl = seconds(10);
    first.hold_max.reset();
    first.delay = seconds(5);
    first.join_only = false;
    ASSERT_NO_FATAL_FAILURE(compare(first));
    const Time granted = last_;
    // The scripts' own clock moves on between two commands: meet each end from both sides.
    for (const seconds end : {seconds(10), seconds(15)}) {
        for (const milliseconds off : {milliseconds(-40), milliseconds(40)}) {
            (void)answered(core::Inspect{first.key});
            const Answered now = answered(core::Inspect{first.key});
            const Time server = Time(milliseconds(now.server_ms) + shift_);
            pass_time(std::chrono::duration_cast<milliseconds>(granted + end + off - server));
            ASSERT_NO_FATAL_FAILURE(compare(core::Inspect{first.key}));
            core::Acquire again = first;
            again.attempt.number = ++number_;
            again.owner = OwnerName();
            again.request = RequestId("another");
            again.join_only = true;
            ASSERT_NO_FATAL_FAILURE(compare(again));
            ASSERT_NO_FATAL_FAILURE(
                compare(core::Renew{first.key, Token("strange"), first.node, std::nullopt, false}));
            if (end == seconds(10) && off > milliseconds(0)) {
                ASSERT_NO_FATAL_FAILURE(
                    compare(core::Renew{first.key, first.token, first.node, std::nullopt, false}));
            }
        }
    }
}

}  // namespace
}  // namespace latchd::testing
