// Writes JSON value by value, for documents with a million entries, which would take gigabytes as a Json, and for
// millions of lines.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cli/output/field_value.hpp"

namespace fp32shim::cli {

/// Line feeds in JSON, and the blanks after them.
struct JsonLayout {
    std::size_t levels = 0;       ///< values inside at most this many brackets get lines of their own
    std::size_t indentation = 0;  ///< blanks per level; if it is not 0, a blank also follows each key
};
/// The layout of dumped() with an indentation of 2.
inline constexpr JsonLayout indented_json{std::numeric_limits<std::size_t>::max(), 2};

/// Appends JSON to a text. The caller may empty the text at any time. Keys must need no escapes.
class JsonText {
  public:
    explicit JsonText(std::string& out, JsonLayout layout = {}) : out_(out), layout_(layout) {}

    /// Begins an object with `{` or an array with `[`.
    JsonText& open(char bracket) {
        begin();
        out_ += bracket;
        ++level_;
        has_values_ = false;
        return *this;
    }
    /// Ends the object with `}` or the array with `]`.
    JsonText& close(char bracket) {
        if (std::exchange(has_values_, true)) break_line(level_ - 1);
        --level_;
        out_ += bracket;
        return *this;
    }
    JsonText& key(std::string_view name) {
        begin();
        out_.append("\"").append(name).append(layout_.indentation > 0 ? "\": " : "\":");
        is_behind_key_ = true;
        return *this;
    }
    JsonText& value(const FieldValue& value) {
        begin();
        value.append_json(out_);
        return *this;
    }
    JsonText& json(const Json& value);
    /// Appends text that is JSON already: a value, or several values or members separated by commas.
    JsonText& raw(std::string_view json) {
        begin();
        out_ += json;
        return *this;
    }
    JsonText& member(std::string_view name, const FieldValue& value) { return key(name).value(value); }
    /// Appends a member for each column of a row.
    template <class Row>
    JsonText& members(std::span<const Column<Row>> columns, const Row& row) {
        for (const Column<Row>& column : columns) member(column.name, column.value(row));
        return *this;
    }

  private:
    /// Writes the comma, line feed and blanks that precede a value or a key.
    void begin() {
        if (std::exchange(is_behind_key_, false)) return;
        if (std::exchange(has_values_, true)) out_ += ',';
        if (level_ > 0) break_line(level_);
    }
    void break_line(std::size_t level) {
        if (level_ <= layout_.levels) out_.append("\n").append(level * layout_.indentation, ' ');
    }

    std::string& out_;
    JsonLayout layout_;
    std::size_t level_ = 0;  ///< number of open brackets
    bool has_values_ = false, is_behind_key_ = false;
};

}  // namespace fp32shim::cli
