// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "scripts.hpp"

#include "record_json.hpp"

#include <latchd/resp/command_writer.hpp>
#include <lua_scripts.hpp>

#include <openssl/evp.h>

namespace latchd::store::redis {
namespace {

constexpr std::array<std::string_view, script_count> texts = {
    scripts::acquire,
    scripts::release,
    scripts::renew,
    scripts::undo,
    scripts::cancel,
    scripts::force,
    scripts::inspect,
    scripts::restore,
    scripts::step_out,
    scripts::list,
    scripts::sweep,
    scripts::probe,
    scripts::many,
    scripts::marker_set,
    scripts::claims_load,
    scripts::claims_read,
};

constexpr std::size_t first_of_authority = static_cast<std::size_t>(Script::marker_set);

std::string sha1_hex(std::string_view text) {
    static constexpr std::string_view digits = "0123456789abcdef";
    std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
    unsigned int size = 0;
    if (EVP_Digest(text.data(), text.size(), sum.data(), &size, EVP_sha1(), nullptr) != 1) {
        return {};  // as good as a digest that no server knows
    }
    std::string out;
    for (unsigned int i = 0; i < size; ++i) {
        out += digits[sum[i] >> 4];
        out += digits[sum[i] & 15];
    }
    return out;
}

// As a Lua string, whatever is in it.
std::string lua_quoted(std::string_view bytes) {
    std::string out = "'";
    for (const char c : bytes) {
        const bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                              (c >= 'a' && c <= 'z') ||
                              std::string_view(" _-.,:{}\"").find(c) != std::string_view::npos;
        if (is_plain) {
            out += c;
        } else {
            const std::string code = std::to_string(static_cast<unsigned char>(c));
            out += '\\';
            out.append(3 - code.size(), '0');
            out += code;
        }
    }
    out += '\'';
    return out;
}

}  // namespace

Scripts::Scripts() : Scripts(0, {}) {}

Scripts::Scripts(Epoch epoch, std::string_view nonce)
    : epoch_(epoch), nonce_(nonce), tail_(record_tail(epoch, nonce)) {
    for (std::size_t i = 0; i < script_count; ++i) {
        digests_[i] = sha1_hex(text(static_cast<Script>(i)));
    }
}

std::string Scripts::text(Script script) const {
    const auto index = static_cast<std::size_t>(script);
    if (index >= first_of_authority) return std::string(texts[index]);
    const std::string epoch = std::to_string(epoch_);
    std::string out = "local EPOCH, NONCE, BASE, TAIL = '" + epoch + "', " + lua_quoted(nonce_) +
                      ", " + std::to_string(make_fence(epoch_, 0)) + ", " + lua_quoted(tail_) +
                      "\n";
    out += texts[index];
    out += "\n-- epoch " + epoch + " nonce " + lua_quoted(nonce_) + "\n";
    return out;
}

std::size_t Scripts::append_load_locks(std::string& out) const {
    for (std::size_t i = 0; i < first_of_authority; ++i) {
        resp::append_command(out, {"SCRIPT", "LOAD", text(static_cast<Script>(i))});
    }
    return first_of_authority;
}

std::size_t Scripts::append_load_authority(std::string& out) const {
    for (std::size_t i = first_of_authority; i < script_count; ++i) {
        resp::append_command(out, {"SCRIPT", "LOAD", text(static_cast<Script>(i))});
    }
    return script_count - first_of_authority;
}

}  // namespace latchd::store::redis
