// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0
// Between a field of Options and its text: the half of the schema that knows the types.
#include "schema.hpp"
#include "store_url.hpp"
#include "value.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

namespace latchd::config {
namespace {

// The words of an enumeration, in the order of its enumerators.
template <class E>
constexpr std::array<std::string_view, 0> words{};
template <>
constexpr std::array<std::string_view, 3> words<StoreKind>{"redis", "mysql", "local"};
template <>
constexpr std::array<std::string_view, 3> words<Degrade>{"none", "mysql", "local"};
template <>
constexpr std::array<std::string_view, 2> words<Safety>{"available", "strict"};
template <>
constexpr std::array<std::string_view, 3> words<Strategy>{"upsert", "optimistic", "pessimistic"};
template <>
constexpr std::array<std::string_view, 3> words<Tls>{"off", "required", "verified"};
template <>
constexpr std::array<std::string_view, 4> words<LogLevel>{"debug", "info", "warning", "error"};

template <class E>
std::string list_words() {
    std::string out;
    for (const auto word : words<E>) out += (out.empty() ? "" : ", ") + std::string(word);
    return out;
}

template <class T>
struct Unwrap {
    using type = T;
};
template <class T>
struct Unwrap<std::optional<T>> {
    using type = T;
};

std::string format_number(const Key& key, std::uint64_t value) {
    switch (key.type) {
        case Type::size:
            return format_size(value);
        case Type::duration:
            return format_duration(Duration(static_cast<Duration::rep>(value)));
        default:
            return std::to_string(value);
    }
}

std::string check_range(const Key& key, std::string_view text, std::uint64_t value) {
    if (value >= key.range.min && value <= key.range.max) return {};
    if (key.range.min == key.range.max) {
        return in_quotes(text) + " is not supported; this version allows only " +
               format_number(key, key.range.min);
    }
    return in_quotes(text) + " is out of range; from " + describe_range(key);
}

// Moves a parsed value into its field, or says why not.
template <class T, class F>
std::string store_value(Parsed<T> parsed, F& field) {
    if (!parsed) return parsed.error;
    field = std::move(*parsed.value);
    return {};
}

class Setter {
public:
    Setter(const Key& key, std::string_view text) : key_(key), text_(text) {}

    std::string operator()(bool* field) const { return store_value(parse_boolean(text_), *field); }
    std::string operator()(Secret* field) const {
        if (text_.empty()) return "the password is empty; leave the key out";
        *field = Secret(std::string(text_));
        return {};
    }
    std::string operator()(Address* field) const {
        return store_value(parse_address(text_), *field);
    }
    std::string operator()(LogTarget* field) const {
        return store_value(parse_log_target(text_), *field);
    }
    std::string operator()(Rate* field) const { return store_value(parse_rate(text_), *field); }
    std::string operator()(std::string* field) const {
        if (key_.type == Type::name) {
            if (text_.empty() && key_.empty_is_default) return {};
            return store_value(parse_name(text_), *field);
        }
        if (text_.empty()) return "is empty; leave the key out to get its default";
        if (text_.find('\0') != std::string_view::npos) return "has a zero byte";
        if (key_.type == Type::database) return store_value(parse_database(text_), *field);
        if (key_.type == Type::path && text_.front() != '/') {
            return in_quotes(text_) + " is not an absolute path";
        }
        *field = text_;
        return {};
    }
    std::string operator()(Store* field) const {
        auto parsed = parse_store_url(text_);
        if (!parsed) return parsed.error;
        field->kind = parsed.value->kind;
        field->address = std::move(parsed.value->address);
        field->username = std::move(parsed.value->username);
        field->password = std::move(parsed.value->password);
        field->database = std::move(parsed.value->database);
        return {};
    }

    // Enumerations and numbers, plain or optional.
    template <class T>
    std::string operator()(T* field) const {
        using Value = typename Unwrap<T>::type;
        if constexpr (std::is_enum_v<Value>) {
            const auto word = std::find(words<Value>.begin(), words<Value>.end(), text_);
            if (word == words<Value>.end()) {
                return in_quotes(text_) + " is not one of " + list_words<Value>();
            }
            *field = static_cast<Value>(word - words<Value>.begin());
        } else {
            std::uint64_t number = 0;
            if (auto error = read_number(number); !error.empty()) return error;
            if (auto error = check_range(key_, text_, number); !error.empty()) return error;
            if constexpr (std::is_same_v<Value, Duration>) {
                *field = Duration(static_cast<Duration::rep>(number));
            } else {
                *field = static_cast<Value>(number);
            }
        }
        return {};
    }

private:
    std::string read_number(std::uint64_t& number) const {
        if (key_.type == Type::size) return store_value(parse_size(text_), number);
        if (key_.type == Type::count) return store_value(parse_count(text_), number);
        auto duration = parse_duration(text_);
        if (!duration) return duration.error;
        number = static_cast<std::uint64_t>(duration.value->count());
        return {};
    }

    const Key& key_;
    std::string_view text_;
};

class Getter {
public:
    using Text = std::optional<std::string>;
    explicit Getter(const Key& key) : key_(key) {}

    Text operator()(const bool* field) const { return *field ? "true" : "false"; }
    Text operator()(const Secret* field) const { return field->empty() ? Text() : Text("***"); }
    Text operator()(const Address* field) const {
        return *field == Address{} ? Text() : Text(field->to_string());
    }
    Text operator()(const LogTarget* field) const { return format_log_target(*field); }
    Text operator()(const Rate* field) const {
        return std::to_string(field->count) + "/" + format_duration(field->per);
    }
    Text operator()(const std::string* field) const {
        return field->empty() ? Text() : Text(*field);
    }
    Text operator()(const Store*) const { return {}; }
    template <class T>
    Text operator()(const std::optional<T>* field) const {
        return *field ? (*this)(&**field) : Text();
    }
    template <class T>
    Text operator()(const T* field) const {
        if constexpr (std::is_enum_v<T>) {
            return std::string(words<T>[static_cast<std::size_t>(*field)]);
        } else if constexpr (std::is_same_v<T, Duration>) {
            return format_duration(*field);
        } else {
            return format_number(key_, *field);
        }
    }

private:
    const Key& key_;
};

}  // namespace

std::string set_field(const Key& key, Scope scope, std::string_view text) {
    return std::visit(Setter(key, text), key.field(scope));
}

std::optional<std::string> get_field(const Key& key, Scope scope) {
    return std::visit([&](const auto* field) { return Getter(key)(field); }, key.field(scope));
}

std::string describe_range(const Key& key) {
    if (key.range.max == 0) return {};
    if (key.range.min == key.range.max) return format_number(key, key.range.min);
    return format_number(key, key.range.min) + " to " + format_number(key, key.range.max);
}

std::string describe_type(const Key& key) {
    switch (key.type) {
        case Type::boolean:
            return "true or false";
        case Type::count:
            return "number";
        case Type::size:
            return "size";
        case Type::duration:
            return "duration";
        case Type::rate:
            return "rate";
        case Type::name:
            return "name";
        case Type::text:
            return "text";
        case Type::secret:
            return "secret";
        case Type::path:
            return "absolute path";
        case Type::address:
            return "address";
        case Type::database:
            return "number or name";
        case Type::log_target:
            return "auto, journal, stderr or file:/path";
        case Type::store_url:
            return "URL";
        case Type::choice:
            break;
    }
    Options options;
    options.stores.emplace_back();
    options.listen.emplace_back();
    options.resources.list.emplace_back();
    const auto field = key.field(Scope{options});
    if (std::holds_alternative<std::optional<Degrade>*>(field)) return list_words<Degrade>();
    if (std::holds_alternative<Safety*>(field)) return list_words<Safety>();
    if (std::holds_alternative<Strategy*>(field)) return list_words<Strategy>();
    if (std::holds_alternative<Tls*>(field)) return list_words<Tls>();
    if (std::holds_alternative<LogLevel*>(field)) return list_words<LogLevel>();
    return list_words<StoreKind>();
}

std::string_view word_of(StoreKind kind) {
    return words<StoreKind>[static_cast<std::size_t>(kind)];
}

}  // namespace latchd::config
