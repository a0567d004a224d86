// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>

namespace latchd::load {
namespace {

// false: it isn't one that is allowed.
using Setter = std::function<bool(Settings&, const std::string&)>;

std::optional<double> number_of(const std::string& text) {
    char* end = nullptr;
    errno = 0;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || errno != 0) return std::nullopt;
    return value;
}

template <class T>
Setter number(T Settings::*member, double least, double most) {
    return [member, least, most](Settings& settings, const std::string& text) {
        const auto value = number_of(text);
        if (!value || !(*value >= least) || !(*value <= most)) return false;
        settings.*member = static_cast<T>(*value);
        return true;
    };
}

// Calls take() with each part between commas until that says false.
bool each_part(const std::string& text, const std::function<bool(const std::string&)>& take) {
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        if (!take(text.substr(at, end - at))) return false;
        at = end + 1;
    }
    return true;
}

bool add_server(Settings& settings, const std::string& text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos) return false;
    const auto port = number_of(text.substr(colon + 1));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (!port || *port < 1 || *port > 65535) return false;
    address.sin_port = htons(static_cast<std::uint16_t>(*port));
    // Numeric only: what a name leads to is somebody else's decision.
    if (inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) != 1) return false;
    constexpr std::uint32_t loopback = 127;
    if (ntohl(address.sin_addr.s_addr) >> 24 != loopback) return false;
    settings.servers.push_back(address);
    return true;
}

bool add_process(Settings& settings, const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) return false;
    const auto pid = number_of(text.substr(equals + 1));
    if (!pid || *pid < 1) return false;
    settings.processes.push_back({text.substr(0, equals), static_cast<int>(*pid)});
    return true;
}

bool set_language(Settings& settings, const std::string& text) {
    static const std::map<std::string, Language> known = {
        {"latchd", Language::latchd}, {"set", Language::set}, {"scripts", Language::scripts}};
    const auto it = known.find(text);
    if (it == known.end()) return false;
    settings.language = it->second;
    return true;
}

const std::map<std::string_view, Setter>& setters() {
    static const std::map<std::string_view, Setter> all = {
        {"--at",
         [](Settings& settings, const std::string& text) {
             return each_part(text, [&](const std::string& p) { return add_server(settings, p); });
         }},
        {"--pid",
         [](Settings& settings, const std::string& text) {
             return each_part(text, [&](const std::string& p) { return add_process(settings, p); });
         }},
        {"--as", set_language},
        {"--connections", number(&Settings::connections, 1, 20'000)},
        {"--patient", number(&Settings::is_patient, 0, 1)},
        {"--slice", number(&Settings::slice_ms, 0, 10'000)},
        {"--pipeline", number(&Settings::pipeline, 1, 1'000)},
        {"--locks", number(&Settings::locks, 1, 10'000'000)},
        {"--in-turn", number(&Settings::is_in_turn, 0, 1)},
        {"--wait", number(&Settings::wait_ms, 0, 60'000)},
        {"--poll", number(&Settings::poll_us, 0, 10'000'000)},
        {"--hold", number(&Settings::hold_us, 0, 10'000'000)},
        {"--ttl", number(&Settings::ttl_ms, 100, 60'000)},
        {"--rate", number(&Settings::rate, 0, 1e6)},
        {"--warm", number(&Settings::warm_s, 0, 10)},
        {"--seconds", number(&Settings::run_s, 0, 120)},
        {"--cycles", number(&Settings::cycles, 0, 1e9)},
        {"--idle", number(&Settings::idle, 0, 20'000)},
        {"--held", number(&Settings::held, 0, 2'000'000)},
        {"--seed", number(&Settings::seed, 1, 1e15)},
        {"--cpu", number(&Settings::cpu, 0, 1023)},
    };
    return all;
}

}  // namespace

std::variant<Settings, std::string> parse_settings(const std::vector<std::string_view>& arguments) {
    Settings settings;
    for (std::size_t i = 0; i < arguments.size(); i += 2) {
        const auto setter = setters().find(arguments[i]);
        if (setter == setters().end()) return "unknown option " + std::string(arguments[i]);
        if (i + 1 == arguments.size()) return "no value for " + std::string(arguments[i]);
        if (!setter->second(settings, std::string(arguments[i + 1]))) {
            return std::string(arguments[i]) + " can't be " + std::string(arguments[i + 1]) +
                   (arguments[i] == "--at" ? ": only 127.x.x.x:port is served" : "");
        }
    }
    if (settings.servers.empty()) return "no --at";
    if (settings.wait_ms > 0 && settings.pipeline > 1) {
        return "a LOCK that waits holds its connection up: --wait needs --pipeline 1";
    }
    return settings;
}

std::string_view usage() noexcept {
    return "load --at 127.0.0.1:PORT[,…] [--as latchd|set|scripts] [--connections N] [--pipeline "
           "N]\n"
           "     [--locks N] [--in-turn 1] [--wait ms] [--poll us] [--hold us] [--ttl ms]\n"
           "     [--rate cycles/s] [--warm s] [--seconds s] [--cycles N] [--idle N] [--held N]\n"
           "     [--seed N] [--cpu N] [--pid name=PID[,…]] [--patient 1] [--slice ms]\n"
           "One line of JSON. Exit code 3: two clients held one lock, or a fence went back.\n";
}

}  // namespace latchd::load
