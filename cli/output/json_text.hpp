// JSON that is written value by value: for documents with a million entries, which as a Json would take gigabytes,
// and for millions of lines.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cli/output/field_value.hpp"

namespace fp32shim::cli {

/// Places of line feeds in JSON, and of the blanks after them.
struct JsonLayout {
    std::size_t levels = 0;       ///< values within so many brackets stand on lines of their own
    std::size_t indentation = 0;  ///< blanks for each level; with some, there is a blank behind each key too
};
/// The layout of dumped() with an indentation of 2.
inline constexpr JsonLayout indented_json{std::numeric_limits<std::size_t>::max(), 2};

/// Appends JSON to a text, which the caller may empty at any time. Keys need no escapes.
class JsonText {
  public:
    explicit JsonText(std::string& out, JsonLayout layout = {}) : out_(out), layout_(layout) {}

    /// Begins an object `{` or an array `[`.
    JsonText& open(char bracket) {
        begin();
        out_ += bracket;
        ++level_;
        has_values_ = false;
        return *this;
    }
    /// Ends it, by `}` or `]`.
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
    /// Appends a value that is JSON already, or several, or members of an object, with commas between them.
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
    /// Writes what stands before a value or a key.
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
    std::size_t level_ = 0;  ///< brackets that are open
    bool has_values_ = false, is_behind_key_ = false;
};

}  // namespace fp32shim::cli
