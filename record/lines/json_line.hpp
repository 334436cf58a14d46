// Writes one line of JSON into the caller's buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "system/line_writer.hpp"

namespace fp32shim::record {

/// Writes one flat JSON object on one line. Every key is always written; an absent value becomes null.
class JsonLine {
  public:
    explicit JsonLine(std::span<char> out) : writer_(out) { writer_.text("{"); }

    /// Writes a text, escaped; null for an empty one. `limit`: see LineWriter::escaped().
    JsonLine& string(std::string_view key, std::string_view value, std::size_t limit);
    /// Writes a string that needs no escaping or truncation; null for an empty one.
    JsonLine& code(std::string_view key, std::string_view value);
    /// Writes the name of an enumeration's value; null for a value without one.
    template <class Enumeration>
    JsonLine& code(std::string_view key, Enumeration value) {
        return code(key, to_string(value));
    }
    template <class Enumeration>
    JsonLine& code(std::string_view key, std::optional<Enumeration> value) {
        return code(key, value ? to_string(*value) : std::string_view());
    }
    /// Writes a string of one character; null for '\0'.
    JsonLine& letter(std::string_view key, char value);
    JsonLine& integer(std::string_view key, std::optional<std::int64_t> value);
    /// Writes an integer; null for 0.
    JsonLine& positive(std::string_view key, std::int64_t value);
    /// Writes an integer; null for -1.
    JsonLine& size(std::string_view key, std::int64_t value);
    JsonLine& utc_time(std::string_view key, std::int64_t time_ns);
    /// Writes "8.0" for 80, "10.3" for 103, null for 0.
    JsonLine& compute_capability(std::string_view key, std::int32_t value);
    /// Appends keys and values that came from the view() of another JsonLine.
    JsonLine& members(std::string_view members);

    /// Returns the keys and values so far, with commas between them, without braces.
    std::string_view view() const { return writer_.view().substr(1); }
    /// Closes the object and ends the line. Returns the line's size, or 0 if the buffer was too small for it.
    std::size_t finish();

  private:
    system::LineWriter& begin(std::string_view key);
    JsonLine& null(std::string_view key);

    system::LineWriter writer_;
};

}  // namespace fp32shim::record
