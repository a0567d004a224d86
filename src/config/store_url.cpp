// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "store_url.hpp"

#include <algorithm>
#include <utility>

namespace latchd::config {
namespace {

constexpr std::uint16_t redis_port = 6379;
constexpr std::uint16_t mysql_port = 3306;

int hex_digit(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

Parsed<std::string> percent_decode(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        const int high = i + 1 < text.size() ? hex_digit(text[i + 1]) : -1;
        const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0) {
            return Parsed<std::string>::failure("'%' is not followed by two hexadecimal digits");
        }
        out += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return out;
}

// Takes `user[:password]@` off the front of `rest`. An unencoded '/' or '@' in a password would
// make the rest of it part of the host, and the host is shown in errors: refused here.
std::string take_credentials(std::string_view& rest, Store& store) {
    const auto at = rest.rfind('@');
    if (at == std::string_view::npos) return {};
    const auto credentials = rest.substr(0, at);
    rest.remove_prefix(at + 1);
    if (credentials.find_first_of("/@?") != std::string_view::npos) {
        return "'/', '?' and '@' in a user or password are written %2F, %3F and %40";
    }
    const auto colon = credentials.find(':');
    auto user = percent_decode(credentials.substr(0, colon));
    if (!user) return user.error;
    store.username = std::move(*user.value);
    if (colon == std::string_view::npos) return {};
    auto password = percent_decode(credentials.substr(colon + 1));
    if (!password) return password.error;
    if (password.value->empty()) return "the password is empty";
    store.password = Secret(std::move(*password.value));
    return {};
}

std::string read_database(std::string_view text, Store& store) {
    if (store.kind == StoreKind::redis) {
        if (!parse_redis_database(text)) {
            return "the database is a number from 0 to 65535";
        }
    }
    auto name = parse_database(text);
    if (!name) return name.error;
    store.database = std::move(*name.value);
    return {};
}

std::string read_tcp(std::string_view rest, std::uint16_t port, Store& store) {
    if (auto error = take_credentials(rest, store); !error.empty()) return error;
    const auto slash = std::min(rest.find('/'), rest.size());
    auto address = parse_host(rest.substr(0, slash), port);
    if (!address) return address.error;
    if (address.value->port == 0) return "port 0 cannot be connected to";
    store.address = std::move(*address.value);
    if (rest.size() - slash <= 1) return {};
    return read_database(rest.substr(slash + 1), store);
}

std::string read_unix(std::string_view rest, Store& store) {
    if (auto error = take_credentials(rest, store); !error.empty()) return error;
    const auto question = std::min(rest.find('?'), rest.size());
    auto path = parse_socket_path(rest.substr(0, question));
    if (!path) return path.error;
    store.address = Address{.host = {}, .port = 0, .path = std::move(*path.value)};
    if (question == rest.size()) return {};
    constexpr std::string_view database = "?db=";
    if (!rest.substr(question).starts_with(database)) return "the only parameter is 'db'";
    return read_database(rest.substr(question + database.size()), store);
}

// Takes the scheme off the front.
bool take(std::string_view& url, std::string_view scheme) {
    if (!url.starts_with(scheme)) return false;
    url.remove_prefix(scheme.size());
    return true;
}

std::string read_url(std::string_view url, Store& store) {
    if (url == "local:") {
        store.kind = StoreKind::local;
        return {};
    }
    store.kind = url.starts_with("mysql") ? StoreKind::mysql : StoreKind::redis;
    if (take(url, "redis://")) return read_tcp(url, redis_port, store);
    if (take(url, "mysql://")) return read_tcp(url, mysql_port, store);
    if (take(url, "redis+unix://") || take(url, "mysql+unix://")) return read_unix(url, store);
    if (url.starts_with("rediss://")) return "TLS to Redis is not part of this version";
    if (url.starts_with("redis+sentinel://")) return "sentinels are not part of this version";
    return "not a store; write redis://host:port/database, redis+unix:///path, "
           "mysql://user@host:port/database or local:";
}

}  // namespace

Parsed<Store> parse_store_url(std::string_view url) {
    Store store;
    if (auto error = read_url(url, store); !error.empty()) {
        return Parsed<Store>::failure(in_quotes(masked_url(url)) + ": " + error);
    }
    return store;
}

std::string masked_url(std::string_view url) {
    std::string out;
    const auto scheme = url.find("://");
    if (scheme != std::string_view::npos) {
        out = url.substr(0, scheme + 3);
        url.remove_prefix(scheme + 3);
    }
    // The last '@' of all, however the rest is split: rather too much masked than too little.
    if (const auto at = url.rfind('@'); at != std::string_view::npos) {
        const auto colon = url.substr(0, at).find(':');
        if (colon != std::string_view::npos) out += std::string(url.substr(0, colon)) + ":";
        out += "***@";
        url.remove_prefix(at + 1);
    }
    const auto question = url.find('?');
    out += url.substr(0, question);
    if (question == std::string_view::npos) return out;
    return out +
           (url.substr(question).starts_with("?db=") ? std::string(url.substr(question)) : "?***");
}

}  // namespace latchd::config
