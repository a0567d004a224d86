// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "access.hpp"
#include "driver.hpp"

#include <latchd/resp/command_writer.hpp>
#include <latchd/telemetry/log.hpp>

#include <algorithm>
#include <utility>

// Who is there, scripts, and serving. The identity comes before anything else; then, in one write:
// the end of former connections, the authority's scripts, and what the authority asks. Redis
// executes a connection's commands in order, so whatever follows a CLIENT KILL comes after the last
// command of the connection that it ended.
namespace latchd::store::redis {

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

}  // namespace

void Driver::greet() {
    std::string& out = this->out();
    for (std::size_t left = link_->append_login(); left > 0; --left) expect(Kind::greeting);
    resp::append_command(out, {"CLIENT", "SETNAME", client_name(options_.node)});
    expect(Kind::wish);
    resp::append_command(out, {"CLIENT", "ID"});
    expect(Kind::client_id);
    ask_identity(false);
}

void Driver::greeted(const resp::Value& value) {
    if (!value.is(resp::Value::Type::error)) return;
    drop(with_missing_rule(value.string, user()), evidence_of(read_error(value.string).cause));
}

// A server that takes no connection says so as the first thing, whatever was asked.
void Driver::wish_answered(const resp::Value& value) {
    if (!value.is(resp::Value::Type::error)) return;
    const bool is_denied = value.string.starts_with("DENIED");
    if (!is_denied && !value.string.starts_with("ERR max number of clients")) return;
    drop(value.string, is_denied ? Evidence::access : Evidence::failed);
}

void Driver::ask_identity(bool is_patient) {
    const std::size_t parts = append_identity(out());
    for (std::size_t i = 1; i <= parts; ++i) {
        Pending& pending = expect(Kind::identity);
        pending.is_patient = is_patient;
        pending.is_last = i == parts;
    }
}

void Driver::identity_part(const Pending& pending, const resp::Value& value) {
    if (value.is(resp::Value::Type::error)) {
        return drop(with_missing_rule(value.string, user()),
                    evidence_of(read_error(value.string).cause));
    }
    identity_text_ += value.string;
    identity_text_ += "\r\n";
    if (!pending.is_last) return;
    auto server = read_identity(identity_text_);
    identity_text_.clear();
    if (!server) return drop("INFO shows no run id, role or replication id");
    identified(std::move(*server));
}

void Driver::identified(ServerInfo&& server) {
    if (const std::string reason = why_unfit(server); !reason.empty()) return drop(reason);
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
    const bool is_first = !is_identified_;
    is_identified_ = true;
    authority_.identified(is_first);
}

// Ids start low again after a restart: only ids of this very process are killed, and only
// connections of our own user. Without a former one the command shows whether it is allowed.
void Driver::kill_former() {
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
            out(), {"CLIENT", "KILL", "ID", std::to_string(former.client_id), "USER", user()});
        expect(Kind::kill);
        killing_.push_back(std::move(former));
    }
    former_.clear();
}

void Driver::killed(const resp::Value& value) {
    killing_.pop_front();
    if (!value.is(resp::Value::Type::error)) return kill_refusal_.clear();
    kill_refused(with_missing_rule(value.string, user()));
}

// Until a later connection shows that it is allowed.
void Driver::kill_refused(std::string why) {
    kill_works_ = false;
    if (std::exchange(kill_refusal_, std::move(why)) == kill_refusal_) return;
    telemetry::log(Level::warning, "store.kill_refused", options_.name + ": " + kill_warning());
}

std::string Driver::kill_warning() const {
    if (kill_refusal_.empty()) return {};
    return "until latchd connects anew operations in doubt get tombstones: " + kill_refusal_;
}

void Driver::load_authority() {
    if (authority_loaded_) return;
    const std::size_t count = authority_scripts_.append_load_authority(out());
    for (std::size_t i = 0; i < count; ++i) expect(Kind::load_authority);
    authority_loaded_ = true;
}

void Driver::script_loaded(Kind kind, const resp::Value& value) {
    if (value.is(resp::Value::Type::error)) {
        const Refusal refusal = read_error(value.string);
        const std::string text = with_missing_rule(refusal.text, user());
        const std::string reason = "SCRIPT LOAD: " + text;
        if (refusal.cause == Cause::access && reason != last_error_) {
            telemetry::log(Level::error, "store.no_permission", options_.name + ": " + text);
        }
        return drop(reason, evidence_of(refusal.cause));
    }
    if (kind != Kind::load_locks || loads_awaited_ == 0 || --loads_awaited_ != 0) return;
    try_open();
}

void Driver::serve(Serving&& serving) {
    if (!is_identified()) return;
    is_serving_ = true;
    counter_seen_ = serving.same_epoch ? std::max(counter_seen_, serving.counter) : serving.counter;
    if (serving.clock) {
        clock_.seed(now(), *serving.clock);
    } else if (!serving.same_epoch) {
        clock_.rebase();
    }
    if (serving.is_fresh) is_probed_ = false;  // the first good probe opens
    if (serving.sweeps) {
        is_sweeping_ = true;
        sweep_cursor_ = sweep_count_ = 0;
        sweep_at_ = now();
    }
    append_gathered();  // of the epoch that it was submitted in
    scripts_ = Scripts(serving.epoch, serving.nonce);
    ++load_serial_;
    if (!serving.same_epoch) epoch_serial_ = load_serial_;
    loads_awaited_ = scripts_.append_load_locks(out());
    for (std::size_t i = 0; i < loads_awaited_; ++i) expect(Kind::load_locks);
    if (is_open_) {
        // Nothing but the script cache was lost; what was refused goes again, in its order.
        resend_held();
    } else {
        send_probe();
    }
}

// Scripts carry epoch and nonce: what executes later than this is either of an epoch that is still
// the marker's, where it is an attempt like any other, or it is refused.
void Driver::withdraw() {
    is_serving_ = false;
    is_open_ = false;
    is_sweeping_ = false;
    reloading_ = false;
    ++withdrawals_;
    gathered_.clear();
    held_.clear();
    clock_refused_.clear();
    replicas_.withdraw();
    for (Pending& pending : pending_) {
        if (!pending.request && pending.many.empty()) continue;
        pending.request.reset();
        pending.many.clear();
        pending.kind = Kind::withdrawn;
    }
    in_flight_ = 0;
}

void Driver::try_open() {
    if (is_open_ || !is_serving_ || loads_awaited_ != 0 || !is_probed_) return;
    is_open_ = true;
    denial_told_.clear();
    went_well();
    telemetry::log(Level::info,
                   "store.opened",
                   options_.name + " (" + address() + "): epoch " +
                       std::to_string(scripts_.epoch()) + ", Redis " + server_.version);
    authority_.opened();
}

}  // namespace latchd::store::redis
