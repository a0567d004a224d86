// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace latchd::test {

using std::chrono::milliseconds;

core::NodeOptions Member::options() const {
    core::NodeOptions options;
    options.name = name;
    options.incarnation = std::hash<std::string_view>{}(name.view()) & 0xffffff;
    options.tiers = tiers_;
    options.debug_notices = true;
    options.unpacked_max = 0;  // whatever can be packed is, by each step
    return options;
}

Member::Member(World& world, std::string node_name, std::vector<std::string> tiers)
    : name(std::move(node_name)),
      world_(world),
      tiers_(std::move(tiers)),
      names_(name.str() + "-"),
      node(options(), registry, names_) {}

core::Ticket Member::send(std::uint64_t client, core::ClientCommand command) {
    const core::Ticket ticket{ClientId{client}, ++slots_};
    std::visit(
        [&](auto& c) {
            c.ticket = ticket;
            feed(std::move(c));
        },
        command);
    return ticket;
}

void Member::feed(core::Event event) {
    events_.push_back(std::move(event));
    if (stepping_) return;
    stepping_ = true;
    while (!events_.empty()) {
        core::Event next = std::move(events_.front());
        events_.pop_front();
        core::Actions actions;
        node.step(world_.now, std::move(next), actions);
        carry_out(actions);
    }
    stepping_ = false;
}

void Member::carry_out(core::Actions& actions) {
    for (core::Action& action : actions) {
        if (auto* const answer = std::get_if<core::Answer>(&action)) {
            const auto [it, is_new] = outcomes_.try_emplace(
                {static_cast<std::uint64_t>(answer->ticket.client), answer->ticket.slot},
                answer->outcome);
            EXPECT_TRUE(is_new) << "answered twice: " << text_of(answer->outcome);
        } else if (auto* const submit_action = std::get_if<core::Submit>(&action)) {
            submit(submit_action->id, std::move(submit_action->operation));
        } else if (auto* const put = std::get_if<core::JournalPut>(&action)) {
            journal.insert_or_assign(put->record.key, put->record);
        } else if (auto* const drop = std::get_if<core::JournalDrop>(&action)) {
            journal.erase(drop->key);
        } else if (auto* const event = std::get_if<core::Happened>(&action)) {
            happened.push_back(*event);
        } else if (auto* const notice = std::get_if<core::Notice>(&action)) {
            notices.push_back(*notice);
        } else if (auto* const given = std::get_if<core::ClaimsGiven>(&action)) {
            claims.push_back(std::move(*given));
        } else if (auto* const given_uses = std::get_if<core::UsesGiven>(&action)) {
            uses.push_back(std::move(*given_uses));
        } else if (auto* const end = std::get_if<core::GrantEnded>(&action)) {
            ended.push_back(std::move(*end));
        } else if (auto* const what = std::get_if<core::Asserted>(&action)) {
            asserted.push_back(what->epoch);
        } else if (auto* const wish = std::get_if<core::StrictAsked>(&action)) {
            asked.push_back(std::move(*wish));
        } else {
            drained = true;
        }
    }
}

void Member::submit(core::OperationId id, core::Operation&& operation) {
    submitted.push_back(operation);
    if (link == Link::frozen) {
        queue_.emplace_back(id, std::move(operation));
        return;
    }
    core::OperationReply reply = world_.table.apply(world_.now, operation);
    if (link == Link::lose_answers) {
        queue_.emplace_back(id, std::move(operation));
    } else {
        events_.push_back(core::StoreReplied{id, std::move(reply)});
    }
    world_.tell(world_.table.take_told());
}

void Member::open(std::string tier, Duration margin, bool kill_works) {
    const bool shared = tier != "local";
    feed(core::StoreOpened{std::move(tier), world_.table.epoch(), shared, margin, kill_works});
}

core::Claims Member::hand_over(Epoch epoch) {
    feed(core::ClaimsWanted{epoch});
    queue_.clear();
    return claims.back().claims;
}

void Member::open_carried(std::string tier) {
    core::StoreOpened opened{std::move(tier), world_.table.epoch(), true, {}, true};
    opened.carried = true;
    feed(std::move(opened));
}

void Member::close(std::string reason, bool settling) {
    feed(core::StoreClosed{std::move(reason), settling});
}

void Member::thaw() {
    link = Link::instant;
    while (!queue_.empty()) {
        auto [id, operation] = std::move(queue_.front());
        queue_.pop_front();
        core::OperationReply reply = world_.table.apply(world_.now, operation);
        world_.tell(world_.table.take_told());
        feed(core::StoreReplied{id, std::move(reply)});
    }
}

void Member::break_off(core::Failure failure, const std::string& text) {
    const auto broken = std::exchange(queue_, {});
    for (const auto& [id, operation] : broken) feed(core::StoreFailed{id, failure, text});
}

void Member::answer_late(core::Reply reply) {
    const core::OperationId id = queue_.front().first;
    queue_.pop_front();
    feed(core::StoreReplied{id, {std::move(reply), std::nullopt, {}, 0}});
}

std::optional<core::Outcome> Member::outcome(const core::Ticket& ticket) const {
    const auto it = outcomes_.find({static_cast<std::uint64_t>(ticket.client), ticket.slot});
    if (it == outcomes_.end()) return std::nullopt;
    return it->second;
}

void World::load(Epoch epoch, const core::Claims& claims) {
    table = core::Table(epoch);
    for (const core::GrantRecord& record : claims.records) {
        EXPECT_EQ(table.apply(now, core::Restore{record, true}).reply.status,
                  core::Status::restored);
    }
    for (const core::CancelledRequest& cancelled : claims.cancelled) {
        core::Cancel bar{cancelled.key, cancelled.request, NodeName{}, cancelled.left};
        static_cast<void>(table.apply(now, bar));
    }
    static_cast<void>(table.take_told());
}

World::World(int nodes, const std::vector<std::string>& tiers) {
    for (int i = 0; i < nodes; ++i) {
        members.push_back(
            std::make_unique<Member>(*this, std::string(1, static_cast<char>('a' + i)), tiers));
        members.back()->open();
    }
}

void World::tell(const std::vector<core::Table::Told>& told) {
    for (const auto& [node, message] : told) {
        for (const auto& member : members) {
            if (member->hears_messages && (node.empty() || node == member->name)) {
                member->feed(core::NodeMessage(message));
            }
        }
    }
}

void World::advance(Duration by) {
    const Time until = now + by;
    for (;;) {
        std::optional<Time> next;
        Member* whose = nullptr;
        for (const auto& member : members) {
            const auto due = member->node.next_deadline();
            if (due && *due <= until && (!next || *due < *next)) {
                next = due;
                whose = member.get();
            }
        }
        if (whose == nullptr) break;
        now = std::max(now, *next);
        whose->feed(core::TimePassed{});
    }
    now = until;
}

core::LockCommand lock(const LockWords& words) {
    core::LockCommand command;
    command.key = key(words.id);
    if (words.ttl_ms > 0) command.ttl = milliseconds(words.ttl_ms);
    command.wait = milliseconds(words.wait_ms);
    command.owner = OwnerName(words.owner);
    if (!words.req.empty()) command.request = RequestId(words.req);
    command.keep = words.keep;
    command.release_on_close = words.onclose;
    if (words.maxhold_ms > 0) command.hold_max = milliseconds(words.maxhold_ms);
    if (words.delay_ms > 0) command.delay = milliseconds(words.delay_ms);
    if (words.expect_ms > 0) command.expect = milliseconds(words.expect_ms);
    command.require = words.require;
    return command;
}

core::UnlockCommand unlock(const std::string& token, const std::string& id) {
    core::UnlockCommand command;
    command.key = key(id);
    command.token = Token(token);
    return command;
}

core::RenewCommand renew(const std::string& token, int ttl_ms, bool keep) {
    core::RenewCommand command;
    command.key = key();
    command.token = Token(token);
    if (ttl_ms > 0) command.ttl = milliseconds(ttl_ms);
    command.keep = keep;
    return command;
}

std::string text_of(const std::optional<core::Outcome>& outcome) {
    static constexpr const char* words[] = {
        "ERR", "DEGRADED", "NOSTORE", "UNCERTAIN", "LOST", "QUEUEFULL", "LIMIT"};
    if (!outcome) return "pending";
    if (std::holds_alternative<core::Granted>(*outcome)) return "granted";
    if (std::holds_alternative<core::Refused>(*outcome)) return "nil";
    if (const auto* const number = std::get_if<core::Number>(&*outcome)) {
        return std::to_string(number->value);
    }
    if (const auto* const error = std::get_if<core::Error>(&*outcome)) {
        return std::string("-") + words[static_cast<int>(error->word)] + " " + error->text;
    }
    return std::holds_alternative<core::LockView>(*outcome) ? "view" : "list";
}

core::Granted granted(const std::optional<core::Outcome>& outcome) {
    EXPECT_EQ(text_of(outcome), "granted");
    if (!outcome || !std::holds_alternative<core::Granted>(*outcome)) return {};
    return std::get<core::Granted>(*outcome);
}

}  // namespace latchd::test
