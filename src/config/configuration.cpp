// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "configuration.hpp"

#include "schema.hpp"

#include <algorithm>
#include <tuple>

namespace latchd::config {
namespace {

// Index of the element in `stores[3].url`; 0 outside of lists.
std::size_t index_in(std::string_view path) {
    const auto open = path.find('[');
    if (open == std::string_view::npos) return 0;
    return std::stoul(std::string(path.substr(open + 1)));
}

std::string pattern_of(std::string_view path) {
    const auto open = path.find('[');
    const auto close = path.find(']');
    if (open == std::string_view::npos) return std::string(path);
    return std::string(path.substr(0, open + 1)) + std::string(path.substr(close));
}

void forget_list(std::string_view list, Configuration& configuration) {
    std::erase_if(configuration.origins, [&](const auto& entry) {
        return entry.first.starts_with(list) &&
               (entry.first.size() == list.size() || entry.first[list.size()] == '[');
    });
    if (list == "listen") configuration.options.listen.clear();
    if (list == "stores") configuration.options.stores.clear();
}

void read_file(const std::string& file,
               const Surroundings& surroundings,
               Configuration& configuration) {
    const auto content = surroundings.read_file(file);
    if (content.status == FileContent::Status::read) {
        configuration.file = file;
        apply_file(content.text, surroundings, configuration);
    } else {
        configuration.error({}, "cannot read " + file + ": " + content.error);
    }
}

}  // namespace

Origin Configuration::origin_near(std::string_view path) const {
    while (!path.empty()) {
        if (const auto it = origins.find(path); it != origins.end()) return it->second;
        const auto end = path.find_last_of(".[");
        path = path.substr(0, end == std::string_view::npos ? 0 : end);
    }
    return {};
}

void Configuration::error(Origin origin, std::string text) {
    diagnostics.push_back({Diagnostic::Severity::error, origin, std::move(text)});
}

void Configuration::warning(Origin origin, std::string text) {
    diagnostics.push_back({Diagnostic::Severity::warning, origin, std::move(text)});
}

void Configuration::error_at(std::string_view path, std::string_view text) {
    error(origin_near(path), std::string(path) + ": " + std::string(text));
}

void Configuration::warning_at(std::string_view path, std::string_view text) {
    warning(origin_near(path), std::string(path) + ": " + std::string(text));
}

void apply_overrides(const std::vector<Override>& overrides, Configuration& configuration) {
    const Origin origin{.kind = Origin::Kind::command_line};
    auto& options = configuration.options;
    for (const auto& [option, path, text] : overrides) {
        const auto list = path.substr(0, path.find('['));
        const auto index = index_in(path);
        if (list.size() < path.size()) {
            if (index == 0) forget_list(list, configuration);
            configuration.origins[list + "[" + std::to_string(index) + "]"] = origin;
            if (list == "listen") options.listen.resize(index + 1);
            if (list == "stores") options.stores.resize(index + 1);
        }
        const auto* key = find_key(pattern_of(path));
        configuration.origins[path] = origin;
        if (auto why = set_field(*key, Scope{options, index}, text); !why.empty()) {
            configuration.error(origin, option + ": " + why);
            continue;
        }
        if (key->type == Type::store_url && !options.stores[index].password.empty()) {
            configuration.warning(
                origin,
                option +
                    ": the password is visible to everyone who can list processes; "
                    "a configuration file with password_file hides it");
        }
    }
}

Configuration configure(const std::string& file,
                        const std::vector<Override>& overrides,
                        const Surroundings& surroundings) {
    Configuration configuration;
    if (!file.empty()) read_file(file, surroundings, configuration);
    apply_overrides(overrides, configuration);
    complete(surroundings, configuration);
    read_named_files(surroundings, configuration);
    validate(configuration);
    const auto rank = [](const Diagnostic& d) {
        return std::tuple(
            d.origin.kind == Origin::Kind::command_line, d.origin.line, d.origin.column);
    };
    std::stable_sort(configuration.diagnostics.begin(),
                     configuration.diagnostics.end(),
                     [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    return configuration;
}

}  // namespace latchd::config
