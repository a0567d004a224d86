// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "keys.hpp"

#include <latchd/base/glob.hpp>

#include <algorithm>
#include <array>

namespace latchd::store::redis {
namespace {

constexpr std::size_t resource_bytes_max = 64;
constexpr std::size_t id_bytes_max = 128;
constexpr std::size_t request_bytes_max = 512;  // with the user that it is scoped to

constexpr auto plain_bytes = [] {
    std::array<bool, 256> plain{};
    for (std::size_t c = 0x21; c <= 0x7e; ++c) {
        plain[c] = c != ':' && c != '%' && c != '{' && c != '}';
    }
    return plain;
}();

// Stands in a key as itself.
bool is_plain_in_key(char c) noexcept { return plain_bytes[static_cast<unsigned char>(c)]; }

bool is_resource_byte(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == ':' || c == '-';
}

void append_percent(std::string& out, char c) {
    static constexpr std::string_view digits = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte >> 4];
    out += digits[byte & 15];
}

void append_encoded(std::string& out, std::string_view text) {
    while (!text.empty()) {
        const auto stop = std::find_if_not(text.begin(), text.end(), is_plain_in_key);
        const auto plain = static_cast<std::size_t>(stop - text.begin());
        out.append(text.data(), plain);
        text.remove_prefix(plain);
        if (text.empty()) break;
        append_percent(out, text.front());
        text.remove_prefix(1);
    }
}

int digit_of(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// Only what append_encoded() writes: each name has one spelling.
std::optional<std::string> decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (is_plain_in_key(text[i])) {
            out += text[i];
            continue;
        }
        if (text[i] != '%' || i + 2 >= text.size()) return std::nullopt;
        const int high = digit_of(text[i + 1]);
        const int low = digit_of(text[i + 2]);
        if (high < 0 || low < 0) return std::nullopt;
        const char c = static_cast<char>(high * 16 + low);
        if (is_plain_in_key(c)) return std::nullopt;
        out += c;
        i += 2;
    }
    return out;
}

bool is_resource(std::string_view text) noexcept {
    if (text.empty() || text.size() > resource_bytes_max) return false;
    for (const char c : text) {
        if (!is_resource_byte(c)) return false;
    }
    return true;
}

}  // namespace

Keys::Keys(std::string_view cluster) {
    if (cluster != "default") {
        prefix_ = cluster;
        prefix_ += ':';
    }
    marker_ = prefix_ + "latchd:marker";
    probe_ = prefix_ + "latchd:probe";
    nodes_ = prefix_ + "latchd:nodes";
}

std::string Keys::lock(const LockKey& key) const {
    std::string out;
    out.reserve(prefix_.size() + 6 + key.resource.view().size() + key.id.view().size());
    out += prefix_;
    out += "lock:";
    out += key.resource.view();
    out += ':';
    append_encoded(out, key.id.view());
    return out;
}

std::string Keys::bar(const LockKey& key, const RequestId& request) const {
    return bar(lock(key), request);
}

std::string Keys::bar(std::string_view lock, const RequestId& request) const {
    std::string out;
    out.reserve(prefix_.size() + 5 + lock.size() + 2 + request.view().size());
    out += prefix_;
    out += "bar:{";
    out += lock;
    out += "}:";
    append_encoded(out, request.view());
    return out;
}

std::string Keys::queue(const LockKey& key, Epoch epoch) const { return queue(lock(key), epoch); }

std::string Keys::queue(std::string_view lock, Epoch epoch) const {
    std::string out;
    out.reserve(prefix_.size() + 7 + lock.size() + 2 + 10);
    out += prefix_;
    out += "queue:{";
    out += lock;
    out += "}:";
    out += std::to_string(epoch);
    return out;
}

std::string Keys::node_channel(const NodeName& node) const {
    std::string out = prefix_;
    out += "latchd:node:";
    out += node.view();
    return out;
}

std::string Keys::lost_note(const NodeName& node) const {
    std::string out = prefix_;
    out += "latchd:lost:";
    out += node.view();
    return out;
}

std::optional<LockKey> Keys::lock_of(std::string_view redis_key) const {
    if (!redis_key.starts_with(prefix_)) return std::nullopt;
    redis_key.remove_prefix(prefix_.size());
    if (!redis_key.starts_with("lock:")) return std::nullopt;
    redis_key.remove_prefix(5);
    const std::size_t colon = redis_key.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const std::string_view resource = redis_key.substr(0, colon);
    std::optional<std::string> id = decoded(redis_key.substr(colon + 1));
    if (!is_resource(resource) || !id || id->empty() || id->size() > id_bytes_max) {
        return std::nullopt;
    }
    return LockKey{ResourceName(resource), LockId(std::move(*id))};
}

std::optional<std::pair<LockKey, RequestId>> Keys::bar_of(std::string_view redis_key) const {
    if (!redis_key.starts_with(prefix_)) return std::nullopt;
    redis_key.remove_prefix(prefix_.size());
    if (!redis_key.starts_with("bar:{")) return std::nullopt;
    redis_key.remove_prefix(5);
    const std::size_t brace = redis_key.find("}:");
    if (brace == std::string_view::npos) return std::nullopt;
    std::optional<LockKey> key = lock_of(redis_key.substr(0, brace));
    std::optional<std::string> request = decoded(redis_key.substr(brace + 2));
    if (!key || !request || request->empty() || request->size() > request_bytes_max) {
        return std::nullopt;
    }
    return std::pair{std::move(*key), RequestId(std::move(*request))};
}

// The literal beginning of the pattern, as far as its spelling in a key is certain: up to the
// second colon, which is `:` in a resource and `%3A` in an id.
std::string Keys::scan_pattern(std::string_view pattern) const {
    std::string out = prefix_ + "lock:";
    bool seen_colon = false;
    for (const char c : pattern) {
        if (c == '*' || c == '?' || c == '[' || c == '\\' || (c == ':' && seen_colon)) break;
        if (c == ':') {
            seen_colon = true;
            out += c;
        } else {
            append_encoded(out, std::string_view(&c, 1));
        }
    }
    out += '*';
    return out;
}

bool matches(std::string_view pattern, const LockKey& key) {
    if (pattern.empty()) return true;
    return glob_matches(pattern, key.resource.str() + ":" + key.id.str());
}

}  // namespace latchd::store::redis
