// Writes the JSON of `fp32shim report` entry by entry, because a document of a million entries would take gigabytes.
#pragma once

#include <string>
#include <string_view>

#include "cli/output/json.hpp"
#include "cli/output/json_text.hpp"
#include "cli/report/output_file.hpp"

namespace fp32shim::cli {

/// A JSON object that is written to a report's file bit by bit.
class JsonDocument {
  public:
    explicit JsonDocument(ReportOutput& output, JsonLayout layout = indented_json)
        : output_(output), json_(text_, layout) {
        json_.open('{');
    }

    /// Returns the object, so that members can be added. After many members, call flush().
    JsonText& json() { return json_; }
    /// Writes the text so far. Returns false if writing failed, now or earlier; then the caller can stop.
    bool flush() {
        is_open_ = is_open_ && output_.put(text_);
        text_.clear();
        return is_open_;
    }
    /// Adds all members of `object`.
    void add_members(const Json& object) {
        for (const auto& [name, value] : object.items()) json_.key(name).json(value);
    }
    /// Adds a member that is an array. `write_entry` writes one entry to a JsonText.
    template <class Entries, class WriteEntry>
    void add_array(std::string_view name, const Entries& entries, const WriteEntry& write_entry) {
        json_.key(name).open('[');
        for (const auto& entry : entries) {
            if (!is_open_) return;
            write_entry(json_, entry);
            flush();
        }
        json_.close(']');
    }
    void finish() {
        json_.close('}');
        text_ += '\n';
        flush();
    }

  private:
    ReportOutput& output_;
    std::string text_;
    JsonText json_;
    bool is_open_ = true;
};

}  // namespace fp32shim::cli
