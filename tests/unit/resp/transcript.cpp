// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
#include "transcript.hpp"

#include <cctype>
#include <optional>

namespace latchd::resp::test {

std::ostream& operator<<(std::ostream& out, const Transcript& transcript) {
    for (const auto& request : transcript.requests) {
        out << "\n[";
        for (const std::string& argument : request) {
            out << ' ' << (argument.size() <= 40 ? argument : argument.substr(0, 40) + "...");
        }
        out << " ]";
    }
    return out << "\nerror: " << transcript.error;
}

void drain(Decoder& decoder, Transcript& transcript) {
    for (;;) {
        const Decoded decoded = decoder.next();
        if (decoded.status == DecodeStatus::request) {
            transcript.requests.emplace_back(decoded.arguments.begin(), decoded.arguments.end());
            continue;
        }
        if (decoded.status == DecodeStatus::protocol_error) {
            transcript.error = decoded.error;
        }
        return;
    }
}

namespace {

class Reference {
public:
    Reference(std::string_view bytes, ClientTrust trust, const RequestLimits& limits)
        : rest_(bytes), limits_(limits), is_stranger_(trust == ClientTrust::unauthenticated) {}

    Transcript run() {
        while (!rest_.empty() && (rest_[0] == '*' ? array() : line())) {
        }
        return transcript_;
    }

private:
    bool fail(const std::string& text) {
        transcript_.error = "Protocol error: " + text;
        return false;
    }

    bool add(std::vector<std::string> request) {
        if (!request.empty()) {
            transcript_.requests.push_back(std::move(request));
        }
        return true;
    }

    static std::optional<long long> number(const std::string& text) {
        try {
            const long long value = std::stoll(text);
            return std::to_string(value) == text ? std::optional(value) : std::nullopt;
        } catch (const std::exception&) {
            return std::nullopt;
        }
    }

    // The text of the header line at rest, without its type; false: not there or an error.
    bool header(std::string& text, const char* too_long) {
        const std::size_t end = rest_.find("\r\n");
        if (end == std::string_view::npos || end - 1 > limits_.line_bytes_max) {
            return rest_.size() >= limits_.line_bytes_max + 3 ? fail(too_long) : false;
        }
        text = rest_.substr(1, end - 1);
        rest_.remove_prefix(end + 2);
        return true;
    }

    bool array() {
        const std::size_t request_bytes = rest_.size();
        std::string text;
        if (!header(text, "too big mbulk count string")) {
            return false;
        }
        const auto count = number(text);
        if (!count || *count > static_cast<long long>(limits_.arguments_max)) {
            return fail("invalid multibulk length");
        }
        if (is_stranger_ &&
            *count > static_cast<long long>(limits_.unauthenticated_arguments_max)) {
            return fail("unauthenticated multibulk length");
        }
        std::vector<std::string> request;
        for (long long i = 0; i < *count; ++i) {
            if (!bulk(request, request_bytes)) {
                return false;
            }
        }
        return add(std::move(request));
    }

    bool bulk(std::vector<std::string>& request, std::size_t request_bytes) {
        if (rest_.empty()) {
            return false;
        }
        if (rest_[0] != '$') {
            const bool printable = std::isgraph(static_cast<unsigned char>(rest_[0])) != 0;
            return fail(std::string("expected '$', got '") + (printable ? rest_[0] : '?') + "'");
        }
        std::string text;
        if (!header(text, "too big bulk count string")) {
            return false;
        }
        const auto size = number(text);
        if (!size || *size < 0 || *size > static_cast<long long>(limits_.bulk_bytes_max)) {
            return fail("invalid bulk length");
        }
        const auto bytes = static_cast<std::size_t>(*size);
        if (request_bytes - rest_.size() + bytes + 2 > limits_.request_bytes_max) {
            return fail("invalid bulk length");
        }
        if (is_stranger_ && bytes > limits_.unauthenticated_bulk_bytes_max) {
            return fail("unauthenticated bulk length");
        }
        if (rest_.size() < bytes + 2) {
            return false;
        }
        request.emplace_back(rest_.substr(0, bytes));
        if (rest_.substr(bytes, 2) != "\r\n") {
            return fail("invalid bulk length");
        }
        rest_.remove_prefix(bytes + 2);
        return true;
    }

    bool line() {
        const std::size_t end = rest_.find('\n');
        if (end == std::string_view::npos || end >= limits_.line_bytes_max) {
            return rest_.size() >= limits_.line_bytes_max ? fail("too big inline request") : false;
        }
        std::string text(rest_.substr(0, end));
        rest_.remove_prefix(end + 1);
        std::vector<std::string> request;
        std::size_t at = 0;
        const auto space = [&](std::size_t i) {
            return i >= text.size() || std::isspace(static_cast<unsigned char>(text[i])) != 0;
        };
        for (;;) {
            while (at < text.size() && space(at)) {
                ++at;
            }
            if (at == text.size()) {
                return add(std::move(request));
            }
            if (request.size() == limits_.arguments_max) {
                return fail("too big inline request");
            }
            std::string word;
            char quote = 0;
            for (; at < text.size(); ++at) {
                const char c = text[at];
                const char following = at + 1 < text.size() ? text[at + 1] : '\0';
                if (quote == 0 && (c == '"' || c == '\'')) {
                    quote = c;
                } else if (quote == 0 && (c == '\v' || c == '\f' || !space(at))) {
                    word += c;
                } else if (quote == 0) {
                    break;
                } else if (c == quote) {
                    if (!space(at + 1)) {
                        return fail("unbalanced quotes in request");
                    }
                    quote = 0;
                    ++at;
                    break;
                } else if (c != '\\' || at + 1 == text.size()) {
                    word += c;
                } else if (quote == '\'') {
                    word += following == '\'' ? text[++at] : c;
                } else if (following == 'x' && at + 3 < text.size() &&
                           std::isxdigit(static_cast<unsigned char>(text[at + 2])) != 0 &&
                           std::isxdigit(static_cast<unsigned char>(text[at + 3])) != 0) {
                    word += static_cast<char>(std::stoi(text.substr(at + 2, 2), nullptr, 16));
                    at += 3;
                } else {
                    const std::string_view names = "nrtba";
                    const std::size_t named = names.find(following);
                    word += named == std::string_view::npos ? following : "\n\r\t\b\a"[named];
                    ++at;
                }
            }
            if (quote != 0) {
                return fail("unbalanced quotes in request");
            }
            request.push_back(word);
        }
    }

    std::string_view rest_;
    const RequestLimits& limits_;
    bool is_stranger_;
    Transcript transcript_;
};

}  // namespace

Transcript reference_transcript(std::string_view bytes,
                                ClientTrust trust,
                                const RequestLimits& limits) {
    return Reference(bytes, trust, limits).run();
}

}  // namespace latchd::resp::test
