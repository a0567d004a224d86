// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"
#include "outcome.hpp"
#include "text.hpp"

#include <latchd/command/dispatcher.hpp>

#include <algorithm>
#include <array>

namespace latchd::command {
namespace {

constexpr std::size_t slow_arguments_max = 16;
constexpr std::size_t slow_bytes_max = 128;

constexpr std::string_view noauth = "NOAUTH Authentication required.";

// Redis formats the name and the arguments as C strings, so a NUL ends each; its limits are 128
// bytes for the name and for the arguments together.
std::string_view until_nul(std::string_view text) noexcept {
    return text.substr(0, text.find('\0'));
}

// The first lines of an HTTP request: a browser that was led here by a web page may not talk to
// latchd. The connection is closed without a word, as Redis does.
bool is_http(std::string_view name) noexcept {
    return equals_ignoring_case(name, "POST") || equals_ignoring_case(name, "Host:");
}

std::string unknown_command(Arguments args) {
    static constexpr std::size_t shown_max = 128;
    std::string shown;
    for (std::size_t i = 1; i < args.size() && shown.size() < shown_max; ++i) {
        const std::string_view argument = args[i].substr(0, shown_max - shown.size());
        shown += "'";
        shown += until_nul(argument);
        shown += "' ";
    }
    std::string text = "ERR unknown command '";
    text += until_nul(args[0].substr(0, shown_max));
    return text += "', with args beginning with: " + shown;
}

std::string unknown_subcommand(const Command& container, std::string_view name) {
    std::string text = "ERR unknown subcommand '";
    text += until_nul(name.substr(0, 128));
    return text += "'. Try " + upper(container.name) + " HELP.";
}

std::string wrong_arity(const Command& command) {
    return "ERR wrong number of arguments for '" + std::string(command.name) + "' command";
}

// Which arguments of a command may be shown in SLOWLOG: of UNLOCK and RENEW not the token, of
// CANCEL and LOCK … REQ not the request id.
std::vector<std::string> masked(const Command& command, Arguments args) {
    std::vector<std::string> shown;
    for (std::size_t i = 0; i < args.size() && i < slow_arguments_max; ++i) {
        const bool secret_place = (command.has(flag_secret) && i > 0) ||
                                  (i == 3 && (command.name == "unlock" || command.name == "renew" ||
                                              command.name == "cancel")) ||
                                  (i > 3 && equals_ignoring_case(args[i - 1], "REQ"));
        shown.emplace_back(secret_place ? std::string_view("***")
                                        : args[i].substr(0, slow_bytes_max));
    }
    return shown;
}

}  // namespace

ClientName name_of(const ClientState& state) {
    if (state.name.empty()) return ClientName(state.peer);
    return ClientName(state.peer + " " + state.name);
}

bool is_trusted(const ClientState& state, const Options& options) noexcept {
    return options.password.empty() || state.authenticated;
}

void Context::start(core::ClientCommand command_of_core, std::string subject, bool may_overlap) {
    disposition.kind = Disposition::Kind::started;
    disposition.started.emplace(Started{
        .command = std::move(command_of_core),
        .pending = {.command = &command,
                    .proto = client.proto,
                    .started = services.host.now(),
                    .subject = std::move(subject)},
        .may_overlap = may_overlap,
    });
    ++client.unanswered;
}

class Dispatcher::Impl {
public:
    Impl(Options options, Host& host)
        : services_{.options = std::move(options),
                    .host = host,
                    .table = {},
                    .statistics = {},
                    .slow_log = SlowLog(0),
                    .latency_log = {},
                    .subscriptions = {}} {
        services_.slow_log = SlowLog(services_.options.slowlog_max);
    }

    Disposition run(ClientState& state, Arguments args, std::uint64_t slot, std::string& out);
    void finish(ClientState& state,
                const Pending& pending,
                const core::Outcome& outcome,
                std::string& out);
    void gone(const ClientState& state);
    void publish(const core::Happened& happened);
    void push_to_holder(ClientId id, const core::Happened& happened);

    Services& services() noexcept { return services_; }

private:
    // The command to run, or nullptr after an error was written.
    const Command* look_up(Arguments args, Context& context);
    bool may_run(const Command& command, Context& context);
    void note_call(const Command& command, Context& context, Time began);
    void add_slow(Duration took, std::vector<std::string> arguments, const ClientState& state);

    Services services_;
};

const Command* Dispatcher::Impl::look_up(Arguments args, Context& context) {
    const Command* command = services_.table.find(args[0]);
    if (command == nullptr) {
        context.error(unknown_command(args));
        return nullptr;
    }
    if (!command->subcommands.empty() && args.size() > 1) {
        const Command* subcommand = find_subcommand(*command, args[1]);
        if (subcommand == nullptr) {
            context.error(unknown_subcommand(*command, args[1]));
            return nullptr;
        }
        command = subcommand;
    }
    if (!arity_fits(*command, args.size())) {
        ++services_.statistics.of(*command).rejected;
        context.error(wrong_arity(*command));
        return nullptr;
    }
    return command;
}

bool Dispatcher::Impl::may_run(const Command& command, Context& context) {
    if (!is_trusted(context.client, services_.options) && !command.has(flag_no_auth)) {
        context.error(noauth);
    } else if (context.client.subscribe_mode() && !command.has(flag_in_subscribe)) {
        context.error("ERR Can't execute '" + std::string(command.name) +
                      "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed "
                      "in this context");
    } else {
        return true;
    }
    ++services_.statistics.of(command).rejected;
    return false;
}

Disposition Dispatcher::Impl::run(ClientState& state,
                                  Arguments args,
                                  std::uint64_t slot,
                                  std::string& out) {
    static constexpr Command none{};
    if (is_http(args.front())) return {.kind = Disposition::Kind::close_after_flush, .started = {}};
    const std::size_t reply_begin = out.size();
    const ReplyMode mode = state.reply_mode;
    Context probe{services_, state, none, args, slot, out};
    const Command* command = look_up(args, probe);
    if (command != nullptr && command->has(flag_alone) && state.unanswered > 0) {
        return {.kind = Disposition::Kind::postponed, .started = {}};
    }
    services_.statistics.count_processed();
    ++state.commands;
    // SKIP is for one command, whatever comes of it.
    if (mode == ReplyMode::skip_next) state.reply_mode = ReplyMode::on;
    Disposition disposition;
    if (command != nullptr && may_run(*command, probe)) {
        const Time began = services_.host.now();
        state.last_command = began;
        state.last_verb = command->name;
        Context context{services_, state, *command, args, slot, out};
        command->handler(context);
        disposition = std::move(context.disposition);
        if (!disposition.started) note_call(*command, context, began);
    }
    if (mode != ReplyMode::on) {
        if (disposition.started) {
            disposition.started->pending.silent = true;
        } else if (state.reply_mode != ReplyMode::on || mode == ReplyMode::skip_next) {
            out.resize(reply_begin);
        }
    }
    return disposition;
}

void Dispatcher::Impl::note_call(const Command& command, Context& context, Time began) {
    const Duration took = services_.host.now() - began;
    CommandCounts& counts = services_.statistics.of(command);
    ++counts.calls;
    counts.usec += static_cast<std::uint64_t>(took.count());
    counts.took.add(took);
    if (context.failed) ++counts.failed;
    const Duration limit = services_.options.slower_than;
    if (limit >= Duration::zero() && took >= limit) {
        add_slow(took, masked(command, context.args), context.client);
    }
}

void Dispatcher::Impl::add_slow(Duration took,
                                std::vector<std::string> arguments,
                                const ClientState& state) {
    services_.slow_log.add({.unix_seconds = services_.host.wall_usec() / 1'000'000,
                            .took = took,
                            .arguments = std::move(arguments),
                            .address = state.peer,
                            .name = state.name});
}

void Dispatcher::Impl::finish(ClientState& state,
                              const Pending& pending,
                              const core::Outcome& outcome,
                              std::string& out) {
    const Duration took = services_.host.now() - pending.started;
    CommandCounts& counts = services_.statistics.of(*pending.command);
    ++counts.calls;
    counts.usec += static_cast<std::uint64_t>(took.count());
    counts.took.add(took);
    if (state.unanswered > 0) --state.unanswered;
    if (pending.waits && state.waiting > 0) --state.waiting;
    // The time of a LOCK that waits is the holder's, not the store's: it is not slow.
    const Duration limit = services_.options.slower_than;
    if (!pending.waits && limit >= Duration::zero() && took >= limit) {
        std::vector<std::string> shown = {upper(pending.command->name)};
        if (!pending.subject.empty()) {
            const std::size_t blank = pending.subject.find(' ');
            shown.push_back(pending.subject.substr(0, blank));
            shown.push_back(pending.subject.substr(blank + 1, slow_bytes_max));
        }
        add_slow(took, std::move(shown), state);
    }
    if (const auto* error = std::get_if<core::Error>(&outcome)) {
        ++counts.failed;
        services_.statistics.count_error(word_of(error->word));
    }
    if (pending.silent) return;
    write_outcome(outcome, pending.explain, {out, protocol_of(pending.proto)});
}

void Dispatcher::Impl::gone(const ClientState& state) {
    for (const std::string& channel : state.channels) {
        services_.subscriptions.drop_channel(channel, state.id);
    }
    for (const std::string& pattern : state.patterns) {
        services_.subscriptions.drop_pattern(pattern, state.id);
    }
}

void Dispatcher::Impl::publish(const core::Happened& happened) {
    Host& host = services_.host;
    const std::string channel = "latchd:events:" + happened.key.resource.str();
    const std::string text = event_text(happened);
    std::string bytes;
    services_.subscriptions.visit(channel, [&](ClientId id, std::string_view pattern) {
        const ClientState* client = host.find_client(id);
        if (client == nullptr) return;
        bytes.clear();
        resp::Writer message(bytes, protocol_of(client->proto));
        message.push(pattern.empty() ? 3 : 4);
        message.bulk(pattern.empty() ? "message" : "pmessage");
        if (!pattern.empty()) message.bulk(pattern);
        message.bulk(channel);
        message.bulk(text);
        host.push(id, bytes);
    });
    for (const ClientId id : happened.holders) push_to_holder(id, happened);
}

void Dispatcher::Impl::push_to_holder(ClientId id, const core::Happened& happened) {
    const ClientState* const holder = services_.host.find_client(id);
    if (holder == nullptr || !holder->events_push || holder->proto != 3) return;
    std::string bytes;
    resp::Writer message(bytes, resp::Protocol::resp3);
    message.push(7);
    message.bulk("latchd");
    message.bulk(name_of(happened.kind));
    message.bulk(happened.key.resource.view());
    message.bulk(happened.key.id.view());
    message.integer(static_cast<std::int64_t>(happened.fence));
    message.bulk(happened.owner.view());
    message.bulk(happened.reason);
    services_.host.push(id, bytes);
}

Dispatcher::Dispatcher(Options options, Host& host)
    : impl_(std::make_unique<Impl>(std::move(options), host)) {}

Dispatcher::~Dispatcher() = default;

Disposition Dispatcher::run(ClientState& state,
                            Arguments args,
                            std::uint64_t slot,
                            std::string& out) {
    return impl_->run(state, args, slot, out);
}

void Dispatcher::finish(ClientState& state,
                        const Pending& pending,
                        const core::Outcome& outcome,
                        std::string& out) {
    impl_->finish(state, pending, outcome, out);
}

void Dispatcher::gone(const ClientState& state) { impl_->gone(state); }

void Dispatcher::publish(const core::Happened& happened) { impl_->publish(happened); }

void Dispatcher::write_error(std::string_view text, std::string& out) {
    impl_->services().statistics.count_error(text);
    resp::Writer(out, resp::Protocol::resp2).error(text);
}

void Dispatcher::note_latency(std::string_view event, Duration took) {
    Services& services = impl_->services();
    if (took < services.options.latency_min) return;
    services.latency_log.add(
        event, {.unix_seconds = services.host.wall_usec() / 1'000'000, .ms = to_ms(took)});
}

std::uint64_t Dispatcher::commands_processed() const noexcept {
    return impl_->services().statistics.processed();
}

std::uint64_t Dispatcher::error_replies() const noexcept {
    return impl_->services().statistics.error_replies();
}

const Options& Dispatcher::options() const noexcept { return impl_->services().options; }

}  // namespace latchd::command
