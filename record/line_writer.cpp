#include "record/line_writer.hpp"

#include <charconv>
#include <chrono>
#include <cstring>

#include "record/utf8.hpp"

namespace fp32shim::record {

namespace {

constexpr std::string_view ellipsis = "\xE2\x80\xA6";

/// One character of the value and what stands for it in JSON.
struct Character {
    std::size_t length;     ///< bytes of the value
    std::string_view json;  ///< either the value's own bytes or an escape in `escape`
};

Character next_character(std::string_view rest, char (&escape)[6]) {
    const auto lead = static_cast<unsigned char>(rest[0]);
    switch (lead) {
        case '"':
            return {1, "\\\""};
        case '\\':
            return {1, "\\\\"};
        case '\n':
            return {1, "\\n"};
        case '\r':
            return {1, "\\r"};
        case '\t':
            return {1, "\\t"};
        default:
            break;
    }
    // DEL and the C1 controls need no escape in JSON, but these lines are also read on terminals.
    const bool c1 = lead == 0xC2 && rest.size() > 1 && static_cast<unsigned char>(rest[1]) - 0x80U < 0x20U;
    if (lead < 0x20 || lead == 0x7F || c1) {
        const unsigned code = c1 ? static_cast<unsigned char>(rest[1]) : lead;
        constexpr char hex[] = "0123456789abcdef";
        std::memcpy(escape, "\\u00", 4);
        escape[4] = hex[code >> 4];
        escape[5] = hex[code & 15];
        return {c1 ? 2U : 1U, {escape, 6}};
    }
    const std::size_t length = utf8_length(rest);
    if (length == 0) return {1, utf8_replacement};
    return {length, rest.substr(0, length)};
}

struct CivilTime {
    std::chrono::year_month_day date;
    std::int64_t hours, minutes, seconds, nanoseconds;
};

CivilTime civil(std::int64_t time_ns) {
    using namespace std::chrono;
    const sys_time<nanoseconds> time{nanoseconds{time_ns}};
    const sys_days day = floor<days>(time);
    const hh_mm_ss<nanoseconds> clock{time - day};
    return {day, clock.hours().count(), clock.minutes().count(), clock.seconds().count(), clock.subseconds().count()};
}

}  // namespace

LineWriter& LineWriter::text(std::string_view text) {
    if (overflowed_ || text.size() > out_.size() - size_) {
        overflowed_ = true;
        return *this;
    }
    size_ += text.copy(out_.data() + size_, text.size());
    return *this;
}

LineWriter& LineWriter::number(std::int64_t value) {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return text({digits, static_cast<std::size_t>(end - digits)});
}

LineWriter& LineWriter::padded(std::int64_t value, int digits) {
    std::int64_t next_power = 10;
    for (int i = 1; i < digits; ++i, next_power *= 10) {
    }
    for (next_power /= 10; next_power > 1 && value < next_power; next_power /= 10) text("0");
    return number(value);
}

LineWriter& LineWriter::utc_time(std::int64_t time_ns) {
    const CivilTime time = civil(time_ns);
    padded(int{time.date.year()}, 4).text("-");
    padded(unsigned{time.date.month()}, 2).text("-");
    padded(unsigned{time.date.day()}, 2).text("T");
    padded(time.hours, 2).text(":");
    padded(time.minutes, 2).text(":");
    padded(time.seconds, 2).text(".");
    return padded(time.nanoseconds, 9).text("Z");
}

LineWriter& LineWriter::compact_utc_time(std::int64_t time_ns) {
    const CivilTime time = civil(time_ns);
    padded(int{time.date.year()}, 4).padded(unsigned{time.date.month()}, 2).padded(unsigned{time.date.day()}, 2);
    return text("T").padded(time.hours, 2).padded(time.minutes, 2).padded(time.seconds, 2).text("Z");
}

LineWriter& LineWriter::escaped(std::string_view value, std::size_t limit) {
    const std::size_t begin = size_;
    std::size_t cut = size_;  // the last end of a character that leaves room for the ellipsis
    while (!value.empty() && !overflowed_) {
        char escape[6];
        const Character character = next_character(value, escape);
        if (size_ - begin + character.json.size() > limit) {
            size_ = cut;
            return text(ellipsis);
        }
        text(character.json);
        value.remove_prefix(character.length);
        if (size_ - begin + ellipsis.size() <= limit) cut = size_;
    }
    return *this;
}

LineWriter& JsonLine::begin(std::string_view key) {
    if (!first_) writer_.text(",");
    first_ = false;
    return writer_.text("\"").text(key).text("\":");
}

JsonLine& JsonLine::string(std::string_view key, std::string_view value, std::size_t limit) {
    if (value.empty()) return null(key);
    begin(key).text("\"").escaped(value, limit).text("\"");
    return *this;
}

JsonLine& JsonLine::code(std::string_view key, std::string_view value) {
    if (value.empty()) return null(key);
    begin(key).text("\"").text(value).text("\"");
    return *this;
}

JsonLine& JsonLine::letter(std::string_view key, char value) {
    return string(key, std::string_view(&value, value == '\0' ? 0 : 1), 6);
}

JsonLine& JsonLine::integer(std::string_view key, std::int64_t value) {
    begin(key).number(value);
    return *this;
}

JsonLine& JsonLine::integer_or_null(std::string_view key, std::int64_t value, std::int64_t absent) {
    return value == absent ? null(key) : integer(key, value);
}

JsonLine& JsonLine::null(std::string_view key) {
    begin(key).text("null");
    return *this;
}

JsonLine& JsonLine::utc_time(std::string_view key, std::int64_t time_ns) {
    begin(key).text("\"").utc_time(time_ns).text("\"");
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
