// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "claims.hpp"
#include "redis_scripts_fixture.hpp"

#include <algorithm>
#include <stdexcept>

// The marker, and what is carried into and out of an epoch.
namespace latchd::testing {
namespace {

using namespace store::redis;
using core::Status;
using core::authority::ClusterUuid;
using core::authority::Marker;
using core::authority::Nonce;
using std::chrono::milliseconds;
using std::chrono::seconds;

class RedisClaims : public RedisScripts {
protected:
    void SetUp() override {
        RedisScripts::SetUp();
        if (IsSkipped()) return;
        const std::string info = command({"INFO", "server"}).string;
        run_id_ = info.substr(info.find("run_id:") + 7, 40);
    }
    template <class T>
    T got(std::variant<T, Refusal> answer) {
        if (auto* refusal = std::get_if<Refusal>(&answer)) throw std::runtime_error(refusal->text);
        return std::get<T>(std::move(answer));
    }
    MarkerView marker() {
        std::string out;
        append_marker_read(out, keys_);
        return got(read_marker(client_->round_trip(out)));
    }
    MarkerWasSet set(const MarkerSet& wish) {
        std::string out;
        append_marker_set(out, keys_, scripts_, wish);
        return got(read_marker_set(client_->round_trip(out)));
    }
    Marker marker_of(Epoch of, const char* nonce, std::uint32_t counter = 0) {
        return {ClusterUuid("a-cluster"), of, Nonce(nonce), run_id_, counter};
    }
    // Begins `of` with this nonce, whatever is there.
    void begin(Epoch of, const char* nonce) {
        ASSERT_TRUE(set({marker().marker, marker_of(of, nonce), run_id_}).done);
        scripts_ = Scripts(of, nonce);
        load_scripts();
    }
    std::variant<std::uint64_t, Refusal> load(Epoch of,
                                              const char* nonce,
                                              const core::Claims& claims) {
        std::string out;
        append_claims_load(out, keys_, scripts_, of, nonce, claims.records, claims.cancelled);
        return read_claims_load(client_->round_trip(out));
    }
    core::Claims read(const Marker& ended, Epoch next, const char* nonce) {
        const ScanPage page = [&] {
            std::string out;
            append_claims_scan(out, keys_, 0);
            return got(read_scan(client_->round_trip(out)));
        }();
        EXPECT_EQ(page.cursor, 0u);
        std::string out;
        append_claims_read(out, keys_, scripts_, next, nonce, page.redis_keys);
        return got(read_claims(keys_, page.redis_keys, ended, client_->round_trip(out)));
    }
    core::GrantRecord found(const LockKey& key = settle_1001) {
        return reply(core::Inspect{key}).reply.record.value();
    }

    Make make;
    std::string run_id_;
};

LockKey key_of(const char* id) { return {ResourceName("r"), LockId(id)}; }

TEST_F(RedisClaims, the_marker_is_read_whole_absent_or_named_as_damaged) {
    EXPECT_EQ(marker().marker.value().epoch, epoch);
    EXPECT_EQ(marker().marker->nonce, Nonce("nonce-of-the-opening"));
    command({"HDEL", keys_.marker(), "counter"});
    EXPECT_FALSE(marker().marker);
    EXPECT_TRUE(marker().is_damaged);
    command({"DEL", keys_.marker()});
    EXPECT_FALSE(marker().marker);
    EXPECT_FALSE(marker().is_damaged);
    command({"SET", keys_.marker(), "no hash", "PX", "60000"});
    EXPECT_TRUE(marker().is_damaged);
    std::string out;
    append_marker_set(out, keys_, scripts_, {std::nullopt, marker_of(1, "n"), run_id_});
    EXPECT_EQ(std::get<Refusal>(read_marker_set(client_->round_trip(out))).cause, Cause::foreign);
    EXPECT_EQ(text_at(keys_.marker()), "no hash");
    command({"DEL", keys_.marker()});
}

TEST_F(RedisClaims, the_marker_is_set_only_where_it_is_as_expected) {
    const Marker now = marker().marker.value();
    const Marker next = marker_of(epoch + 1, "next", 4'096);
    Marker other = now;
    other.nonce = Nonce("another's");
    for (const auto& wrong : {std::optional<Marker>(), std::optional(other)}) {
        const MarkerWasSet lost = set({wrong, next, run_id_});
        EXPECT_FALSE(lost.done);
        EXPECT_TRUE(lost.is_process);
        EXPECT_EQ(lost.now.marker, now) << "it shows who won";
    }
    const MarkerWasSet elsewhere = set({now, next, std::string(40, 'f')});
    EXPECT_FALSE(elsewhere.done);
    EXPECT_FALSE(elsewhere.is_process);
    EXPECT_EQ(marker().marker, now);

    const MarkerWasSet won = set({now, next, run_id_});
    EXPECT_TRUE(won.done);
    EXPECT_EQ(won.now.marker, next);
    EXPECT_EQ(refusal(make.acquire()).cause, Cause::marker) << "the former epoch is over";

    // Its answer was lost, it is sent again after a grant: the counter stays.
    scripts_ = Scripts(epoch + 1, "next");
    load_scripts();
    EXPECT_EQ(reply(make.acquire()).reply.record->fence, make_fence(epoch + 1, 4'097));
    EXPECT_TRUE(set({now, next, run_id_}).done);
    EXPECT_EQ(marker().marker->counter, 4'097u);

    command({"DEL", keys_.marker()});
    EXPECT_FALSE(set({now, next, run_id_}).done) << "gone is not as expected";
    EXPECT_TRUE(set({std::nullopt, next, run_id_}).done);
}

TEST_F(RedisClaims, a_carried_lock_is_what_it_was) {
    core::Acquire wish = make.acquire("an \"owner\"\n/");
    wish.delay = seconds(5);
    wish.hold_max = seconds(600);
    wish.renew_max = 9;
    (void)reply(wish);
    (void)reply(make.acquire("an \"owner\"\n/"));  // a second hold
    (void)reply(Make::renew(wish));
    const core::GrantRecord before = found();
    ASSERT_EQ(before.holds.size(), 2u);
    begin(epoch + 1, "next");
    EXPECT_EQ(status(core::Inspect{settle_1001}), Status::not_held) << "void";
    EXPECT_EQ(got(load(epoch + 1, "next", {{before}, {}, {}})), 0u);

    core::GrantRecord after = found();
    EXPECT_LE(after.left, before.left);
    EXPECT_GT(after.left, before.left - seconds(5));
    EXPECT_GE(after.age, before.age - milliseconds(1));
    after.left = before.left;
    after.age = before.age;
    after.hard_left = before.hard_left;
    for (std::size_t i = 0; i < 2; ++i) after.holds[i].adopt_left = before.holds[i].adopt_left;
    EXPECT_EQ(after, before) << "fence, version, tokens, names: as they were";

    const auto renewed = reply(Make::renew(wish)).reply;
    EXPECT_EQ(renewed.status, Status::renewed);
    EXPECT_EQ(renewed.record->fence, before.fence);
    EXPECT_EQ(renewed.record->version, before.version + 1);
    EXPECT_EQ(status(make.acquire()), Status::held);
    EXPECT_EQ(status(Make::release(wish)), Status::hold_removed);
}

TEST_F(RedisClaims, a_load_sent_again_changes_nothing_and_takes_nothing_back) {
    const core::Acquire wish = make.acquire();
    (void)reply(wish);
    const core::GrantRecord before = found();
    begin(epoch + 1, "next");
    const core::Claims claims{
        {before}, {}, {{key_of("barred"), RequestId("cancelled"), seconds(60)}}};
    EXPECT_EQ(got(load(epoch + 1, "next", claims)), 0u);
    const std::string value = text_at(lock_name());
    EXPECT_EQ(got(load(epoch + 1, "next", claims)), 0u);
    EXPECT_EQ(found().fence, before.fence);
    EXPECT_EQ(found().version, before.version);
    EXPECT_EQ(text_at(lock_name()).size(), value.size());
    (void)reply(Make::renew(wish));
    EXPECT_EQ(got(load(epoch + 1, "next", claims)), 0u);
    EXPECT_EQ(found().version, before.version + 1) << "the newer one stays";

    core::Acquire barred = make.acquire("", key_of("barred"));
    barred.request = RequestId("cancelled");
    EXPECT_EQ(status(barred), Status::cancelled);
    EXPECT_GT(command({"PTTL", keys_.bar(barred.key, barred.request)}).integer, 50'000);
    core::Claims shorter = claims;
    shorter.cancelled[0].left = seconds(1);
    EXPECT_EQ(got(load(epoch + 1, "next", shorter)), 0u);
    EXPECT_GT(command({"PTTL", keys_.bar(barred.key, barred.request)}).integer, 50'000)
        << "never shorter than it was";
}

TEST_F(RedisClaims, a_load_needs_the_marker_of_its_epoch_and_nonce) {
    const core::Acquire wish = make.acquire();
    (void)reply(wish);
    const core::Claims claims{{found()}, {}, {{settle_1001, RequestId("q"), seconds(9)}}};
    begin(epoch + 1, "next");
    for (const auto& [of, nonce] : {std::pair{epoch, "next"}, {epoch + 1, "another's"}}) {
        EXPECT_EQ(std::get<Refusal>(load(of, nonce, claims)).cause, Cause::marker);
    }
    EXPECT_EQ(status(core::Inspect{settle_1001}), Status::not_held);
    EXPECT_EQ(command({"EXISTS", keys_.bar(settle_1001, RequestId("q"))}).integer, 0);
}

TEST_F(RedisClaims, what_is_over_stays_away_and_a_delay_goes_on) {
    core::Acquire wish = make.acquire();
    wish.delay = seconds(20);
    (void)reply(wish);
    core::GrantRecord lapsed = found();
    lapsed.left = seconds(-5);
    core::GrantRecord over = lapsed;
    over.key = key_of("over");
    over.left = seconds(-20);
    begin(epoch + 1, "next");
    EXPECT_EQ(got(load(epoch + 1, "next", {{lapsed, over}, {}, {}})), 0u);
    EXPECT_EQ(status(core::Inspect{over.key}), Status::not_held);
    const auto held = reply(make.acquire()).reply;
    EXPECT_EQ(held.status, Status::held);
    EXPECT_LE(held.left, seconds(15));
    EXPECT_GT(held.left, seconds(10));
    EXPECT_EQ(status(Make::renew(wish)), Status::not_held) << "its lease is over";
    EXPECT_EQ(status(Make::release(wish)), Status::released) << "which ends the delay";
}

TEST_F(RedisClaims, what_is_not_latchds_is_counted_and_stays) {
    (void)reply(make.acquire("", key_of("foreign")));
    (void)reply(make.acquire("", key_of("list:foreign")));
    core::Claims claims{{found(key_of("foreign")), found(key_of("list:foreign"))}, {}, {}};
    begin(epoch + 1, "next");
    command({"SET", "lock:r:foreign", "somebody's"});
    command({"DEL", "lock:r:list%3Aforeign"});
    command({"RPUSH", "lock:r:list%3Aforeign", "x"});
    command({"PEXPIRE", "lock:r:list%3Aforeign", "60000"});
    EXPECT_EQ(got(load(epoch + 1, "next", claims)), 2u);
    EXPECT_EQ(text_at("lock:r:foreign"), "somebody's");
    EXPECT_EQ(command({"LLEN", "lock:r:list%3Aforeign"}).integer, 1);
}

TEST_F(RedisClaims, an_ended_epoch_shows_its_live_locks_and_bars) {
    const LockKey odd{ResourceName("a:b"), LockId("1:2 {3}%\n")};
    (void)reply(make.acquire("", odd));
    (void)reply(make.acquire("", key_of("plain")));
    (void)reply(core::Cancel{odd, RequestId(std::string("q \0}:", 5)), NodeName("n"), seconds(60)});
    const core::Acquire undone = make.acquire("", key_of("undone"));
    core::Undo undo = Make::undo(undone);
    undo.tombstone = seconds(60);
    (void)reply(undo);
    command({"SET", "lock:r:foreign", "somebody's"});
    command({"RPUSH", "lock:r:list:foreign", "x"});
    command({"SET", "bar:theirs:foreign", "x"});
    std::string void_text = text_at("lock:r:plain");
    void_text.replace(void_text.find("\"nonce\":\"") + 9, 1, "X");
    command({"SET", "lock:r:void", void_text, "PX", "60000"});

    const Marker ended = marker().marker.value();
    std::vector<core::GrantRecord> before{found(odd), found(key_of("plain"))};
    ASSERT_TRUE(set({ended, marker_of(epoch + 1, "nobody's"), ended.run_id}).is_process == false)
        << "the fixture's marker names another process";
    ASSERT_TRUE(set({ended, marker_of(epoch + 1, "nobody's"), run_id_}).done);
    EXPECT_EQ(refusal(make.acquire("", key_of("late"))).cause, Cause::marker);

    core::Claims claims = read(ended, epoch + 1, "nobody's");
    std::sort(claims.records.begin(), claims.records.end(), [](const auto& a, const auto& b) {
        return a.key.resource.view() < b.key.resource.view();
    });
    ASSERT_EQ(claims.records.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(claims.records[i].key, before[i].key);
        EXPECT_EQ(claims.records[i].fence, before[i].fence);
        EXPECT_EQ(claims.records[i].version, before[i].version);
        EXPECT_EQ(claims.records[i].holds[0].token, before[i].holds[0].token);
    }
    ASSERT_EQ(claims.cancelled.size(), 1u);
    EXPECT_EQ(claims.cancelled[0].key, odd);
    EXPECT_EQ(claims.cancelled[0].request, RequestId(std::string("q \0}:", 5)));
    EXPECT_GT(claims.cancelled[0].left, seconds(50));

    std::string out;
    append_claims_read(out, keys_, scripts_, epoch, "nobody's", {});
    EXPECT_EQ(std::get<Refusal>(read_claims(keys_, {}, ended, client_->round_trip(out))).cause,
              Cause::marker);
}

TEST_F(RedisClaims, a_plain_probe_writes_and_shows_the_time) {
    std::string out;
    append_plain_write(out, keys_);
    EXPECT_EQ(client_->round_trip(out).string, "OK");
    out.clear();
    append_plain_time(out);
    const Probed probed = got(read_plain_time(client_->round_trip(out)));
    EXPECT_GT(probed.server_ms, 1'700'000'000'000);
    EXPECT_GT(command({"PTTL", keys_.probe()}).integer, 0);
}

}  // namespace
}  // namespace latchd::testing
