// Arrays of a report's JSON, written entry by entry: a document of a million entries would take gigabytes.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "cli/output/json.hpp"
#include "cli/report/output_file.hpp"

namespace fp32shim::cli {

/// Appends `json`, indented, each line but the first behind four blanks.
inline void append_indented(std::string& text, const Json& json) {
    for (const char c : dumped(json, 2)) {
        text += c;
        if (c == '\n') text += "    ";
    }
}

/// Writes an array as the member `name` of the report's object, behind other members. `write_element` appends an
/// entry's JSON to a text. Returns false once a write failed.
template <class Entries, class WriteElement>
bool write_array(std::string_view name, const Entries& entries, const WriteElement& write_element,
                 ReportOutput& output) {
    std::string text = fmt::format(",\n  \"{}\": [", name);
    bool is_first = true;
    for (const auto& entry : entries) {
        text += std::exchange(is_first, false) ? "\n    " : ",\n    ";
        write_element(text, entry);
        if (!output.put(text)) return false;
        text.clear();
    }
    return output.put(text + (is_first ? "]" : "\n  ]"));
}

}  // namespace fp32shim::cli
