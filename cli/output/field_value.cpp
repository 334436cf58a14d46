#include "cli/output/field_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <iterator>

#include "cli/output/json.hpp"
#include "cli/output/moment.hpp"
#include "system/plain_text.hpp"

namespace fp32shim::cli {
namespace {

/// Returns true if `text` needs no escapes in JSON.
bool is_plain(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
}

/// Returns true if spreadsheets would read the text as a formula (OWASP, "CSV injection").
bool begins_formula(std::string_view text) {
    if (text.empty()) return false;
    if (static_cast<unsigned char>(text[0]) < 0x80) return std::string_view("=+-@\t").find(text[0]) != text.npos;
    constexpr std::string_view full_width[] = {"＝", "＋", "－", "＠"};
    return std::any_of(std::begin(full_width), std::end(full_width),
                       [&](std::string_view begin) { return text.starts_with(begin); });
}

/// Returns a text as a CSV field (RFC 4180), which is in quotes if it contains a comma or a quote. Characters that
/// are not plain (system/plain_text.hpp), except tabs, become \xNN. If a spreadsheet would read the text as a
/// formula, a `'` is put before it.
std::string csv_text(std::string_view any_text) {
    constexpr std::string_view kept = "\t";
    std::string text = system::plain_text(system::with_valid_utf8(any_text), kept);
    if (begins_formula(text)) text.insert(0, 1, '\'');
    if (text.find_first_of(",\"") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
    return quoted + '"';
}

std::string text_of(FieldValue::ComputeCapability capability) {
    return fmt::format("{}.{}", capability.value / 10, capability.value % 10);
}

void append_as_json(std::string& out, std::nullptr_t) { out += "null"; }
void append_as_json(std::string& out, bool value) { out += value ? "true" : "false"; }
void append_as_json(std::string& out, std::integral auto value) {
    const fmt::format_int digits(value);
    out.append(digits.data(), digits.size());
}
void append_as_json(std::string& out, std::string_view text) {
    if (is_plain(text))
        ((out += '"') += text) += '"';
    else
        out += dump_json(Json(text), -1);
}
void append_as_json(std::string& out, FieldValue::ComputeCapability value) { out += '"' + text_of(value) + '"'; }
void append_as_json(std::string& out, FieldValue::Time time) {
    out += '"';
    append_timestamp(out, time.ns);
    out += '"';
}
/// Appends a number in the same form as Json does. Most numbers are whole, and this function writes them much faster
/// than Json.
void append_as_json(std::string& out, double number) {
    constexpr double first_with_exponent = 1e15;
    if (std::abs(number) >= first_with_exponent || number != std::trunc(number) || std::signbit(number)) {
        out += Json(number).dump();
    } else {
        append_as_json(out, static_cast<std::int64_t>(number));
        out += ".0";
    }
}

void append_as_csv(std::string& out, auto value) { append_as_json(out, value); }
void append_as_csv(std::string&, std::nullptr_t) {}
void append_as_csv(std::string& out, double value) { fmt::format_to(std::back_inserter(out), "{:.17g}", value); }
void append_as_csv(std::string& out, FieldValue::Time time) { append_timestamp(out, time.ns); }
void append_as_csv(std::string& out, FieldValue::ComputeCapability value) { out += text_of(value); }
void append_as_csv(std::string& out, std::string_view text) {
    if (is_plain(text) && text.find(',') == std::string_view::npos && !begins_formula(text))
        out += text;
    else
        out += csv_text(text);
}

Json tree_of(auto value) { return value; }
Json tree_of(FieldValue::Time time) { return timestamp(time.ns); }
Json tree_of(FieldValue::ComputeCapability value) { return text_of(value); }

}  // namespace

void FieldValue::append_json(std::string& out) const {
    std::visit([&out](auto value) { append_as_json(out, value); }, value_);
}

void FieldValue::append_csv(std::string& out) const {
    std::visit([&out](auto value) { append_as_csv(out, value); }, value_);
}

Json FieldValue::to_json() const {
    return std::visit([](auto value) { return tree_of(value); }, value_);
}

}  // namespace fp32shim::cli
