// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "configuration.hpp"

#include <latchd/config/command_line.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <exception>

namespace latchd::config {
namespace {

constexpr const char* default_file = "/etc/latchd/latchd.yaml";

// What CLI11 writes into. Values stay text: the key table reads them, as it does the file's.
struct Arguments {
    std::string config_file;
    bool check_config = false;
    bool dump_config = false;
    std::vector<std::string> listen;
    std::vector<std::string> store;
    std::string cluster;
    std::string node;
    std::string state_dir;
    std::string runtime_dir;
    std::string threads;
    std::string log_level;
    std::string log_target;
};

void declare_options(CLI::App& app, Arguments& to) {
    const auto text =
        [&](const char* name, std::string& value, const char* type, const char* help) {
            app.add_option(name, value, help)->type_name(type);
        };
    const auto texts = [&](const char* name,
                           std::vector<std::string>& values,
                           const char* type,
                           const char* help) {
        app.add_option(name, values, help)->type_name(type)->allow_extra_args(false);
    };
    text("-c,--config",
         to.config_file,
         "FILE",
         "configuration file (LATCHD_CONFIG, else /etc/latchd/latchd.yaml if it is there)");
    app.add_flag("-t,--check-config", to.check_config, "check the configuration and exit");
    app.add_flag(
        "--dump-config", to.dump_config, "print every value and where it came from, and exit");
    texts("--listen",
          to.listen,
          "ADDRESS",
          "host:port or unix:/path to serve clients on; repeatable (127.0.0.1:6385)");
    texts("--store",
          to.store,
          "URL",
          "redis://[user[:password]@]host[:port][/database], redis+unix:///path, "
          "mysql://[user[:password]@]host[:port]/database or local:; repeatable, in order of "
          "preference (local:)");
    text("--cluster", to.cluster, "NAME", "name shared by the nodes that keep locks together");
    text("--node", to.node, "NAME", "name of this node (host name and port)");
    text("--state-dir", to.state_dir, "DIR", "what must survive a restart of the host");
    text("--runtime-dir", to.runtime_dir, "DIR", "what must survive a restart of latchd");
    text("--threads", to.threads, "N", "event loops, each on a thread of its own (1)");
    text("--log-level", to.log_level, "LEVEL", "debug, info, warning or error");
    text("--log-target", to.log_target, "TARGET", "auto, journal, stderr or file:/path");
    app.set_help_flag("-h,--help", "print this and exit");
    app.set_version_flag("-V,--version", "latchd " LATCHD_VERSION, "print the version and exit");
    app.footer(
        "Exit codes: 64 wrong usage, 69 a listener, a folder or room is not to be had, 70 internal "
        "error, 78 wrong configuration.");
}

std::vector<Override> overrides_of(const CLI::App& app, const Arguments& from) {
    std::vector<Override> out;
    const auto one = [&](const char* option, const char* path, const std::string& text) {
        if (app.count(option) > 0) out.push_back({option, path, text});
    };
    const auto list = [&](const char* option,
                          const std::string& name,
                          const char* key,
                          const std::vector<std::string>& texts) {
        for (std::size_t i = 0; i < texts.size(); ++i) {
            out.push_back({option, name + "[" + std::to_string(i) + "]." + key, texts[i]});
        }
    };
    list("--listen", "listen", "address", from.listen);
    list("--store", "stores", "url", from.store);
    one("--cluster", "cluster", from.cluster);
    one("--node", "node", from.node);
    one("--state-dir", "state_dir", from.state_dir);
    one("--runtime-dir", "runtime_dir", from.runtime_dir);
    one("--threads", "threads", from.threads);
    one("--log-level", "log.level", from.log_level);
    one("--log-target", "log.target", from.log_target);
    return out;
}

// A file that was asked for must be there; the usual one need not.
std::string choose_file(const CLI::App& app, const Arguments& from, const Surroundings& around) {
    if (app.count("--config") > 0) return from.config_file;
    const auto named = around.variable("LATCHD_CONFIG").value_or("");
    if (!named.empty()) return named;
    const bool there = around.read_file(default_file).status != FileContent::Status::missing;
    return there ? default_file : "";
}

void refuse(Invocation& invocation, std::string text) {
    invocation.exit_code = exit_usage;
    invocation.diagnostics.push_back({.severity = Diagnostic::Severity::error,
                                      .origin = {.kind = Origin::Kind::command_line},
                                      .text = text});
    invocation.messages = "latchd: " + std::move(text) + "\nlatchd --help lists the options\n";
}

void run(Invocation& invocation,
         const CLI::App& app,
         const Arguments& from,
         const Surroundings& around) {
    if (from.check_config) invocation.action = Action::check_config;
    if (from.dump_config) invocation.action = Action::dump_config;
    if (from.check_config && from.dump_config) {
        return refuse(invocation, "--check-config and --dump-config exclude each other");
    }
    const auto file = choose_file(app, from, around);
    if (file.empty() && app.count("--config") > 0) {
        return refuse(invocation, "--config: the name of the file is empty");
    }
    auto configuration = configure(file, overrides_of(app, from), around);
    const bool valid = !has_errors(configuration.diagnostics);
    invocation.messages = render(configuration.diagnostics, configuration.file);
    if (!valid) {
        invocation.exit_code = exit_configuration;
    } else if (invocation.action == Action::check_config) {
        invocation.output = configuration.file.empty()
                                ? "no configuration file; the defaults are valid\n"
                                : configuration.file + " is valid\n";
    } else if (invocation.action == Action::dump_config) {
        invocation.output = dump(configuration);
    }
    invocation.options = std::move(configuration.options);
    invocation.config_file = std::move(configuration.file);
    invocation.diagnostics = std::move(configuration.diagnostics);
}

}  // namespace

Invocation parse_command_line(const std::vector<std::string>& arguments,
                              const Surroundings& surroundings) {
    Invocation invocation;
    CLI::App app("Lock service that any Redis client can talk to.", "latchd");
    try {
        Arguments values;
        declare_options(app, values);
        // CLI11 takes them from the back.
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
        run(invocation, app, values, surroundings);
    } catch (const CLI::CallForHelp&) {
        invocation.action = Action::help;
        invocation.output = app.help();
    } catch (const CLI::CallForVersion&) {
        invocation.action = Action::version;
        invocation.output = "latchd " LATCHD_VERSION "\n";
    } catch (const std::exception& error) {
        refuse(invocation, error.what());
    }
    return invocation;
}

}  // namespace latchd::config
