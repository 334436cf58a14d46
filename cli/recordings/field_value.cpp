#include "cli/recordings/field_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "cli/output/moment.hpp"
#include "system/plain_text.hpp"

namespace fp32shim::cli {
namespace {

/// Returns true if the text needs no escapes within the quotes of JSON.
bool is_plain(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
}

/// Returns true if spreadsheets take the text for a formula (OWASP, "CSV injection").
bool begins_formula(std::string_view text) {
    if (text.empty()) return false;
    if (static_cast<unsigned char>(text[0]) < 0x80) return std::string_view("=+-@\t\n").find(text[0]) != text.npos;
    constexpr std::string_view full_width[] = {"＝", "＋", "－", "＠"};
    return std::any_of(std::begin(full_width), std::end(full_width),
                       [&](std::string_view begin) { return text.starts_with(begin); });
}

template <class Integer>
void append_integer(std::string& out, Integer value) {
    const fmt::format_int digits(value);
    out.append(digits.data(), digits.size());
}

void append_csv_text(std::string& out, std::string_view text) {
    if (is_plain(text) && text.find(',') == std::string_view::npos && !begins_formula(text))
        out += text;
    else
        out += csv_text(text);
}

/// Appends a number like Json does; a whole one, as nearly all are, in a fraction of the time.
void append_number(std::string& out, double number) {
    constexpr double first_with_exponent = 1e15;
    if (std::abs(number) >= first_with_exponent || number != std::trunc(number) || std::signbit(number)) {
        out += Json(number).dump();
    } else {
        append_integer(out, static_cast<std::int64_t>(number));
        out += ".0";
    }
}

std::string capability_text(std::int64_t value) { return fmt::format("{}.{}", value / 10, value % 10); }

}  // namespace

std::string csv_text(std::string_view any_text) {
    constexpr std::string_view kept = "\n\t";
    std::string text = system::plain_text(system::with_valid_utf8(any_text), kept);
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

FieldValue FieldValue::compute_capability(std::int32_t value) {
    FieldValue result(value);
    result.kind_ = value <= 0 ? Kind::null : Kind::capability;
    return result;
}

void append_json_text(std::string& out, std::string_view text) {
    if (is_plain(text))
        ((out += '"') += text) += '"';
    else
        out += dumped(Json(text), -1);
}

void FieldValue::append_json(std::string& out) const {
    switch (kind_) {
        case Kind::null:
            out += "null";
            break;
        case Kind::truth:
            out += integer_ != 0 ? "true" : "false";
            break;
        case Kind::integer:
            append_integer(out, integer_);
            break;
        case Kind::count:
            append_integer(out, static_cast<std::uint64_t>(integer_));
            break;
        case Kind::number:
            append_number(out, number_);
            break;
        case Kind::text:
            append_json_text(out, text_);
            break;
        case Kind::time:
            out += '"';
            append_timestamp(out, integer_);
            out += '"';
            break;
        case Kind::capability:
            out += fmt::format("\"{}\"", capability_text(integer_));
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
        case Kind::capability:
            out += capability_text(integer_);
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
        case Kind::capability:
            return capability_text(integer_);
    }
    return nullptr;
}

}  // namespace fp32shim::cli
