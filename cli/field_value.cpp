#include "cli/field_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/moment.hpp"
#include "policy/plain_text.hpp"
#include "record/utf8.hpp"

namespace fp32shim::cli {
namespace {

/// Returns whether the text needs no escapes within the quotes of JSON.
bool is_plain(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
}

/// Spreadsheets take a cell that begins so for a formula (OWASP, "CSV injection"); the last four are full-width
/// forms.
bool begins_formula(std::string_view text) {
    constexpr std::string_view begins[] = {"=", "+", "-", "@", "\t", "\n", "＝", "＋", "－", "＠"};
    return std::any_of(std::begin(begins), std::end(begins),
                       [&](std::string_view begin) { return text.starts_with(begin); });
}

void append_csv_text(std::string& out, std::string_view text) {
    if (is_plain(text) && text.find(',') == std::string_view::npos && !begins_formula(text))
        out += text;
    else
        out += csv_text(text);
}

}  // namespace

std::string csv_text(std::string_view any_text) {
    constexpr std::string_view kept = "\n\t";
    std::string text = policy::plain_text(record::with_valid_utf8(any_text), kept);
    if (begins_formula(text)) text.insert(0, 1, '\'');
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
    return quoted + '"';
}

FieldValue FieldValue::time(std::int64_t time_ns) {
    FieldValue value(time_ns);
    value.kind_ = Kind::time;
    return value;
}

void append_json_text(std::string& out, std::string_view text) {
    if (is_plain(text))
        ((out += '"') += text) += '"';
    else
        out += dumped(Json(text), -1);
}

void FieldValue::append_json(std::string& out) const {
    const auto end = std::back_inserter(out);
    switch (kind_) {
        case Kind::null:
            out += "null";
            break;
        case Kind::truth:
            out += integer_ != 0 ? "true" : "false";
            break;
        case Kind::integer:
            fmt::format_to(end, "{}", integer_);
            break;
        case Kind::count:
            fmt::format_to(end, "{}", static_cast<std::uint64_t>(integer_));
            break;
        case Kind::number:
            out += Json(number_).dump();
            break;
        case Kind::text:
            append_json_text(out, text_);
            break;
        case Kind::time:
            out += '"';
            append_timestamp(out, integer_);
            out += '"';
            break;
    }
}

void FieldValue::append_csv(std::string& out) const {
    switch (kind_) {
        case Kind::null:
            break;
        case Kind::number:
            fmt::format_to(std::back_inserter(out), "{:.17g}", number_);
            break;
        case Kind::text:
            append_csv_text(out, text_);
            break;
        case Kind::time:
            append_timestamp(out, integer_);
            break;
        case Kind::truth:
        case Kind::integer:
        case Kind::count:
            append_json(out);
            break;
    }
}

Json FieldValue::json() const {
    switch (kind_) {
        case Kind::null:
            break;
        case Kind::truth:
            return integer_ != 0;
        case Kind::integer:
            return integer_;
        case Kind::count:
            return static_cast<std::uint64_t>(integer_);
        case Kind::number:
            return number_;
        case Kind::text:
            return text_;
        case Kind::time:
            return timestamp(integer_);
    }
    return nullptr;
}

}  // namespace fp32shim::cli
