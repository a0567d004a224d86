// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

#include "fields.hpp"

#include <latchd/store/arbiter/codec.hpp>

#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <utility>

namespace latchd::store::arbiter {
namespace {

namespace json = boost::json;

// Exact wherever numbers are doubles, and far beyond every time.
constexpr std::int64_t number_max = (std::int64_t{1} << 53) - 1;

// ---- bytes -----------------------------------------------------------------------------------

json::string text_of(std::string_view bytes) {
    json::string text;
    text.reserve(bytes.size());
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80) {
            text.push_back(c);
        } else {
            text.push_back(static_cast<char>(0xc0 | (byte >> 6)));
            text.push_back(static_cast<char>(0x80 | (byte & 0x3f)));
        }
    }
    return text;
}

// The parser has checked that it is UTF-8; above U+00FF nothing is ours.
bool bytes_of(const json::string& text, std::string& out) {
    out.clear();
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte < 0x80) {
            out += text[i];
        } else if ((byte == 0xc2 || byte == 0xc3) && i + 1 < text.size()) {
            const auto low = static_cast<unsigned char>(text[++i]);
            out += static_cast<char>(((byte & 0x03) << 6) | (low & 0x3f));
        } else {
            return false;
        }
    }
    return true;
}

// ---- writing ---------------------------------------------------------------------------------

template <class T>
json::value written(const T& value);

struct Writer {
    json::object out;

    template <class T>
    void operator()(std::string_view name, const T& value) {
        out.emplace(name, written(value));
    }
    template <class T>
    void later(std::string_view name, const T& value) {
        (*this)(name, value);
    }
};

template <class T>
json::value written(const T& value) {
    if constexpr (std::same_as<T, std::string>) {
        return text_of(value);
    } else if constexpr (is_name<T>) {
        return text_of(value.view());
    } else if constexpr (std::same_as<T, Duration>) {
        return value.count();
    } else if constexpr (std::same_as<T, Attempt>) {
        return json::array{value.incarnation, value.number};
    } else if constexpr (std::integral<T>) {
        return value;
    } else if constexpr (std::is_enum_v<T>) {
        for (const auto& [word, meaning] : Words<T>::all) {
            if (meaning == value) return json::string(word);
        }
        return nullptr;
    } else if constexpr (is_optional<T>) {
        return value ? written(*value) : json::value(nullptr);
    } else if constexpr (is_vector<T> || std::same_as<T, Few<Attempt>>) {
        json::array items;
        items.reserve(value.size());
        for (const auto& item : value) items.push_back(written(item));
        return items;
    } else {
        Writer writer;
        fields(writer, value);
        return std::move(writer.out);
    }
}

template <class T>
std::string serialized(const T& value) {
    return json::serialize(written(value));
}

// ---- reading ---------------------------------------------------------------------------------

template <class T>
bool read(const json::value& from, T& to);

struct Reader {
    const json::object& from;
    bool is_well = true;

    template <class T>
    void operator()(std::string_view name, T& to) {
        const json::value* const value = from.if_contains(name);
        is_well = is_well && value != nullptr && read(*value, to);
    }
    // What nodes of an earlier version don't write: nothing, or false.
    template <class T>
    void later(std::string_view name, T& to) {
        to = T{};
        const json::value* const value = from.if_contains(name);
        is_well = is_well && (value == nullptr || read(*value, to));
    }
};

template <class T>
bool read_number(const json::value& from, T& to) {
    if (!from.is_int64()) return false;
    const std::int64_t number = from.get_int64();
    if (number > number_max || number < -number_max || !std::in_range<T>(number)) return false;
    to = static_cast<T>(number);
    return true;
}

template <class Items>
bool read_items(const json::array& from, Items& to) {
    to.resize(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
        if (!read(from[i], to[i])) return false;
    }
    return true;
}

template <class T>
bool read_text(const json::value& from, T& to) {
    std::string bytes;
    if (!from.is_string() || !bytes_of(from.get_string(), bytes)) return false;
    to = T(std::move(bytes));
    return true;
}

bool read_attempt(const json::value& from, Attempt& to) {
    return from.is_array() && from.get_array().size() == 2 &&
           read_number(from.get_array()[0], to.incarnation) &&
           read_number(from.get_array()[1], to.number);
}

template <class T>
bool read_word(const json::value& from, T& to) {
    if (!from.is_string()) return false;
    for (const auto& [word, meaning] : Words<T>::all) {
        if (from.get_string() == word) {
            to = meaning;
            return true;
        }
    }
    return false;
}

template <class T>
bool read(const json::value& from, T& to) {
    if constexpr (std::same_as<T, std::string> || is_name<T>) {
        return read_text(from, to);
    } else if constexpr (std::same_as<T, Duration>) {
        Duration::rep count = 0;
        const bool is_well = read_number(from, count);
        to = Duration(count);
        return is_well;
    } else if constexpr (std::same_as<T, Attempt>) {
        return read_attempt(from, to);
    } else if constexpr (std::same_as<T, bool>) {
        if (from.is_bool()) to = from.get_bool();
        return from.is_bool();
    } else if constexpr (std::integral<T>) {
        return read_number(from, to);
    } else if constexpr (std::is_enum_v<T>) {
        return read_word(from, to);
    } else if constexpr (is_optional<T>) {
        to.reset();
        return from.is_null() || read(from, to.emplace());
    } else if constexpr (is_vector<T> || std::same_as<T, Few<Attempt>>) {
        return from.is_array() && read_items(from.get_array(), to);
    } else {
        if (!from.is_object()) return false;
        Reader reader{from.get_object()};
        fields(reader, to);
        return reader.is_well && is_sane(to);
    }
}

}  // namespace

std::string to_json(const core::authority::FleetRecord& record) { return serialized(record); }
std::string to_json(const core::authority::Placement& placement) { return serialized(placement); }
std::string to_json(const core::authority::BasisChange& change) { return serialized(change); }
std::string to_json(const core::authority::NodeRow& row) { return serialized(row); }
std::string to_json(const core::GrantRecord& record) { return serialized(record); }
std::string to_json(const core::GoneFence& gone) { return serialized(gone); }
std::string to_json(const core::CancelledRequest& bar) { return serialized(bar); }
std::string to_json(const core::Claims& claims) { return serialized(claims); }
std::string to_json(const core::ResourceSettings& settings) { return serialized(settings); }

template <class T>
std::optional<T> from_json(std::string_view text) {
    json::parse_options options;
    options.max_depth = 12;
    json::monotonic_resource memory;
    json::error_code error;
    const json::value parsed = json::parse({text.data(), text.size()}, error, &memory, options);
    T value;
    if (error || !read(parsed, value)) return std::nullopt;
    return value;
}

template std::optional<core::authority::FleetRecord> from_json(std::string_view);
template std::optional<core::authority::BasisChange> from_json(std::string_view);
template std::optional<core::authority::Placement> from_json(std::string_view);
template std::optional<core::authority::NodeRow> from_json(std::string_view);
template std::optional<core::GrantRecord> from_json(std::string_view);
template std::optional<core::GoneFence> from_json(std::string_view);
template std::optional<core::CancelledRequest> from_json(std::string_view);
template std::optional<core::Claims> from_json(std::string_view);
template std::optional<core::ResourceSettings> from_json(std::string_view);

}  // namespace latchd::store::arbiter
