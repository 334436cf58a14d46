#include "record/lines/json_line.hpp"

namespace fp32shim::record {

system::LineWriter& JsonLine::begin(std::string_view key) {
    return writer_.size() > 1 ? writer_.texts(",\"", key, "\":") : writer_.texts("\"", key, "\":");
}

JsonLine& JsonLine::members(std::string_view members) {
    writer_.texts(writer_.size() > 1 ? "," : "", members);
    return *this;
}

JsonLine& JsonLine::string(std::string_view key, std::string_view value, std::size_t limit) {
    if (value.empty()) return null(key);
    begin(key).texts("\"").escaped(value, limit).texts("\"");
    return *this;
}

JsonLine& JsonLine::code(std::string_view key, std::string_view value) {
    if (value.empty()) return null(key);
    begin(key).texts("\"", value, "\"");
    return *this;
}

JsonLine& JsonLine::letter(std::string_view key, char value) {
    return string(key, std::string_view(&value, value == '\0' ? 0 : 1), 6);
}

JsonLine& JsonLine::integer(std::string_view key, std::optional<std::int64_t> value) {
    if (!value) return null(key);
    begin(key).number(*value);
    return *this;
}

JsonLine& JsonLine::size(std::string_view key, std::int64_t value) {
    return integer(key, value == -1 ? std::nullopt : std::optional(value));
}

JsonLine& JsonLine::positive(std::string_view key, std::int64_t value) {
    return integer(key, value == 0 ? std::nullopt : std::optional(value));
}

JsonLine& JsonLine::null(std::string_view key) {
    begin(key).texts("null");
    return *this;
}

JsonLine& JsonLine::utc_time(std::string_view key, std::int64_t time_ns) {
    begin(key).texts("\"").utc_time(time_ns).texts("\"");
    return *this;
}

JsonLine& JsonLine::compute_capability(std::string_view key, std::int32_t value) {
    if (value == 0) return null(key);
    begin(key).text("\"").number(value / 10).text(".").number(value % 10).text("\"");
    return *this;
}

std::size_t JsonLine::finish() {
    writer_.text("}\n");
    return writer_.overflowed() ? 0 : writer_.size();
}

}  // namespace fp32shim::record
