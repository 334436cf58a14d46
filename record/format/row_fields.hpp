// Converts a decision to a row of a recording, and back. record/decision_fields.def lists the fields.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <type_traits>

#include "record/events.hpp"
#include "record/format/format.hpp"

namespace fp32shim::record::format {

constexpr std::uint8_t absent_value(const std::optional<policy::AppliedFormat>&) { return no_actual; }
constexpr std::int32_t absent_value(const std::optional<int>&) { return no_status; }

template <class Value, class Stored>
constexpr void store_value(const Value& value, Stored& stored) {
    stored = static_cast<Stored>(value);
}
template <class Value, class Stored>
constexpr void store_value(const std::optional<Value>& value, Stored& stored) {
    stored = value ? static_cast<Stored>(*value) : absent_value(value);
}
template <class Value, class Stored>
constexpr void load_value(const Stored& stored, Value& value) {
    value = static_cast<Value>(stored);
}
template <class Value, class Stored>
constexpr void load_value(const Stored& stored, std::optional<Value>& value) {
    if (stored != absent_value(value)) value = static_cast<Value>(stored);
}

/// Tells for each field of a row if the field is the id of a text.
inline constexpr bool is_text_of_a_row[] = {
#define DECISION_FIELD(key, member, ...) std::is_same_v<decltype(RowContent::key), StringId>,
#define CALL_FIELD(...)
#include "record/decision_fields.def"
};
inline constexpr auto text_count_of_a_row =
    static_cast<std::size_t>(std::count(std::begin(is_text_of_a_row), std::end(is_text_of_a_row), true));

/// Fills `content`, which must be all zeros, from `decision`. `intern(text, id)` stores `text` in the file and its id
/// in `id`; it returns false if the file has no space for the text, and then fill_row_content() returns false too.
template <class Intern>
bool fill_row_content(const DecisionEvent& decision, RowContent& content, const Intern& intern) {
    // New texts are stored in the order function, caller, provider, and then in the order of decision_fields.def.
    if (!intern(decision.call.function, content.function) || !intern(decision.call.caller, content.caller) ||
        !intern(decision.provider, content.provider))
        return false;
    const auto put = [&](const auto& value, auto& stored) {
        if constexpr (std::is_same_v<decltype(value), const std::string_view&>) {
            return stored != 0 || intern(value, stored);
        } else {
            store_value(value, stored);
            return true;
        }
    };
    // `stored` is a copy, because no reference can be bound to a bit-field. If the id of an algorithm's text does not
    // fit into the 28 bits of `content.algorithm`, the algorithm is left out.
#define DECISION_FIELD(key, member, ...)                 \
    {                                                    \
        auto stored = content.key;                       \
        if (!put(decision.member, stored)) return false; \
        content.key = stored;                            \
        if (content.key != stored) content.key = 0;      \
    }
#define CALL_FIELD(...)
#include "record/decision_fields.def"
    return true;
}

/// Returns the decision that `content` holds. `text_of(id)` returns a view of the text with this id.
template <class TextOf>
DecisionEvent decision_of_content(const RowContent& content, const TextOf& text_of) {
    DecisionEvent decision;
    const auto load_field = [&](const auto& stored, auto& value) {
        if constexpr (std::is_same_v<decltype(value), std::string_view&>)
            value = text_of(stored);
        else
            load_value(stored, value);
    };
#define DECISION_FIELD(key, member, ...) load_field(content.key, decision.member);
#define CALL_FIELD(...)
#include "record/decision_fields.def"
    return decision;
}

}  // namespace fp32shim::record::format
