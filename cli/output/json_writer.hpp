// Writes JSON value by value. A document with a million entries would take gigabytes as a Json, and writing millions
// of lines from Json objects would take too long.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cli/output/field_value.hpp"

namespace fp32shim::cli {

/// Decides where a JsonWriter puts line feeds and blanks.
struct JsonLayout {
    std::size_t levels = 0;       ///< values inside at most this many brackets get lines of their own
    std::size_t indentation = 0;  ///< number of blanks per level; if it is not 0, a blank also follows each key
};
/// The layout of dump_json() with an indentation of 2.
inline constexpr JsonLayout indented_json{std::numeric_limits<std::size_t>::max(), 2};

/// Collects JSON in a text, which flush() passes to a sink. Keys must not contain characters that need escapes.
class JsonWriter {
  public:
    /// Receives a piece of text. Returns false if it could not be written.
    using Sink = std::function<bool(std::string_view)>;

    explicit JsonWriter(JsonLayout layout = {}, Sink sink = nullptr) : layout_(layout), sink_(std::move(sink)) {}

    /// Begins an object with `{` or an array with `[`.
    JsonWriter& open(char bracket) {
        begin_item();
        text_ += bracket;
        ++level_;
        has_values_ = false;
        return *this;
    }
    /// Ends the object with `}` or the array with `]`.
    JsonWriter& close(char bracket) {
        if (std::exchange(has_values_, true)) break_line(level_ - 1);
        --level_;
        text_ += bracket;
        return *this;
    }
    /// Ends the outermost object or array with `bracket` and a line feed. The next value begins a new line.
    JsonWriter& finish_line(char bracket) {
        close(bracket);
        text_ += '\n';
        has_values_ = false;
        return *this;
    }
    JsonWriter& key(std::string_view name) {
        begin_item();
        text_.append("\"").append(name).append(layout_.indentation > 0 ? "\": " : "\":");
        is_behind_key_ = true;
        return *this;
    }
    JsonWriter& value(const FieldValue& value) {
        begin_item();
        value.append_json(text_);
        return *this;
    }
    /// Appends a Json, which may be an object or an array.
    JsonWriter& json_value(const Json& value);
    /// Appends text that is JSON already: a value, or several values or members separated by commas.
    JsonWriter& raw(std::string_view json) {
        begin_item();
        text_ += json;
        return *this;
    }
    JsonWriter& member(std::string_view name, const FieldValue& value) { return key(name).value(value); }
    /// Appends a member for each column of a row.
    template <class Row>
    JsonWriter& members(std::span<const Column<Row>> columns, const Row& row) {
        for (const Column<Row>& column : columns) member(column.name, column.value(row));
        return *this;
    }
    /// Appends all members of `object`.
    JsonWriter& members(const Json& object);
    /// Appends an array and flushes each of its entries. `write_entry` appends one entry to this object.
    template <class Entries, class WriteEntry>
    JsonWriter& array(const Entries& entries, const WriteEntry& write_entry) {
        open('[');
        for (const auto& entry : entries) {
            write_entry(entry);
            if (!flush()) return *this;
        }
        return close(']');
    }

    /// Passes the collected text to the sink if it has at least `least` bytes. Returns false if the sink could not
    /// write this or an earlier text, so that the caller can stop.
    bool flush(std::size_t least = 0) {
        if (text_.size() < least) return is_open_;
        is_open_ = is_open_ && sink_(text_);
        text_.clear();
        return is_open_;
    }
    /// Returns the collected text and clears it.
    std::string take_text() { return std::exchange(text_, {}); }

  private:
    /// Writes the comma, line feed and blanks that precede a value or a key.
    void begin_item() {
        if (std::exchange(is_behind_key_, false)) return;
        if (std::exchange(has_values_, true)) text_ += ',';
        if (level_ > 0) break_line(level_);
    }
    void break_line(std::size_t level) {
        if (level_ <= layout_.levels) text_.append("\n").append(level * layout_.indentation, ' ');
    }

    JsonLayout layout_;
    Sink sink_;
    std::string text_;
    std::size_t level_ = 0;  ///< number of open brackets
    bool has_values_ = false, is_behind_key_ = false, is_open_ = true;
};

}  // namespace fp32shim::cli
