// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
// Walks a YAML document along the key table. yaml-cpp's own look-ups are silent about unknown and
// duplicate keys and lose positions, so every node is visited here and every problem is reported,
// not the first only.
#include "configuration.hpp"
#include "expansion.hpp"
#include "schema.hpp"
#include "suggestion.hpp"
#include "value.hpp"
#include "yaml_document.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace latchd::config {
namespace {

// Where the walk is: `pattern` as the table writes it, `path` as the operator reads it.
struct Place {
    std::string pattern;
    std::string path;
    std::size_t index = 0;

    [[nodiscard]] Place child(std::string_view name) const {
        return {join(pattern, name), join(path, name), index};
    }
    [[nodiscard]] Place element(std::size_t i) const {
        return {pattern + "[]", path + "[" + std::to_string(i) + "]", i};
    }
};

std::string_view describe(YamlNode::Kind kind) {
    switch (kind) {
        case YamlNode::Kind::null:
            return "nothing";
        case YamlNode::Kind::scalar:
            return "a value";
        case YamlNode::Kind::sequence:
            return "a list";
        case YamlNode::Kind::map:
            break;
    }
    return "a section";
}

class Walker {
public:
    Walker(const Surroundings& surroundings, Configuration& configuration)
        : surroundings_(surroundings), configuration_(configuration) {}

    void walk_map(const YamlNode& map, const Place& place) {
        std::map<std::string_view, int> lines;  // of the keys seen
        for (std::size_t i = 0; i < map.values.size(); ++i) {
            const auto& key = map.keys[i];
            if (key.kind != YamlNode::Kind::scalar) {
                configuration_.error(key.origin, "a key must be a word");
                continue;
            }
            const auto [seen, is_new] = lines.emplace(key.text, key.origin.line);
            if (!is_new) {
                configuration_.error(key.origin,
                                     in_quotes(join(place.path, key.text)) +
                                         " is already set at line " + std::to_string(seen->second));
                continue;
            }
            walk_entry(key, map.values[i], place);
        }
        for (const auto name : names_under(place.pattern)) {
            const auto* known = find_key(join(place.pattern, name));
            if (known != nullptr && known->required && !lines.contains(name)) {
                configuration_.error(map.origin, in_quotes(join(place.path, name)) + " is missing");
            }
        }
        if (lines.contains("url")) refuse_beside_url(map, place);
    }

private:
    void walk_entry(const YamlNode& key, const YamlNode& value, const Place& parent) {
        // Asked by name, because a key such as `log.level` must not pass for a path.
        const auto known = names_under(parent.pattern);
        if (std::find(known.begin(), known.end(), key.text) == known.end()) {
            return configuration_.error(key.origin, unknown_key(key.text, parent));
        }
        const auto place = parent.child(key.text);
        if (const auto* entry = find_key(place.pattern)) {
            set_value(*entry, key, value, place);
        } else if (is_list(place.pattern)) {
            walk_list(value, place, key.origin);
        } else {
            walk_section(value, place, key.origin);
        }
    }

    void walk_section(const YamlNode& value, const Place& place, Origin origin) {
        configuration_.origins[place.path] = origin;
        // A section whose keys are all commented out is empty, not wrong.
        if (value.kind == YamlNode::Kind::null) return;
        if (value.kind != YamlNode::Kind::map) return refuse_kind(value, place, "a section");
        walk_map(value, place);
    }

    void walk_list(const YamlNode& value, const Place& place, Origin origin) {
        configuration_.origins[place.path] = origin;
        if (value.kind == YamlNode::Kind::null) return;
        if (value.kind != YamlNode::Kind::sequence) return refuse_kind(value, place, "a list");
        for (std::size_t i = 0; i < value.values.size(); ++i) {
            const auto& entry = value.values[i];
            const auto element = place.element(i);
            grow(place.pattern);
            configuration_.origins[element.path] = entry.origin;
            if (entry.kind != YamlNode::Kind::map) {
                refuse_kind(entry, element, "a section");
                continue;
            }
            walk_map(entry, element);
        }
    }

    void grow(std::string_view list) {
        auto& options = configuration_.options;
        if (list == "listen") options.listen.emplace_back();
        if (list == "stores") options.stores.emplace_back();
        if (list == "resources.list") options.resources.list.emplace_back();
    }

    void set_value(const Key& key,
                   const YamlNode& name,
                   const YamlNode& value,
                   const Place& place) {
        configuration_.origins[place.path] = name.origin;
        if (value.kind == YamlNode::Kind::null) {
            configuration_.error(
                name.origin, place.path + ": has no value; leave the key out to get its default");
            return;
        }
        configuration_.origins[place.path] = value.origin;
        if (value.kind != YamlNode::Kind::scalar) return refuse_kind(value, place, "a value");
        const auto text = expand(value.text, surroundings_);
        if (!text) return configuration_.error_at(place.path, text.error);
        const Scope scope{configuration_.options, place.index};
        if (auto why = set_field(key, scope, *text.value); !why.empty()) {
            return configuration_.error_at(place.path, why);
        }
        if (key.type == Type::secret && *text.value == "***") {
            return configuration_.warning_at(place.path,
                                             "'***' is what --dump-config shows in place of a "
                                             "password; put the password there, or password_file");
        }
        const bool from_environment = value.text.find("${") != std::string::npos;
        if (holds_secret(key, scope) && !from_environment) {
            configuration_.warning_at(
                place.path, "the password is in the file itself; password_file keeps it apart");
        }
    }

    static bool holds_secret(const Key& key, Scope scope) {
        if (key.type == Type::secret) return true;
        return key.type == Type::store_url &&
               !scope.options.stores.at(scope.index).password.empty();
    }

    void refuse_kind(const YamlNode& value, const Place& place, std::string_view wanted) {
        configuration_.error(value.origin,
                             place.path + ": must be " + std::string(wanted) + ", here is " +
                                 std::string(describe(value.kind)));
    }

    void refuse_beside_url(const YamlNode& map, const Place& place) {
        for (const auto& key : map.keys) {
            for (const std::string_view part :
                 {"type", "address", "username", "password", "database"}) {
                if (key.kind != YamlNode::Kind::scalar || key.text != part) continue;
                configuration_.error(
                    key.origin,
                    join(place.path, part) + ": 'url' says this already; keep one of them");
            }
        }
    }

    static std::string unknown_key(const std::string& name, const Place& parent) {
        if (name == "<<") return "merge keys ('<<') are not supported; write the keys out";
        const auto where = parent.path.empty() ? std::string() : " in " + parent.path;
        const auto known = names_under(parent.pattern);
        if (const auto meant = closest(name, known); !meant.empty()) {
            return "unknown key " + in_quotes(name) + where + " (did you mean '" +
                   std::string(meant) + "'?)";
        }
        return "unknown key " + in_quotes(name) + where;
    }

    const Surroundings& surroundings_;
    Configuration& configuration_;
};

}  // namespace

void apply_file(const std::string& text,
                const Surroundings& surroundings,
                Configuration& configuration) {
    const auto document = read_yaml(text, configuration.diagnostics);
    // What follows a syntax error is not known, so that nothing can be said to be missing.
    if (has_errors(configuration.diagnostics)) return;
    const Origin start{.kind = Origin::Kind::file, .line = 1, .column = 1};
    if (document.kind == YamlNode::Kind::null) {
        return configuration.error(start, "the file is empty; it needs at least 'version: 1'");
    }
    if (document.kind != YamlNode::Kind::map) {
        return configuration.error(document.origin,
                                   "the file must hold keys and values, as in 'version: 1'");
    }
    Walker(surroundings, configuration).walk_map(document, {});
}

}  // namespace latchd::config
