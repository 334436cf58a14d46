// Text and JSON into the caller's buffer: no allocation, no locale, no exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace fp32shim::record {

/// Appends to a buffer that the caller owns. What does not fit is left out and `overflowed()` turns true; the buffer
/// is never exceeded. For one thread.
class LineWriter {
  public:
    explicit LineWriter(std::span<char> out) : out_(out) {}

    /// Appends as it is.
    LineWriter& text(std::string_view text);
    LineWriter& number(std::int64_t value);
    /// Decimal with leading zeros up to `digits`. Precondition: value >= 0.
    LineWriter& padded(std::int64_t value, int digits);
    /// `2026-11-21T08:42:00.123456789Z` (RFC 3339, UTC). `time_ns`: nanoseconds since 1970, may be negative.
    LineWriter& utc_time(std::int64_t time_ns);
    /// `20261121T084200Z`, for file names.
    LineWriter& compact_utc_time(std::int64_t time_ns);
    /// What may stand between the quotes of a JSON string: quotes, backslashes and characters that are not plain
    /// (system/plain_text.hpp) escaped, each byte that is not part of valid UTF-8 replaced by U+FFFD. Where the
    /// result would exceed `limit` bytes it is cut between two characters and ends in `…` (3 bytes, within the
    /// limit). Precondition: limit >= 3.
    LineWriter& escaped(std::string_view value, std::size_t limit);

    std::size_t size() const { return size_; }
    bool overflowed() const { return overflowed_; }
    std::string_view view() const { return {out_.data(), size_}; }

  private:
    std::span<char> out_;
    std::size_t size_ = 0;
    bool overflowed_ = false;
};

/// One flat JSON object on one line. Every key is always written: the value of an absent one is null.
class JsonLine {
  public:
    explicit JsonLine(std::span<char> out) : writer_(out) { writer_.text("{"); }

    /// Writes null for an empty value. `limit` as in LineWriter::escaped.
    JsonLine& string(std::string_view key, std::string_view value, std::size_t limit);
    /// Writes a string that needs no escape and no cut; null for an empty one.
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
    /// 'N' → "N", '\0' → null.
    JsonLine& letter(std::string_view key, char value);
    JsonLine& integer(std::string_view key, std::optional<std::int64_t> value);
    /// -1 → null.
    JsonLine& size(std::string_view key, std::int64_t value);
    JsonLine& utc_time(std::string_view key, std::int64_t time_ns);
    /// 80 → "8.0", 103 → "10.3", 0 → null.
    JsonLine& compute_capability(std::string_view key, std::int32_t value);
    /// Appends members that another JsonLine has written, commas between them included.
    JsonLine& members(std::string_view members);

    /// Returns the members so far, without braces.
    std::string_view view() const { return writer_.view().substr(1); }
    /// Closes the object and ends the line. Returns the line's size, or 0 if the buffer was too small for it.
    std::size_t finish();

  private:
    LineWriter& begin(std::string_view key);
    JsonLine& null(std::string_view key);

    LineWriter writer_;
};

}  // namespace fp32shim::record
