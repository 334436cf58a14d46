// One line of JSON in a buffer of the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "system/line_writer.hpp"

namespace fp32shim::record {

/// One flat JSON object on one line. Absent values are `null`: every key is always written.
class JsonLine {
  public:
    explicit JsonLine(std::span<char> out) : writer_(out) { writer_.text("{"); }

    /// An empty value is null. `limit` as in LineWriter::escaped.
    JsonLine& string(std::string_view key, std::string_view value, std::size_t limit);
    /// A string that is known to need no escape and no cut, such as a code of ours. An empty value is null.
    JsonLine& code(std::string_view key, std::string_view value);
    /// 'N' → "N", '\0' → null.
    JsonLine& letter(std::string_view key, char value);
    JsonLine& integer(std::string_view key, std::int64_t value);
    /// null where value == absent.
    JsonLine& integer_or_null(std::string_view key, std::int64_t value, std::int64_t absent);
    JsonLine& null(std::string_view key);
    JsonLine& utc_time(std::string_view key, std::int64_t time_ns);
    /// 80 → "8.0", 103 → "10.3", 0 → null.
    JsonLine& compute_capability(std::string_view key, std::int32_t value);

    /// Closes the object and ends the line. The line's size, or 0 where the buffer was too small for it.
    std::size_t finish();

  private:
    system::LineWriter& begin(std::string_view key);

    system::LineWriter writer_;
    bool first_ = true;
};

}  // namespace fp32shim::record
