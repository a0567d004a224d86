// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
// Fills in what depends on the host or on other keys, and reads the password files.
#include "configuration.hpp"
#include "schema.hpp"
#include "value.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <sys/stat.h>

namespace latchd::config {
namespace {

// A variable that is unset is empty; one without an absolute path is ignored by those who ask for
// a directory, as the XDG rules have it.
std::string variable(const Surroundings& surroundings, const std::string& name) {
    return surroundings.variable(name).value_or("");
}

// systemd joins several directories of a unit by colons; the first is ours.
std::string first_directory(const std::string& list) { return list.substr(0, list.find(':')); }

std::string temporary_directory(const Surroundings& surroundings) {
    const auto tmp = variable(surroundings, "TMPDIR");
    return (tmp.starts_with('/') ? tmp : "/tmp") + "/latchd-" +
           std::to_string(surroundings.user_id);
}

std::string state_directory(const Surroundings& surroundings, Configuration& configuration) {
    if (const auto given = variable(surroundings, "STATE_DIRECTORY"); given.starts_with('/')) {
        return first_directory(given);
    }
    if (const auto home = variable(surroundings, "HOME"); home.starts_with('/')) {
        return home + "/.local/state/latchd";
    }
    const auto fallback = temporary_directory(surroundings) + "/state";
    configuration.warning({},
                          "state_dir: neither STATE_DIRECTORY nor HOME is set; " + fallback +
                              " may not survive a restart of the host");
    return fallback;
}

std::string runtime_directory(const Surroundings& surroundings) {
    if (const auto given = variable(surroundings, "RUNTIME_DIRECTORY"); given.starts_with('/')) {
        return first_directory(given);
    }
    if (const auto xdg = variable(surroundings, "XDG_RUNTIME_DIR"); xdg.starts_with('/')) {
        return xdg + "/latchd";
    }
    return temporary_directory(surroundings);
}

std::string node_name(const std::string& host_name, const Listener& listener) {
    const auto suffix =
        listener.address.is_unix() ? "" : ":" + std::to_string(listener.address.port);
    std::string name = host_name.substr(0, 64 - suffix.size());
    std::replace_if(
        name.begin(), name.end(), [](char c) { return !is_name_byte(c); }, '-');
    return (name.empty() ? "localhost" : name) + suffix;
}

std::string arbiter_name(const Options& options) {
    for (const StoreKind kind : {StoreKind::mysql, StoreKind::redis}) {
        for (const Store& store : options.stores) {
            if (store.kind == kind) return store.name;
        }
    }
    return {};
}

void read_secret(const std::string& prefix,
                 const std::string& file,
                 Secret& password,
                 const Surroundings& surroundings,
                 Configuration& configuration) {
    const auto path = prefix + ".password_file";
    if (file.empty()) return;
    if (!password.empty()) {
        return configuration.error_at(path, "the password is given already; keep one of them");
    }
    auto content = surroundings.read_file(file);
    if (content.status != FileContent::Status::read) {
        return configuration.error_at(path, "cannot read " + file + ": " + content.error);
    }
    if ((content.mode & S_IROTH) != 0) {
        return configuration.error_at(path, file + " can be read by everyone; chmod o-r " + file);
    }
    // Editors end a file by a newline. More than that one is the password's own.
    auto& text = content.text;
    if (text.ends_with('\n')) text.pop_back();
    if (text.empty()) return configuration.error_at(path, file + " is empty");
    constexpr std::string_view space = " \t\r\n";
    if (space.find(text.front()) != std::string_view::npos ||
        space.find(text.back()) != std::string_view::npos) {
        configuration.warning_at(
            path, "the password in " + file + " begins or ends with white space, which counts");
    }
    password = Secret(std::move(text));
}

// Here and not at the first connection, where the library says only that a file is missing.
void check_certificates(const std::string& path,
                        const std::string& file,
                        const Surroundings& surroundings,
                        Configuration& configuration) {
    if (file.empty()) return;
    const auto content = surroundings.read_file(file);
    if (content.status != FileContent::Status::read) {
        configuration.error_at(path, "cannot read " + file + ": " + content.error);
    } else if (content.text.find("CERTIFICATE-----") == std::string::npos) {
        configuration.error_at(path, "there is no certificate (PEM) in " + file);
    }
}

}  // namespace

std::uint32_t redis_database(const Store& store) {
    return parse_redis_database(store.database).value_or(0);
}

std::optional<std::size_t> arbiter_index(const Options& options) {
    for (std::size_t i = 0; i < options.stores.size(); ++i) {
        const Store& store = options.stores[i];
        if (store.kind != StoreKind::local && store.name == options.authority.arbiter) return i;
    }
    return std::nullopt;
}

bool arbiter_outlives(const Options& options) {
    const auto index = arbiter_index(options);
    return index && *index > 0 && options.stores[*index].kind == StoreKind::mysql;
}

void complete(const Surroundings& surroundings, Configuration& configuration) {
    auto& options = configuration.options;
    if (options.listen.empty()) options.listen.emplace_back();
    if (options.stores.empty()) options.stores.emplace_back();
    for (auto& store : options.stores) {
        if (store.name.empty()) store.name = word_of(store.kind);
        if (store.database.empty() && store.kind == StoreKind::redis) store.database = "0";
        if (store.database.empty() && store.kind == StoreKind::mysql) store.database = "latchd";
    }
    if (options.authority.arbiter.empty()) options.authority.arbiter = arbiter_name(options);
    if (options.node.empty()) {
        options.node = node_name(surroundings.host_name, options.listen.front());
    }
    if (options.state_dir.empty()) {
        options.state_dir = state_directory(surroundings, configuration);
    }
    if (options.runtime_dir.empty()) options.runtime_dir = runtime_directory(surroundings);
}

void read_named_files(const Surroundings& surroundings, Configuration& configuration) {
    auto& options = configuration.options;
    for (std::size_t i = 0; i < options.stores.size(); ++i) {
        auto& store = options.stores[i];
        const std::string path = "stores[" + std::to_string(i) + "]";
        read_secret(path, store.password_file, store.password, surroundings, configuration);
        if (store.tls != Tls::off) {
            check_certificates(path + ".tls.ca", store.tls_ca, surroundings, configuration);
        }
    }
    read_secret(
        "auth", options.auth.password_file, options.auth.password, surroundings, configuration);
}

}  // namespace latchd::config
