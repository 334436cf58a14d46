#include "system/line_writer.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>

#include "system/limited_text.hpp"
#include "system/plain_text.hpp"

namespace fp32shim::system {

namespace {

/// One character of a text, and its form in JSON.
struct JsonCharacter {
    std::size_t length;     ///< bytes of the character in the text
    std::string_view json;  ///< the character's own bytes, or an escape sequence
};

/// Writes the character as `\uNNNN` into `escape`, or as two `\uNNNN` if it lies beyond U+FFFF. Returns a view of the
/// written text.
std::string_view unicode_escape(char32_t code, char (&escape)[12]) {
    constexpr char hex[] = "0123456789abcdef";
    std::size_t size = 0;
    const auto add = [&](char32_t unit) {
        escape[size++] = '\\';
        escape[size++] = 'u';
        for (int shift = 12; shift >= 0; shift -= 4) escape[size++] = hex[unit >> shift & 15];
    };
    if (code > 0xffff) {
        add(0xd800 + ((code - 0x10000) >> 10));
        add(0xdc00 + ((code - 0x10000) & 0x3ff));
    } else {
        add(code);
    }
    return {escape, size};
}

JsonCharacter next_character(std::string_view rest, char (&escape)[12]) {
    constexpr std::string_view named = "\"\\\n\r\t";
    constexpr std::string_view names[] = {"\\\"", "\\\\", "\\n", "\\r", "\\t"};
    if (const std::size_t index = named.find(rest[0]); index != std::string_view::npos) return {1, names[index]};
    const Character character = first_character(rest);
    if (!character.is_utf8) return {1, utf8_replacement};
    // JSON itself requires an escape only for a few of the characters that are not plain. All of them are escaped
    // because people also read the lines on terminals.
    if (!character.is_plain) return {character.length, unicode_escape(character.code, escape)};
    return {character.length, rest.substr(0, character.length)};
}

struct CivilTime {
    std::chrono::year_month_day date;
    std::int64_t hours, minutes, seconds, nanoseconds;
};

CivilTime civil_time(std::int64_t time_ns) {
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

std::string_view LineWriter::nul_terminated() {
    text({"\0", 1});
    return overflowed_ ? std::string_view() : view().substr(0, size_ - 1);
}

LineWriter& LineWriter::number(std::int64_t value) {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return text({digits, static_cast<std::size_t>(end - digits)});
}

LineWriter& LineWriter::hexadecimal(std::uint64_t value) {
    char digits[16];
    const std::to_chars_result end = std::to_chars(std::begin(digits), std::end(digits), value, 16);
    return texts("0x", std::string_view(digits, static_cast<std::size_t>(end.ptr - digits)));
}

LineWriter& LineWriter::padded(std::int64_t value, int digits) {
    for (std::int64_t power = 10; digits > 1; --digits, power *= 10)
        if (value < power) text("0");
    return number(value);
}

LineWriter& LineWriter::utc_time(std::int64_t time_ns) {
    const CivilTime time = civil_time(time_ns);
    padded(int{time.date.year()}, 4).text("-");
    padded(unsigned{time.date.month()}, 2).text("-");
    padded(unsigned{time.date.day()}, 2).text("T");
    padded(time.hours, 2).text(":");
    padded(time.minutes, 2).text(":");
    padded(time.seconds, 2).text(".");
    return padded(time.nanoseconds, 9).text("Z");
}

LineWriter& LineWriter::compact_utc_time(std::int64_t time_ns) {
    const CivilTime time = civil_time(time_ns);
    padded(int{time.date.year()}, 4).padded(unsigned{time.date.month()}, 2).padded(unsigned{time.date.day()}, 2);
    return text("T").padded(time.hours, 2).padded(time.minutes, 2).padded(time.seconds, 2).text("Z");
}

LineWriter& LineWriter::escaped(std::string_view value, std::size_t limit) {
    constexpr auto is_itself = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
    const std::size_t room = std::min(limit, out_.size() - size_);
    // In the usual case, no character needs an escape, so `value` is appended as it is.
    if (value.size() <= room && std::all_of(value.begin(), value.end(), is_itself)) return text(value);
    const std::size_t begin = size_;
    std::size_t cut = size_;  // the end of the last character after which the ellipsis still fits
    while (!value.empty() && !overflowed_) {
        char escape[12];
        const JsonCharacter character = next_character(value, escape);
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

}  // namespace fp32shim::system
