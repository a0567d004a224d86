// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "mysql_tier_fixture.hpp"

#include <latchd/runtime/clock.hpp>

namespace latchd::testing {

namespace authority = core::authority;
using namespace store::mysql;
using std::chrono::seconds;

TierHost::TierHost(boost::asio::io_context& context, Options options)
    : tier_(make_tier(
          context, std::move(options), [] { return runtime::boot_time(); }, 1, *this, *this)) {
    tier_->start();
}

TierHost::~TierHost() {
    if (tier_) tier_->stop();
}

void TierHost::deliver(core::Event&& event) {
    if (auto* replied = std::get_if<core::StoreReplied>(&event)) {
        const bool is_new = outcomes_.emplace(replied->id, std::move(replied->reply)).second;
        EXPECT_TRUE(is_new) << "answered twice";
    } else if (auto* failed = std::get_if<core::StoreFailed>(&event)) {
        const bool is_new = outcomes_.emplace(failed->id, std::move(*failed)).second;
        EXPECT_TRUE(is_new) << "answered twice";
    } else if (auto* message = std::get_if<core::NodeMessage>(&event)) {
        messages.push_back(std::move(*message));
    } else if (std::holds_alternative<core::MessagesResumed>(event)) {
        ++resumed;
    }
}

void TierHost::happened(authority::FleetEvent&& event) { events.push_back(std::move(event)); }

core::OperationId TierHost::submit(core::Operation operation) {
    const core::OperationId id{++ids_};
    tier_->submit(id, std::move(operation));
    return id;
}

void MysqlTierTest::TearDown() {
    hosts_.clear();
    MysqlTest::TearDown();
}

Options MysqlTierTest::tier_options(const std::string& node) const {
    Options tier;
    tier.server = options();
    tier.check.timeout = seconds(5);  // a late probe would be evidence
    tier.cluster = "c";
    tier.node = NodeName(node);
    return tier;
}

TierHost& MysqlTierTest::make(const Options& options) {
    hosts_.push_back(std::make_unique<TierHost>(context_, options));
    return *hosts_.back();
}

void MysqlTierTest::serve(TierHost& host, Epoch epoch, const std::string& nonce) {
    const std::size_t before = host.count<authority::TierReady>();
    const auto is_ready = [&] { return host.count<authority::TierReady>() > before; };
    while (!is_ready()) {
        ASSERT_TRUE(run_until([&] { return host.has_told<authority::TierProbed>(); }));
        authority::TierServe serve;
        serve.tier = 1;
        serve.epoch = epoch;
        serve.nonce = authority::Nonce(nonce);
        host.tier().act(std::move(serve));
        ASSERT_TRUE(
            run_until([&] { return is_ready() || !host.has_told<authority::TierProbed>(); }));
    }
}

TierHost& MysqlTierTest::serving(const Options& options) {
    place(7, "n", "open");
    TierHost& host = make(options);
    serve(host, 7, "n");
    return host;
}

TierHost& MysqlTierTest::serving(const std::string& node) { return serving(tier_options(node)); }

core::Acquire MysqlTierTest::acquire(const std::string& id) {
    core::Acquire wish;
    wish.key = {ResourceName("r"), LockId(id)};
    const std::string number = std::to_string(++number_);
    wish.request = RequestId("request-" + number);
    wish.token = Token("token-" + number);
    wish.attempt = {1, number_};
    wish.node = NodeName("a");
    wish.ttl = seconds(30);
    wish.retry_window = seconds(15);
    return wish;
}

core::OperationReply MysqlTierTest::reply(TierHost& host, core::OperationId id) {
    EXPECT_TRUE(run_until([&] { return host.is_answered(id); }));
    if (!host.is_answered(id)) return {};
    auto& outcome = host.outcomes_.at(id);
    if (const auto* failed = std::get_if<core::StoreFailed>(&outcome)) {
        ADD_FAILURE() << "failed: " << static_cast<int>(failed->failure) << ' ' << failed->text;
        return {};
    }
    return std::get<core::OperationReply>(outcome);
}

core::StoreFailed MysqlTierTest::failure(TierHost& host, core::OperationId id) {
    EXPECT_TRUE(run_until([&] { return host.is_answered(id); }));
    if (!host.is_answered(id)) return {};
    auto& outcome = host.outcomes_.at(id);
    if (const auto* failed = std::get_if<core::StoreFailed>(&outcome)) return *failed;
    ADD_FAILURE() << "replied: "
                  << static_cast<int>(std::get<core::OperationReply>(outcome).reply.status);
    return {};
}

core::OperationReply MysqlTierTest::insist(TierHost& host,
                                           const core::Operation& operation,
                                           const std::function<void(int)>& once_submitted) {
    for (int attempt = 0; attempt < 20; ++attempt) {
        if (!host.has_told<authority::TierReady>()) serve(host, 7, "n");
        if (HasFatalFailure()) return {};
        const auto id = host.submit(operation);
        once_submitted(attempt);
        EXPECT_TRUE(run_until([&] { return host.is_answered(id); }));
        if (!host.is_answered(id)) return {};
        const auto* replied = std::get_if<core::OperationReply>(&host.outcomes_.at(id));
        if (replied != nullptr) return *replied;
    }
    ADD_FAILURE() << "no reply to any of 20 attempts";
    return {};
}

}  // namespace latchd::testing
