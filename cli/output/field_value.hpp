// Defines one value of a row or an event, for every output format. There may be millions of values, so they are
// written one by one, and not collected in a Json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/output/json_fwd.hpp"

namespace fp32shim::cli {

/// One value of an output field: null, a boolean, a number, a time or a text. It does not own the text.
class FieldValue {
  public:
    /// Point in time, in nanoseconds since 1970 (UTC). It is written in the form of timestamp().
    struct Time {
        std::int64_t ns;
    };
    /// Compute capability of a GPU, times ten. The value 80 is written as `"8.0"`.
    struct ComputeCapability {
        std::int32_t value;
    };

    FieldValue() = default;  ///< makes null, which means that the value is unknown or does not apply
    template <class Value>
    FieldValue(Value value) : value_(value) {}
    FieldValue(std::uint32_t value) : value_(std::uint64_t{value}) {}

    /// Returns the text; null if it is empty.
    static FieldValue text_or_null(std::string_view text) { return text.empty() ? FieldValue() : FieldValue(text); }
    /// Returns the number; null if it is negative.
    static FieldValue size_or_null(std::int64_t size) { return size < 0 ? FieldValue() : FieldValue(size); }
    /// Returns the time; null if it is 0.
    static FieldValue time_or_null(std::int64_t time_ns) {
        return time_ns == 0 ? FieldValue() : FieldValue(Time{time_ns});
    }

    /// Appends the value as JSON. Texts become strings with the escapes of dump_json().
    void append_json(std::string& out) const;
    /// Appends the value as CSV. Null is written as an empty field, and a text is put in quotes where RFC 4180 needs
    /// them. Negative numbers are written as numbers, although they begin with a character that could begin a
    /// formula.
    void append_csv(std::string& out) const;
    /// Returns the value as a Json.
    Json to_json() const;
    /// Limits a count to 63 bits, because database engines read signed integers of 64 bits. Only damaged recordings
    /// have counts that are larger.
    FieldValue clamped_to_int64() const {
        constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
        const std::uint64_t* const count = std::get_if<std::uint64_t>(&value_);
        return count != nullptr && *count > most ? FieldValue(most) : *this;
    }

  private:
    std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string_view, Time, ComputeCapability>
        value_;
};

/// A column of a table of rows. Its name is a key in JSON and a column title in CSV.
template <class Row>
struct Column {
    std::string_view name;
    FieldValue (*value)(const Row& row);
};

/// Concatenates several lists of columns.
template <class Row>
std::vector<Column<Row>> concatenated_columns(std::initializer_list<std::span<const Column<Row>>> parts) {
    std::vector<Column<Row>> columns;
    for (const std::span<const Column<Row>> part : parts) columns.insert(columns.end(), part.begin(), part.end());
    return columns;
}

/// Appends the fields of a row, separated by commas.
template <class Row>
void append_csv_row(std::string& out, std::span<const Column<Row>> columns, const Row& row) {
    for (const Column<Row>& column : columns) {
        column.value(row).append_csv(out);
        out += ',';
    }
    out.pop_back();
}

/// Returns the names of columns, separated by commas.
template <class Row>
std::string csv_header(std::span<const Column<Row>> columns) {
    std::string text;
    for (const Column<Row>& column : columns) text.append(column.name) += ',';
    text.pop_back();
    return text;
}

}  // namespace fp32shim::cli
