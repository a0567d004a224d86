// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"
#include "outcome.hpp"
#include "refusals.hpp"
#include "report.hpp"
#include "text.hpp"

#include <latchd/command/dispatcher.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace latchd::command {
namespace {

constexpr std::size_t slow_arguments_max = 16;
constexpr std::size_t slow_bytes_max = 128;

constexpr std::string_view events_prefix = "latchd:events:";
constexpr std::string_view noauth = "NOAUTH Authentication required.";

// The commands about locks; all others are answered from within their handler.
bool is_answered_by_core(const Command& command) noexcept {
    return (command.categories & category_lock) != 0 && !command.has(flag_admin) &&
           command.name.find('|') == std::string_view::npos;
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

void Context::set_pending(LockKey&& subject, bool may_overlap) {
    disposition.kind = Disposition::Kind::started;
    Started& started = *disposition.started;
    started.pending.command = &command;
    started.pending.proto = client.proto;
    started.pending.started = services.host.now();
    started.pending.subject = std::move(subject);
    started.may_overlap = may_overlap;
    ++client.unanswered;
}

Limits Context::limits() const {
    Limits limits = options();
    if (const auto agreed = host().limits()) {
        limits.ttl_max = agreed->ttl_max;
        limits.delay_max = agreed->delay_max;
    }
    return limits;
}

void Context::ask(Asked::Wish wish, bool number) {
    disposition.kind = Disposition::Kind::asked;
    disposition.asked.emplace(Asked{.wish = std::move(wish),
                                    .pending = {.command = &command,
                                                .proto = client.proto,
                                                .number = number,
                                                .started = services.host.now(),
                                                .subject = {}}});
    ++client.unanswered;
}

// A process of one loop never does: the handler then sees no others.
void Context::gather() {
    disposition.kind = Disposition::Kind::gathering;
    disposition.gathering.emplace(Gathering{.pending = {.command = &command,
                                                        .proto = client.proto,
                                                        .started = services.host.now(),
                                                        .subject = {}},
                                            .arguments = {args.begin(), args.end()}});
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
    void finish(ClientState& state,
                const Pending& pending,
                const FleetAnswer& answer,
                std::string& out);
    bool finish(ClientState& state,
                const Gathering& gathering,
                const Reports& reports,
                std::size_t silent,
                std::string& out);
    void gone(const ClientState& state);
    void publish(const core::Happened& happened);
    void publish(const core::authority::Changed& change);
    void push_to_holder(ClientId id, const core::Happened& happened);

    Services& services() noexcept { return services_; }

private:
    // The command to run, or nullptr after an error was written.
    const Command* look_up(Arguments args, Context& context);
    bool may_run(const Command& command, Context& context);
    void note_call(const Command& command, Context& context, Duration took);
    CommandCounts& note_end(ClientState& state, const Pending& pending, Duration took);
    void tell(const std::string& channel,
              ClientId id,
              std::string_view pattern,
              const std::string&);
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
    Disposition disposition;  // all returns name it, or it would be moved
    if (is_http(args.front())) {
        disposition.kind = Disposition::Kind::close_after_flush;
        return disposition;
    }
    const std::size_t reply_begin = out.size();
    const ReplyMode mode = state.reply_mode;
    Context probe{services_, state, none, args, slot, out, disposition};
    const Command* command = look_up(args, probe);
    if (command != nullptr && command->has(flag_alone) && state.unanswered > 0) {
        disposition.kind = Disposition::Kind::postponed;
        return disposition;
    }
    services_.statistics.count_processed();
    ++state.commands;
    // SKIP is for one command, whatever comes of it.
    if (mode == ReplyMode::skip_next) state.reply_mode = ReplyMode::on;
    if (command != nullptr && may_run(*command, probe)) {
        state.last_command = services_.host.now();
        state.last_verb = command->name;
        Context context{services_, state, *command, args, slot, out, disposition};
        // What the core answers is timed by the turns of the loop.
        const bool is_of_core = is_answered_by_core(*command);
        const Time began = is_of_core ? services_.host.now() : services_.host.read_clock();
        if (command->has(flag_gather) && services_.host.loops() > 1) {
            context.gather();
        } else {
            command->handler(context);
        }
        if (command->has(flag_pubsub)) services_.host.listens(!services_.subscriptions.empty());
        if (!disposition.started && !disposition.asked && !disposition.gathering) {
            const Time ended = is_of_core ? services_.host.now() : services_.host.read_clock();
            note_call(*command, context, ended - began);
        }
    }
    if (mode != ReplyMode::on) {
        if (disposition.started) {
            disposition.started->pending.silent = true;
        } else if (disposition.asked) {
            disposition.asked->pending.silent = true;
        } else if (disposition.gathering) {
            disposition.gathering->pending.silent = true;
        } else if (state.reply_mode != ReplyMode::on || mode == ReplyMode::skip_next) {
            out.resize(reply_begin);
        }
    }
    return disposition;
}

void Dispatcher::Impl::note_call(const Command& command, Context& context, Duration took) {
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

CommandCounts& Dispatcher::Impl::note_end(ClientState& state,
                                          const Pending& pending,
                                          Duration took) {
    CommandCounts& counts = services_.statistics.of(*pending.command);
    ++counts.calls;
    counts.usec += static_cast<std::uint64_t>(took.count());
    counts.took.add(took);
    if (state.unanswered > 0) --state.unanswered;
    if (pending.waits && state.waiting > 0) --state.waiting;
    return counts;
}

void Dispatcher::Impl::finish(ClientState& state,
                              const Pending& pending,
                              const FleetAnswer& answer,
                              std::string& out) {
    CommandCounts& counts = note_end(state, pending, services_.host.now() - pending.started);
    if (!answer.done) {
        ++counts.failed;
        services_.statistics.count_error(answer.text);
    }
    if (pending.silent) return;
    resp::Writer reply(out, protocol_of(pending.proto));
    if (!answer.done) {
        reply.error(answer.text);
    } else if (pending.number) {
        reply.integer(1);
    } else {
        reply.simple_string(answer.text);
    }
}

bool Dispatcher::Impl::finish(ClientState& state,
                              const Gathering& gathering,
                              const Reports& reports,
                              std::size_t silent,
                              std::string& out) {
    const Command& command = *gathering.pending.command;
    const std::vector<std::string_view> args(gathering.arguments.begin(),
                                             gathering.arguments.end());
    const std::size_t reply_begin = out.size();
    const int proto = std::exchange(state.proto, gathering.pending.proto);
    Disposition disposition;
    Context context{services_, state, command, args, 0, out, disposition};
    context.others = reports;
    context.silent = silent;
    const Time began = services_.host.read_clock();
    if (silent == 0 || command.has(flag_gather_some)) {
        command.handler(context);
    } else {
        std::string text = "ERR ";
        append_number(text, silent);
        text += " of ";
        append_number(text, services_.host.loops());
        context.error(text + " event loops of the process do not answer: nothing was done");
    }
    state.proto = proto;
    note_call(command, context, services_.host.read_clock() - began);
    if (state.unanswered > 0) --state.unanswered;
    if (gathering.pending.silent) out.resize(reply_begin);
    return context.disposition.kind == Disposition::Kind::close_after_flush;
}

void Dispatcher::Impl::finish(ClientState& state,
                              const Pending& pending,
                              const core::Outcome& outcome,
                              std::string& out) {
    const Duration took = services_.host.now() - pending.started;
    CommandCounts& counts = note_end(state, pending, took);
    // The time of a LOCK that waits is the holder's, not the store's: it is not slow.
    const Duration limit = services_.options.slower_than;
    if (!pending.waits && limit >= Duration::zero() && took >= limit) {
        std::vector<std::string> shown = {upper(pending.command->name)};
        if (!pending.subject.resource.empty()) {
            shown.push_back(pending.subject.resource.str());
            shown.emplace_back(pending.subject.id.view().substr(0, slow_bytes_max));
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
    if (state.subscriptions() > 0) services_.host.listens(!services_.subscriptions.empty());
}

void Dispatcher::Impl::tell(const std::string& channel,
                            ClientId id,
                            std::string_view pattern,
                            const std::string& text) {
    const ClientState* client = services_.host.find_client(id);
    if (client == nullptr) return;
    std::string bytes;
    resp::Writer message(bytes, protocol_of(client->proto));
    message.push(pattern.empty() ? 3 : 4);
    message.bulk(pattern.empty() ? "message" : "pmessage");
    if (!pattern.empty()) message.bulk(pattern);
    message.bulk(channel);
    message.bulk(text);
    services_.host.push(id, bytes);
}

void Dispatcher::Impl::publish(const core::Happened& happened) {
    const std::string channel = std::string(events_prefix) + happened.key.resource.str();
    const std::string text = event_text(happened);
    services_.subscriptions.visit(
        channel, [&](ClientId id, std::string_view pattern) { tell(channel, id, pattern, text); });
    for (const ClientId id : happened.holders) push_to_holder(id, happened);
}

// It is about every resource: who subscribed to one hears it there, who subscribed to a pattern
// once, under a name that stands for all.
void Dispatcher::Impl::publish(const core::authority::Changed& change) {
    const bool is_open = change.state == core::authority::RecordState::open;
    const std::string text = "failover - epoch=" + std::to_string(change.epoch) +
                             " state=" + (is_open ? "open" : "settling") + " tier=" + change.tier +
                             " " + change.reason;
    std::vector<std::string> channels;
    for (const auto& [channel, clients] : services_.subscriptions.channels()) {
        if (channel.starts_with(events_prefix)) channels.push_back(channel);
    }
    for (const std::string& channel : channels) {
        services_.subscriptions.visit(channel, [&](ClientId id, std::string_view pattern) {
            if (pattern.empty()) tell(channel, id, pattern, text);
        });
    }
    const std::string all = std::string(events_prefix) + "_all";
    services_.subscriptions.visit(all, [&](ClientId id, std::string_view pattern) {
        if (!pattern.empty()) tell(all, id, pattern, text);
    });
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

void Dispatcher::finish(ClientState& state,
                        const Pending& pending,
                        const FleetAnswer& answer,
                        std::string& out) {
    impl_->finish(state, pending, answer, out);
}

bool Dispatcher::finish(ClientState& state,
                        const Gathering& gathering,
                        const Reports& reports,
                        std::size_t silent,
                        std::string& out) {
    return impl_->finish(state, gathering, reports, silent, out);
}

std::shared_ptr<const Report> Dispatcher::report(const Gathering& gathering) {
    return make_report(impl_->services(), gathering);
}

void Dispatcher::publish(const core::Happened& happened) { impl_->publish(happened); }

void Dispatcher::publish(const core::authority::Changed& change) { impl_->publish(change); }

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
