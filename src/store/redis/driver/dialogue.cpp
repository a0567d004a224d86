// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "../dialect/authority.hpp"
#include "access.hpp"
#include "driver.hpp"

#include <latchd/resp/command_writer.hpp>
#include <latchd/telemetry/log.hpp>

#include <utility>
#include <variant>

// Who is there, and what the authority asks for. The identity comes before anything else; then, in
// one write: the end of former connections, the authority's scripts, record and marker. Redis
// executes a connection's commands in order, so whatever follows a CLIENT KILL comes after the last
// command of the connection that it ended.
namespace latchd::store::redis {

namespace authority = core::authority;
using telemetry::Level;

namespace {

// CLIENT SETNAME takes no blanks, line ends or other special characters.
std::string client_name(const NodeName& node) {
    std::string name = "latchd:" + node.str();
    for (char& c : name) {
        if (c < '!' || c > '~') c = '_';
    }
    return name;
}

Level level_of(core::Notice::Level level) {
    switch (level) {
        case core::Notice::Level::debug:
            return Level::debug;
        case core::Notice::Level::info:
            return Level::info;
        case core::Notice::Level::warning:
            return Level::warning;
        case core::Notice::Level::error:
            return Level::error;
    }
    return Level::error;
}

}  // namespace

void Driver::greet() {
    std::string& out = link_->out();
    if (!options_.password.empty()) {
        if (options_.username.empty()) {
            resp::append_command(out, {"AUTH", options_.password});
        } else {
            resp::append_command(out, {"AUTH", options_.username, options_.password});
        }
        expect(Kind::greeting);
    }
    if (options_.database != 0) {
        resp::append_command(out, {"SELECT", std::to_string(options_.database)});
        expect(Kind::greeting);
    }
    resp::append_command(out, {"CLIENT", "SETNAME", client_name(options_.node)});
    expect(Kind::wish);
    resp::append_command(out, {"CLIENT", "ID"});
    expect(Kind::client_id);
    ask_identity(false);
}

void Driver::greeted(const resp::Value& value) {
    if (value.is(resp::Value::Type::error)) drop(with_missing_rule(value.string, user()));
}

void Driver::ask_identity(bool is_patient) {
    const std::size_t parts = append_identity(link_->out());
    for (std::size_t i = 1; i <= parts; ++i) {
        Pending& pending = expect(Kind::identity);
        pending.is_patient = is_patient;
        pending.is_last = i == parts;
    }
}

void Driver::identity_part(const Pending& pending, const resp::Value& value) {
    if (value.is(resp::Value::Type::error)) return drop(with_missing_rule(value.string, user()));
    identity_text_ += value.string;
    identity_text_ += "\r\n";
    if (!pending.is_last) return;
    auto server = read_identity(identity_text_);
    identity_text_.clear();
    if (!server) return drop("INFO shows no run id, role or replication id");
    identified(std::move(*server));
}

void Driver::identified(ServerInfo&& server) {
    if (!server.mode.empty() && server.mode != "standalone") {
        return drop("the server runs in mode " + server.mode + ", locks need a standalone one");
    }
    server_ = std::move(server);
    const bool is_evicting =
        !server_.maxmemory_policy.empty() && server_.maxmemory_policy != "noeviction";
    if (is_evicting && !policy_warned_) {
        telemetry::log(Level::warning,
                       "store.evicting",
                       options_.name + ": maxmemory-policy " + server_.maxmemory_policy +
                           " may drop locks; set it to noeviction");
    }
    policy_warned_ = is_evicting;
    is_identified_ = true;
    tell(authority::Identified{server_.identity});
}

// Ids start low again after a restart: only ids of this very process are killed, and only
// connections of our own user. Without a former one the command shows whether it is allowed.
void Driver::kill_former() {
    is_kill_sent_ = true;
    if (client_id_ == 0) {
        kill_works_ = false;
        former_.clear();
        return;
    }
    kill_works_ = true;
    std::erase_if(
        former_, [this](const Former& former) { return former.run_id != server_.identity.run_id; });
    // A connection never kills itself: CLIENT KILL skips the caller.
    if (former_.empty()) former_.push_back({server_.identity.run_id, client_id_});
    for (Former& former : former_) {
        resp::append_command(
            link_->out(),
            {"CLIENT", "KILL", "ID", std::to_string(former.client_id), "USER", user()});
        expect(Kind::kill);
        killing_.push_back(std::move(former));
    }
    former_.clear();
}

void Driver::killed(const resp::Value& value) {
    killing_.pop_front();
    if (!value.is(resp::Value::Type::error)) return;
    if (kill_works_) {
        telemetry::log(Level::warning,
                       "store.kill_refused",
                       options_.name + ": " + with_missing_rule(value.string, user()) +
                           "; operations in doubt get tombstones instead");
    }
    kill_works_ = false;
}

void Driver::load_authority() {
    if (authority_loaded_) return;
    const std::size_t count = authority_scripts_.append_load_authority(link_->out());
    for (std::size_t i = 0; i < count; ++i) expect(Kind::load_authority);
    authority_loaded_ = true;
}

void Driver::script_loaded(Kind kind, const resp::Value& value) {
    if (value.is(resp::Value::Type::error)) {
        const Refusal refusal = read_error(value.string);
        const std::string text = with_missing_rule(refusal.text, user());
        if (refusal.cause == Cause::access) {
            telemetry::log(Level::error, "store.no_permission", options_.name + ": " + text);
        }
        return drop("SCRIPT LOAD: " + text);
    }
    if (kind != Kind::load_locks || loads_awaited_ == 0 || --loads_awaited_ != 0) return;
    try_open();
}

void Driver::authority_answered(const resp::Value& value) {
    auto answer = read_authority(value);
    if (const auto* refusal = std::get_if<Refusal>(&answer)) {
        const std::string text = with_missing_rule(refusal->text, user());
        if (refusal->cause == Cause::role || refusal->cause == Cause::loading) return drop(text);
        if (refusal->cause == Cause::script_missing) authority_loaded_ = false;
        last_error_ = text;
        return tell(authority::AttemptFailed{text});
    }
    auto& view = std::get<AuthorityView>(answer);
    if (!view.damaged.empty()) {
        return tell(authority::AttemptFailed{"the key " + view.damaged +
                                             " can't be understood; delete it if nothing else "
                                             "wrote it"});
    }
    tell(authority::Seen{std::move(view.sight)});
}

// Actions may lead to events at once (a connection that is dropped): they queue.
void Driver::tell(authority::AuthorityEvent&& event) {
    events_.push_back(std::move(event));
    if (is_telling_) return;
    is_telling_ = true;
    while (!events_.empty()) {
        authority::AuthorityEvent next = std::move(events_.front());
        events_.pop_front();
        authority::AuthorityActions actions;
        machine_.step(
            {now(), authority::WallMs{surroundings_.wall_ms()}}, std::move(next), actions);
        for (auto& action : actions) {
            std::visit([this](auto&& each) { act(std::move(each)); }, std::move(action));
        }
    }
    is_telling_ = false;
    arm();
}

void Driver::act(authority::LookUp&& action) {
    if (!link_) return;
    if (action.with_identity) {
        ask_identity(false);
        authority_loaded_ = false;  // the doubt may come from a flushed script cache
    }
    if (!is_kill_sent_) kill_former();
    load_authority();
    append_authority_read(link_->out(), keys_, authority_scripts_);
    expect(Kind::authority);
}

void Driver::act(authority::Settle&& action) {
    if (!link_) return;
    append_settle(link_->out(), keys_, authority_scripts_, action);
    expect(Kind::authority);
}

void Driver::act(authority::Open&& action) {
    if (!link_) return;
    append_open(link_->out(), keys_, authority_scripts_, action);
    expect(Kind::authority);
}

void Driver::act(authority::Serve&& action) {
    if (!link_) return;
    is_serving_ = true;
    is_settling_ = false;
    counter_seen_ = action.same_epoch ? std::max(counter_seen_, action.counter) : action.counter;
    if (!action.same_epoch) {
        clock_.rebase();
        pulse_.reset();  // the first good probe in this epoch opens it
    }
    if (action.won) {
        is_sweeping_ = true;
        sweep_cursor_ = sweep_count_ = 0;
        sweep_at_ = now();
    }
    scripts_ = Scripts(action.record.epoch, action.record.nonce.view());
    ++load_serial_;
    if (!action.same_epoch) epoch_serial_ = load_serial_;
    loads_awaited_ = scripts_.append_load_locks(link_->out());
    for (std::size_t i = 0; i < loads_awaited_; ++i) expect(Kind::load_locks);
    if (is_open_) {
        // Nothing but the script cache was lost; what was refused goes again, in its order.
        resend_held();
    } else {
        send_probe();
    }
}

void Driver::act(authority::StopServing&& action) {
    is_serving_ = false;
    is_settling_ = action.settling;
    last_error_ = action.reason;
    close_store(action.reason, action.settling);
    fail_held(action.reason);
}

void Driver::act(authority::DropConnection&& action) { drop(action.reason); }

void Driver::act(authority::SaveKnown&& action) {
    if (surroundings_.save) surroundings_.save(action.known);
}

void Driver::act(core::Notice&& action) {
    telemetry::log(level_of(action.level), action.event, options_.name + ": " + action.text);
}

void Driver::try_open() {
    if (is_open_ || !is_serving_ || loads_awaited_ != 0 || !pulse_.is_up()) return;
    is_open_ = true;
    backoff_.reset();
    last_error_ = "-";
    closed_for_.clear();
    telemetry::log(Level::info,
                   "store.opened",
                   options_.name + " (" + address() + "): epoch " +
                       std::to_string(scripts_.epoch()) + ", Redis " + server_.version);
    core::StoreOpened opened;
    opened.tier = "redis";
    opened.epoch = scripts_.epoch();
    opened.shared = true;
    opened.margin = options_.clock_margin;
    opened.kill_works = kill_works_;
    sink_.deliver(std::move(opened));
}

void Driver::close_store(const std::string& reason, bool settling) {
    if (!is_open_ && reason == closed_for_) return;
    if (is_open_) {
        telemetry::log(Level::warning, "store.closed", options_.name + ": " + reason);
    }
    is_open_ = false;
    closed_for_ = reason;
    sink_.deliver(core::StoreClosed{.reason = options_.name + ": " + reason, .settling = settling});
}

}  // namespace latchd::store::redis
