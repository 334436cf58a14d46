// One value of a row or of an event, for every format: without a document around it, since there may be millions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/output/json.hpp"

namespace fp32shim::cli {

/// One value of an output field: null, a truth value, a number or a text. The text is not copied: it has to outlive
/// this.
class FieldValue {
  public:
    FieldValue() = default;  ///< null: unknown, or does not apply
    FieldValue(std::nullptr_t) {}
    FieldValue(bool value) : kind_(Kind::truth), integer_(value ? 1 : 0) {}
    FieldValue(std::int32_t value) : kind_(Kind::integer), integer_(value) {}
    FieldValue(std::uint32_t value) : kind_(Kind::integer), integer_(value) {}
    FieldValue(std::int64_t value) : kind_(Kind::integer), integer_(value) {}
    FieldValue(std::uint64_t value) : kind_(Kind::count), integer_(static_cast<std::int64_t>(value)) {}
    FieldValue(double value) : kind_(Kind::number), number_(value) {}
    FieldValue(std::string_view text) : kind_(Kind::text), text_(text) {}
    FieldValue(const char* text) : FieldValue(std::string_view(text)) {}

    /// null for an empty text.
    static FieldValue text_or_null(std::string_view text) { return text.empty() ? FieldValue() : FieldValue(text); }
    /// null for a negative number.
    static FieldValue size_or_null(std::int64_t size) { return size < 0 ? FieldValue() : FieldValue(size); }
    /// `"8.0"` for 80; null for 0.
    static FieldValue compute_capability(std::int32_t value);
    /// A point in time, as JSON has it.
    static FieldValue time(std::int64_t time_ns);
    /// null for 0.
    static FieldValue time_or_null(std::int64_t time_ns) { return time_ns == 0 ? FieldValue() : time(time_ns); }

    /// Appends the value as json_text() writes it.
    void append_json(std::string& out) const;
    /// Nothing for null; a number as it is, also a negative one; a text as csv_text().
    void append_csv(std::string& out) const;
    Json json() const;

  private:
    enum class Kind : std::uint8_t { null, truth, integer, count, number, text, time, capability };

    Kind kind_ = Kind::null;
    union {
        std::int64_t integer_ = 0;
        double number_;
    };
    std::string_view text_;
};

/// A text as a field of RFC 4180: in quotes where it holds a comma, a quote or a line feed. Characters that are not
/// plain (system/plain_text.hpp), but for line feeds and tabs, become \xNN; a text that a spreadsheet would take for
/// a formula gets a `'` before it.
std::string csv_text(std::string_view text);

/// `text` as a string of JSON, quotes and all, as dumped() writes it.
void append_json_text(std::string& out, std::string_view text);

}  // namespace fp32shim::cli
