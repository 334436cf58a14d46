#include "cli/field_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/moment.hpp"
#include "record/utf8.hpp"

namespace fp32shim::cli {
namespace {

/// Whether it is the same between quotes.
bool is_plain(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
}

void append_csv_text(std::string& out, std::string_view any_text) {
    constexpr std::string_view needs_quotes = ",\"\r\n";
    if (is_plain(any_text) && any_text.find(',') == std::string_view::npos) {
        out += any_text;
        return;
    }
    const std::string text = record::with_valid_utf8(any_text);
    if (text.find_first_of(needs_quotes) == std::string::npos) {
        out += text;
        return;
    }
    out += '"';
    for (const char c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    out += '"';
}

}  // namespace

FieldValue FieldValue::time(std::int64_t time_ns) {
    FieldValue value(time_ns);
    value.kind_ = Kind::time;
    return value;
}

void append_json_text(std::string& out, std::string_view text) {
    if (is_plain(text))
        ((out += '"') += text) += '"';
    else
        out += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
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
