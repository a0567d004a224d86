// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
// The effective configuration and the reference page, both written from the key table.
#include "configuration.hpp"
#include "schema.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace latchd::config {
namespace {

// The text as a YAML value that reads back as itself, dollars doubled against expansion.
std::string yaml_value(std::string_view text) {
    const auto is_plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("._/:-+").find(c) != std::string_view::npos;
    };
    const bool begins_plainly = text.find_first_of("-:+.") != 0 && !text.ends_with(':');
    const bool is_word = text != "null" && text != "Null" && text != "NULL";
    if (begins_plainly && is_word && std::all_of(text.begin(), text.end(), is_plain)) {
        return std::string(text);
    }
    constexpr std::string_view hex = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f) {
            out += "\\x";
            out += hex[byte >> 4];
            out += hex[byte & 15];
            continue;
        }
        if (c == '"' || c == '\\') out += '\\';
        if (c == '$') out += '$';
        out += c;
    }
    return out + "\"";
}

class Dumper {
public:
    explicit Dumper(const Configuration& configuration)
        : configuration_(configuration), options_(configuration.options) {}

    std::string take() {
        write_section("", "", 0, "");
        return std::move(out_);
    }

private:
    void write_section(const std::string& pattern,
                       const std::string& path,
                       std::size_t index,
                       std::string indent) {
        for (const auto name : names_under(pattern)) {
            const auto child = join(pattern, name);
            const auto child_path = join(path, name);
            if (const auto* key = find_key(child)) {
                write_key(*key, child_path, index, name, indent);
            } else if (is_list(child)) {
                write_list(child, child_path, name, indent);
            } else if (has_keys(child, index)) {
                out_ += indent + std::string(name) + ":\n";
                dash_to_space(indent);
                write_section(child, child_path, index, indent + "  ");
            }
        }
    }

    void write_list(const std::string& list,
                    const std::string& path,
                    std::string_view name,
                    const std::string& indent) {
        const auto count = list == "listen"   ? options_.listen.size()
                           : list == "stores" ? options_.stores.size()
                                              : options_.resources.list.size();
        if (count == 0) return write_line(indent + std::string(name) + ": []", path);
        out_ += indent + std::string(name) + ":\n";
        for (std::size_t i = 0; i < count; ++i) {
            write_section(list + "[]", path + "[" + std::to_string(i) + "]", i, indent + "  - ");
        }
    }

    void write_key(const Key& key,
                   const std::string& path,
                   std::size_t index,
                   std::string_view name,
                   std::string& indent) {
        if (!is_of_store(key, index)) return;
        const auto text = get_field(key, Scope{options_, index});
        // A password that a file holds is shown as that file.
        const bool from_file = key.type == Type::secret && !is_given(path);
        if (!text || from_file) return;
        write_line(indent + std::string(name) + ": " + yaml_value(*text), path);
        dash_to_space(indent);
    }

    bool is_given(const std::string& path) const {
        const auto url = path.substr(0, path.rfind('.')) + ".url";
        return configuration_.is_set(path) || configuration_.is_set(url);
    }

    void write_line(std::string line, const std::string& path) {
        constexpr std::size_t comment_column = 44;
        line.resize(std::max(comment_column, line.size() + 2), ' ');
        out_ += line + "# " + origin_of(path) + "\n";
    }

    std::string origin_of(const std::string& path) const {
        auto it = configuration_.origins.find(path);
        if (it == configuration_.origins.end() && is_from_url(path)) {
            it = configuration_.origins.find(path.substr(0, path.rfind('.')) + ".url");
        }
        if (it == configuration_.origins.end()) return "default";
        if (it->second.kind == Origin::Kind::command_line) return "command line";
        return configuration_.file + ":" + std::to_string(it->second.line);
    }

    bool is_from_url(const std::string& path) const {
        const auto name = path.substr(path.rfind('.') + 1);
        return path.starts_with("stores[") &&
               (name == "type" || name == "address" || name == "username" || name == "password" ||
                name == "database");
    }

    bool is_of_store(const Key& key, std::size_t index) const {
        return key.store_keys == StoreKeys::all ||
               config::is_for(key.store_keys, options_.stores[index].kind);
    }

    bool has_keys(const std::string& section, std::size_t index) const {
        const auto keys = all_keys();
        return std::any_of(keys.begin(), keys.end(), [&](const Key& key) {
            return key.path.starts_with(section + ".") && is_of_store(key, index);
        });
    }

    // Only the first line of a list's element has the dash.
    static void dash_to_space(std::string& indent) {
        std::replace(indent.begin(), indent.end(), '-', ' ');
    }

    const Configuration& configuration_;
    Options options_;  // a copy, because the table hands out writable fields
    std::string out_;
};

std::string code(const std::string& text) { return "`" + text + "`"; }

std::string default_of(const Key& key, Scope scope) {
    if (key.required) return "required";
    if (!key.default_text.empty()) return std::string(key.default_text);
    if (key.path == "stores[].type" || key.path == "stores[].url") return "-";
    const auto text = get_field(key, scope);
    return text ? code(*text) : "-";
}

std::string range_of(const Key& key) {
    if (key.type == Type::choice) return describe_type(key);
    const auto range = describe_range(key);
    return range.empty() ? "-" : range;
}

constexpr std::string_view preface = R"(# Configuration

The file is YAML, `/etc/latchd/latchd.yaml` unless `--config` or `LATCHD_CONFIG` names another. Without that file the
defaults below apply. `latchd --check-config` reports all errors at once, `latchd --dump-config` shows every value and
where it came from. What the command line says wins over the file.

- A duration has a unit: `us`, `ms`, `s`, `m` or `h`; a size `B`, `KiB`, `MiB` or `GiB`. Bare numbers are refused for both.
- `${NAME}` in a value is replaced by the environment, `${NAME:-text}` by the text where NAME is unset or empty; `$$` is a
  dollar. Nothing is expanded in password files.
- Unknown and duplicate keys are errors; anchors, aliases, merge keys and tags are not supported.
- `stores[]` stands for each element of the list `stores`.
- Changes are read at the next start. Keys marked *run time* only propose: `RESOURCE SET` changes them on a running node.

This page is written from the key table in `src/config/schema.cpp`; the test `Reference.is_the_page_in_docs` compares.
)";

}  // namespace

std::string dump(const Configuration& configuration) { return Dumper(configuration).take(); }

std::string reference() {
    Options options;
    options.listen.emplace_back();
    options.stores.emplace_back();
    options.resources.list.emplace_back();
    std::string out(preface);
    std::string section = "-";
    for (const auto& key : all_keys()) {
        const auto dot = key.path.find('.');
        const std::string own(dot == std::string_view::npos ? "" : key.path.substr(0, dot));
        if (own != section) {
            section = own;
            out += "\n## " + (own.empty() ? "The node" : own.substr(0, own.find('['))) + "\n\n" +
                   "| key | type | default | range | read at | meaning |\n"
                   "| --- | --- | --- | --- | --- | --- |\n";
        }
        const auto type = key.type == Type::choice ? "word" : describe_type(key);
        out += "| " + code(std::string(key.path)) + " | " + type + " | " +
               default_of(key, Scope{options}) + " | " + range_of(key) + " | " +
               (key.applies == Applies::at_restart ? "start" : "start, run time") + " | " +
               std::string(key.meaning) + " |\n";
    }
    return out;
}

}  // namespace latchd::config
