// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// Cycles (one lock and one unlock) a second through the MySQL store, 200 clients that each have one
// cycle under way on a lock of its own, beside its peers on the same server in the same run: INSERT
// and DELETE of 64 rows at a time on one connection, and unbatched on 20. Flush at commit. Medians
// of alternating rounds. Reports, judges nothing.
//
//   mysql_bench upsert|optimistic|pessimistic [ROUNDS]

#include "../support/mysql_process.hpp"

#include <latchd/runtime/clock.hpp>
#include <latchd/store/mysql/store.hpp>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <connection.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <unordered_map>
#include <vector>

namespace {

using namespace latchd;
using namespace store::mysql;
using std::chrono::seconds;

constexpr int rounds_usual = 5;
constexpr Duration round_time = seconds(2);
constexpr std::size_t clients = 200;

ConnectOptions server_options(const latchd::testing::MysqlProcess& server) {
    ConnectOptions options;
    options.port = server.port();
    options.username = "root";
    options.operation_timeout = seconds(20);
    return options;
}

void wait_for(boost::asio::io_context& context, const std::function<bool()>& so) {
    const Time until = runtime::boot_time() + seconds(60);
    while (!so()) {
        if (runtime::boot_time() > until) {
            std::fputs("the server does not answer\n", stderr);
            std::exit(1);
        }
        context.restart();
        context.run_one_for(std::chrono::milliseconds(5));
    }
}

// So many connections that repeat what `text` makes; each answer counts `per_answer` cycles.
double peer(boost::asio::io_context& context,
            const ConnectOptions& options,
            std::size_t connections,
            std::size_t per_answer,
            const std::function<std::string(std::size_t connection, std::size_t n)>& text) {
    std::vector<std::unique_ptr<Connection>> all;
    std::size_t cycles = 0;
    std::size_t open = 0;
    bool is_over = false;
    std::vector<std::size_t> sent(connections);
    std::function<void(std::size_t)> next = [&](std::size_t i) {
        if (is_over) return;
        all[i]->query(text(i, sent[i]++), [&, i](Answer&& answer) {
            if (answer.error) {
                std::fprintf(stderr, "%s\n", describe(*answer.error).c_str());
                std::exit(1);
            }
            cycles += per_answer;
            next(i);
        });
    };
    for (std::size_t i = 0; i < connections; ++i) {
        all.push_back(std::make_unique<Connection>(
            context, options, Connection::User{[&](const Session&) { ++open; }, nullptr}));
        all.back()->open();
    }
    wait_for(context, [&] { return open == connections; });
    const Time begin = runtime::boot_time();
    for (std::size_t i = 0; i < connections; ++i) next(i);
    wait_for(context, [&] { return runtime::boot_time() - begin >= round_time; });
    is_over = true;
    const double took = std::chrono::duration<double>(runtime::boot_time() - begin).count();
    wait_for(context, [&] {
        return std::ranges::all_of(all, [](const auto& each) { return each->is_idle(); });
    });
    return static_cast<double>(cycles) / took;
}

class Crowd final : public store::Sink, public store::FleetSink {
public:
    Crowd(boost::asio::io_context& context, const Options& options) : context_(context) {
        tier_ = make_tier(
            context, options, [] { return runtime::boot_time(); }, 0, *this, *this);
        tier_->start();
    }
    ~Crowd() override { tier_->stop(); }

    void serve() {
        wait_for(context_, [this] { return is_probed_; });
        tier_->act(core::authority::TierServe{0, 7, core::authority::Nonce("n"), 0, {}, false});
        wait_for(context_, [this] { return is_ready_; });
    }
    double run() {
        is_over_ = false;
        cycles_ = 0;
        const Time begin = runtime::boot_time();
        for (std::size_t i = 0; i < clients; ++i) begin_cycle();
        wait_for(context_, [&] { return runtime::boot_time() - begin >= round_time; });
        is_over_ = true;
        const double took = std::chrono::duration<double>(runtime::boot_time() - begin).count();
        const double rate = static_cast<double>(cycles_) / took;
        wait_for(context_, [this] { return under_way_.empty(); });
        return rate;
    }

    void deliver(core::Event&& event) override {
        const auto* replied = std::get_if<core::StoreReplied>(&event);
        if (const auto* failed = std::get_if<core::StoreFailed>(&event)) {
            std::fprintf(stderr, "failed: %s\n", failed->text.c_str());
            std::exit(1);
        }
        if (replied == nullptr) return;
        const auto it = under_way_.find(replied->id);
        const core::Acquire wish = std::move(it->second.first);
        const bool was_release = it->second.second;
        under_way_.erase(it);
        if (was_release) {
            ++cycles_;
            if (!is_over_) begin_cycle();
            return;
        }
        const core::OperationId id{++ids_};
        under_way_[id] = {wish, true};
        tier_->submit(id, core::Release{wish.key, wish.token, wish.node, std::nullopt});
    }
    void happened(core::authority::FleetEvent&& event) override {
        is_probed_ = is_probed_ || std::holds_alternative<core::authority::TierProbed>(event);
        is_ready_ = is_ready_ || std::holds_alternative<core::authority::TierReady>(event);
    }

private:
    void begin_cycle() {
        core::Acquire wish;
        const core::OperationId id{++ids_};
        const std::string number = std::to_string(static_cast<std::uint64_t>(id));
        // As business keys come: each once.
        wish.key = {ResourceName("order:settle"), LockId("2026-11-29-" + number)};
        wish.request = RequestId("requestABCDEFGHI" + number);
        wish.token = Token("tokenABCDEFGHIJK" + number);
        wish.attempt = {1, static_cast<std::uint64_t>(id)};
        wish.node = NodeName("web-1.example");
        wish.client = ClientName("127.0.0.1:40000");
        wish.ttl = seconds(30);
        wish.retry_window = seconds(15);
        under_way_[id] = {wish, false};
        tier_->submit(id, wish);
    }

    boost::asio::io_context& context_;
    std::unique_ptr<store::Tier> tier_;
    std::unordered_map<core::OperationId, std::pair<core::Acquire, bool>> under_way_;
    std::uint64_t ids_ = 0;
    std::size_t cycles_ = 0;
    bool is_over_ = false;
    bool is_probed_ = false;
    bool is_ready_ = false;
};

std::string rows_text(std::size_t connection, std::size_t n, std::size_t count) {
    std::string values;
    std::string ids;
    for (std::size_t i = 0; i < count; ++i) {
        char id[80];
        std::snprintf(id, sizeof id, "'%03zu-%08zu-%03zu'", connection, n, i);
        values += (i == 0 ? "(1," : ",(1,") + std::string(id) + ",'holder','token')";
        ids += (i == 0 ? "" : ",") + std::string(id);
    }
    return "INSERT INTO peer (r,k,holder,token) VALUES " + values +
           ";DELETE FROM peer WHERE r=1 AND k IN (" + ids + ")";
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

void make_peer_table(boost::asio::io_context& context, const ConnectOptions& to_server) {
    ConnectOptions first = to_server;
    first.database.clear();
    bool is_made = false;
    Connection connection(context, first, {nullptr, nullptr});
    connection.open();
    connection.query(
        "CREATE DATABASE latchd;"
        "CREATE TABLE latchd.peer (r INT,k VARBINARY(64),holder VARBINARY(64),"
        "token VARBINARY(64),PRIMARY KEY (r,k)) ENGINE=InnoDB",
        [&](Answer&& answer) { is_made = answer.is_good(); });
    wait_for(context, [&] { return is_made; });
}

void place(boost::asio::io_context& context, const ConnectOptions& to_server) {
    bool is_placed = false;
    bool is_tried = true;
    Connection connection(context, to_server, {nullptr, nullptr});
    connection.open();
    // The store makes the table meanwhile.
    wait_for(context, [&] {
        if (std::exchange(is_tried, false)) {
            connection.query(
                "INSERT INTO placement (cluster,name,since_epoch,state,nonce,"
                "store,since_ms,body) VALUES ('c','main',7,'open','n','m',0,'')",
                [&](Answer&& answer) {
                    is_placed = answer.is_good();
                    is_tried = !is_placed;
                });
        }
        return is_placed;
    });
}

}  // namespace

int main(int argc, char** argv) {
    if (!latchd::testing::MysqlProcess::is_installed()) return 77;
    latchd::testing::MysqlProcess server;
    server.start();
    boost::asio::io_context context{1};
    const ConnectOptions to_server = server_options(server);
    make_peer_table(context, to_server);
    Options options;
    options.server = to_server;
    options.cluster = "c";
    options.node = NodeName("bench");
    if (argc > 1 && std::strcmp(argv[1], "optimistic") == 0) {
        options.strategy = Strategy::optimistic;
    } else if (argc > 1 && std::strcmp(argv[1], "pessimistic") == 0) {
        options.strategy = Strategy::pessimistic;
    }
    auto crowd = std::make_unique<Crowd>(context, options);
    place(context, to_server);
    crowd->serve();
    std::vector<double> ours;
    std::vector<double> batched;
    std::vector<double> unbatched;
    const int rounds = argc > 2 ? std::atoi(argv[2]) : rounds_usual;
    for (int round = 0; round < rounds; ++round) {
        ours.push_back(crowd->run());
        batched.push_back(peer(context, to_server, 1, 64, [](std::size_t c, std::size_t n) {
            return rows_text(c, n, 64);
        }));
        unbatched.push_back(peer(context, to_server, 20, 1, [](std::size_t c, std::size_t n) {
            return rows_text(c, n, 1);
        }));
    }
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    std::printf("data in %s, flush at commit, %zu clients, %zu connections\n",
                server.folder().c_str(),
                clients,
                options.connections);
    std::printf("latchd                          %8.0f cycles/s\n", median(ours));
    std::printf("INSERT+DELETE, 64 at a time, 1  %8.0f cycles/s, ratio %.2f\n",
                median(batched),
                median(ours) / median(batched));
    std::printf("INSERT+DELETE, one each, 20     %8.0f cycles/s, ratio %.2f\n",
                median(unbatched),
                median(ours) / median(unbatched));
    return 0;
}
