#include "cli/trials/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>

#include "cli/files/own_files.hpp"
#include "cli/output/terminal.hpp"
#include "system/plain_text.hpp"

namespace fp32shim::cli {
namespace {

constexpr std::int64_t day = 86'400;
constexpr std::int64_t slack_seconds = 2;  ///< number of seconds by which a printed time may be rounded or read late

/// Returns the length of a time of day, such as 09:14:03.5, at the beginning of `text`, or 0 if there is no time of
/// day.
std::size_t length_of_time(std::string_view text) {
    std::size_t length = begins_with_pattern(text, "00:00:00") ? 8 : begins_with_pattern(text, "0:00:00") ? 7 : 0;
    if (length == 0) return 0;
    if (begins_with_pattern(text.substr(length), ".0") || begins_with_pattern(text.substr(length), ",0"))
        while (++length < text.size() && is_digit(text[length])) continue;
    const std::string_view rest = text.substr(length);
    if (begins_with_pattern(rest, "+00:00") || begins_with_pattern(rest, "-00:00")) return length + 6;
    return length + (rest.starts_with('Z') ? 1 : 0);
}

bool is_date(std::string_view text) {
    return begins_with_pattern(text, "0000-00-00") || begins_with_pattern(text, "0000/00/00");
}

std::int64_t number_in(std::string_view digits) {
    std::int64_t number = 0;
    for (const char c : digits) number = 10 * number + (c - '0');
    return number;
}

/// Returns the seconds from the beginning of 1970 to the beginning of the date in `text`, or a large negative number
/// if the calendar has no such date.
std::int64_t seconds_of_date(std::string_view text) {
    const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(number_in(text.substr(0, 4)))),
                                           std::chrono::month(static_cast<unsigned>(number_in(text.substr(5, 2)))),
                                           std::chrono::day(static_cast<unsigned>(number_in(text.substr(8, 2))))};
    return date.ok() ? std::chrono::sys_days(date).time_since_epoch().count() * day : -1'000'000 * day;
}

/// Returns the number of seconds from midnight to the time of day in `text`.
std::int64_t seconds_of_time(std::string_view text) {
    const std::size_t colon = text.find(':');
    return (number_in(text.substr(0, colon)) * 60 + number_in(text.substr(colon + 1, 2))) * 60 +
           number_in(text.substr(colon + 4, 2));
}

/// Returns the number of seconds by which local time is ahead of UTC at the time `seconds`.
std::int64_t local_offset(std::int64_t seconds) {
    const std::time_t time = seconds;
    std::tm local{};
    return localtime_r(&time, &local) == nullptr ? 0 : local.tm_gmtoff;
}

/// Returns `difference`, the difference of two times in seconds, modulo the length of a day. The result is not
/// negative.
std::int64_t within_a_day(std::int64_t difference) { return ((difference % day) + day) % day; }

/// Returns true if a double cannot hold the number `digits`, so that it was read as `value`, which is infinite or 0.
bool is_beyond_double(std::string_view digits, double value) {
    return (value == 0 || std::isinf(value)) &&
           digits.substr(0, digits.find_first_of("eEdD")).find_first_of("123456789") != std::string_view::npos;
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '.'; }
bool is_beyond_ascii(char c) { return (c & 0x80) != 0; }

/// Returns `text` without the parts that a terminal does not show, which are escape sequences and the text that a
/// carriage return or a backspace overwrites.
std::string text_on_terminal(std::string_view text) {
    std::string shown;
    std::size_t line = 0;  // where the current line begins in `shown`
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
            for (i += 2; i < text.size() && (text[i] < '@' || text[i] > '~');) ++i;
        } else if (text[i] == '\r') {
            const bool ends_line =
                text.substr(i + 1).find_first_not_of("\r\n \t") == std::string_view::npos || text[i + 1] == '\n';
            if (!ends_line) shown.resize(line);
        } else if (text[i] == '\b') {
            if (shown.size() > line) shown.pop_back();
        } else {
            shown.push_back(text[i]);
            if (text[i] == '\n') line = shown.size();
        }
    }
    return shown;
}

/// Collects the numbers of a text, and the words between the numbers.
class NumberTextReader {
  public:
    NumberTextReader(std::string_view text, const RunTimeSpan& run) : text_(text), run_(run) { find_ruler(); }

    ParsedNumbers read() {
        while (at_ < text_.size())
            if (!read_moment() && !add_number()) skip_one();
        numbers_.words_after = std::move(words_);
        return std::move(numbers_);
    }

  private:
    /// Returns true if a character of a word, or a colon, is right before the current position.
    bool continues_word() const { return at_ > 0 && (is_word(text_[at_ - 1]) || text_[at_ - 1] == ':'); }

    bool read_moment() {
        if (!is_digit(text_[at_]) || continues_word()) return false;
        const std::size_t length = timestamp_length(text_.substr(at_));
        if (length == 0) return false;
        const bool is_clock = is_timestamp_of_run(text_.substr(at_, length), run_);
        add_words(length, is_clock);
        (is_clock ? numbers_.has_run_timestamps : numbers_.has_other_timestamps) = true;
        begin_of_label_ = at_;
        return true;
    }

    /// Adds the next `length` characters to the words between two numbers, and skips them.
    void add_words(std::size_t length, bool is_clock = false) {
        const std::string_view added = text_.substr(at_, length);
        at_ += length;
        const auto add_to = [added](std::string& words) {
            if (!words.empty()) words += ' ';
            words += added;
        };
        if (is_clock && !words_.has_run_timestamps) {
            words_.has_run_timestamps = true;
            words_.without_run_timestamps = words_.text;
        } else if (words_.has_run_timestamps && !is_clock) {
            add_to(words_.without_run_timestamps);
        }
        add_to(words_.text);
    }

    bool add_number() {
        const char first = text_[at_];
        const bool has_sign = first == '-' || first == '+';
        if (!is_word(first) && !has_sign) return false;
        if (has_sign && at_ > 0 && is_letter(text_[at_ - 1])) return false;
        const char* const begin = text_.data() + at_ + (first == '+' ? 1 : 0);
        const char* const end = text_.data() + text_.size();
        if (first == '+' && (begin == end || !is_word(*begin) || timestamp_length({begin, end}) > 0)) return false;
        double value = 0;
        auto [after, error] = std::from_chars(begin, end, value);
        if (error == std::errc::invalid_argument) return false;
        const char* const after_exponent = end_of_exponent(after, end);
        if (error == std::errc::result_out_of_range || after_exponent != after) {
            std::string number(begin, after_exponent);
            if (after_exponent != after) number[static_cast<std::size_t>(after - begin)] = 'e';
            value = std::strtod(number.c_str(), nullptr);
            after = after_exponent;
        }
        const std::string_view digits(begin, static_cast<std::size_t>(after - begin));
        if (after != end && (*after == '.' || *after == 'j')) ++after;
        if (after != end && is_word(*after)) return false;
        if (is_beyond_double(digits, value)) {
            constexpr std::size_t shortest_hash = 7;  // characters to which git shortens one, such as 12e45678
            if (digits.size() >= shortest_hash && digits.find_first_of(".+-", 1) == std::string_view::npos)
                return false;
            if (numbers_.problem.empty())
                numbers_.problem = fmt::format("has {:.40} in line {}, {}", digits, line_, beyond_double_text);
        }
        add(value);
        at_ = static_cast<std::size_t>(after - text_.data());
        begin_of_label_ = at_;
        return true;
    }

    /// Returns the position after an exponent such as D-05, as Fortran writes it, or `at` if there is no exponent
    /// there.
    static const char* end_of_exponent(const char* at, const char* end) {
        const std::string_view rest(at, static_cast<std::size_t>(end - at));
        if (!begins_with_pattern(rest, "D+0") && !begins_with_pattern(rest, "D-0")) return at;
        return std::find_if_not(at + 2, end, is_digit);
    }

    void add(double value) {
        NumberRow row{.first = numbers_.values.size(), .line = line_};
        row.label = label();
        row.words = std::move(words_);
        words_ = {};
        numbers_.rows.push_back(std::move(row));
        numbers_.values.push_back(value);
    }

    /// Returns a label for the number at the reading position: the text between it and the previous number, or the
    /// beginning of the line, without the signs at both ends of that text. If that text has no letters, returns the
    /// previous label of the line with a count, such as `loss, number 2`.
    std::string label() {
        constexpr std::string_view signs = " \t\"'`:=,;|()[]{}<>+-*#";
        std::string_view text = text_.substr(begin_of_label_, at_ - begin_of_label_);
        text.remove_prefix(std::min(text.find_first_not_of(signs), text.size()));
        text = text.substr(0, text.find_last_not_of(signs) + 1);
        constexpr std::size_t longest = 40;
        if (text.size() > longest) text.remove_prefix(text.size() - longest);
        if (std::ranges::any_of(text, [](char c) { return is_letter(c) || is_beyond_ascii(c); })) {
            last_label_ = text;
            count_ = 1;
            return last_label_;
        }
        ++count_;
        return last_label_.empty() ? fmt::format("number {}", count_)
                                   : fmt::format("{}, number {}", last_label_, count_);
    }

    /// Skips one space, or adds one word or sign to the words between two numbers.
    void skip_one() {
        const char first = text_[at_];
        if (std::isspace(static_cast<unsigned char>(first)) != 0) {
            ++at_;
            if (first == '\n') start_line();
            return;
        }
        std::size_t end = at_ + 1;
        if (is_word(first) || is_beyond_ascii(first))
            while (end < text_.size() && (is_word(first) ? is_word : is_beyond_ascii)(text_[end])) ++end;
        add_words(end - at_);
        // A horizontal line of a table is as long as a column of numbers is wide, so its length does not count.
        if (is_ruler_ && (first == '-' || first == '='))
            while (at_ < text_.size() && text_[at_] == first) ++at_;
    }

    void start_line() {
        ++line_;
        begin_of_label_ = at_;
        last_label_.clear();
        count_ = 0;
        find_ruler();
    }

    /// Sets `is_ruler_` to whether the line that begins here is a horizontal line of a table, such as `+-----+---+`,
    /// `--- ---` or `|:---|---:|`.
    void find_ruler() {
        constexpr std::size_t shortest = 3;
        is_ruler_ = false;
        std::size_t same = 0;  // length of the current run of equal characters `-` or `=`
        for (std::size_t i = at_; i < text_.size() && text_[i] != '\n'; ++i) {
            const char c = text_[i];
            if (c == '-' || c == '=') {
                same = i > at_ && text_[i - 1] == c ? same + 1 : 1;
                is_ruler_ = same >= shortest;
                continue;
            }
            const bool is_corner =
                c == '+' || c == '|' || c == ':' || std::isspace(static_cast<unsigned char>(c)) != 0;
            if (!is_corner || (same > 0 && same < shortest) || (c == '+' && i > at_ && text_[i - 1] == '+')) {
                is_ruler_ = false;
                return;
            }
            same = 0;
        }
    }

    std::string_view text_;
    RunTimeSpan run_;
    std::size_t at_ = 0, begin_of_label_ = 0;
    std::uint64_t line_ = 1, count_ = 0;
    bool is_ruler_ = false;
    WordsBetweenNumbers words_;
    std::string last_label_;
    ParsedNumbers numbers_;
};

/// Returns the position of the first byte that no text contains, whether the text is in UTF-8 or in Latin-1. Returns
/// the size of `bytes` if there is no such byte.
std::size_t position_of_binary_byte(std::string_view bytes) {
    constexpr std::string_view allowed = "\t\n\v\f\r\b\a\x1b";
    std::size_t at = 0;
    while (at < bytes.size()) {
        const auto byte = static_cast<unsigned char>(bytes[at]);
        const system::Character character =
            byte < 0x80 ? system::Character{} : system::first_character(bytes.substr(at));
        const bool is_control = (byte < ' ' && allowed.find(bytes[at]) == std::string_view::npos) || byte == 0x7f;
        if (is_control || (byte >= 0x80 && byte < 0xa0 && !character.is_utf8)) return at;
        at += character.is_utf8 ? character.length : 1;
    }
    return at;
}

}  // namespace

bool begins_with_pattern(std::string_view text, std::string_view pattern) {
    if (text.size() < pattern.size()) return false;
    for (std::size_t i = 0; i < pattern.size(); ++i)
        if (pattern[i] == '0' ? !is_digit(text[i]) : text[i] != pattern[i]) return false;
    return true;
}

std::size_t timestamp_length(std::string_view text) {
    std::size_t length = is_date(text) ? 10 : length_of_time(text);
    if (length == 10 && text.substr(length).starts_with('T'))
        if (const std::size_t of_time = length_of_time(text.substr(length + 1)); of_time > 0) length += 1 + of_time;
    if (length == text.size()) return length;
    const char next = text[length];
    const bool goes_on =
        is_digit(next) || next == ':' || next == '_' || (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z');
    return goes_on ? 0 : length;
}

bool is_timestamp_of_run(std::string_view moment, const RunTimeSpan& run) {
    constexpr std::int64_t second = 1'000'000'000;
    const std::int64_t begin = run.begin_ns / second - slack_seconds, end = run.end_ns / second + slack_seconds;
    const bool has_date = is_date(moment);
    const std::string_view time = has_date ? moment.substr(moment.size() > 10 ? 11 : 10) : moment;
    std::array<std::int64_t, 2> offsets{0, local_offset(begin)};
    bool has_zone = time.ends_with('Z');
    if (has_zone) {
        offsets[1] = 0;
    } else if (const std::size_t sign = time.find_first_of("+-"); sign != std::string_view::npos) {
        has_zone = true;
        const std::int64_t minutes = number_in(time.substr(sign + 1, 2)) * 60 + number_in(time.substr(sign + 4, 2));
        offsets.fill((time[sign] == '-' ? -60 : 60) * minutes);
    }
    for (const std::int64_t offset : offsets) {
        const std::int64_t first = begin + offset,
                           last =
                               end +
                               offset;  // begin and end of the run, as a clock with this offset from UTC shows them
        if (has_date) {
            const std::int64_t date = seconds_of_date(moment),
                               from = date + (time.empty() ? 0 : seconds_of_time(time));
            if (from <= last && (time.empty() ? date + day : from + 1) > first) return true;
        } else if (within_a_day(seconds_of_time(time) - first) <= last - first) {
            return true;
        }
    }
    return !has_date && !has_zone && seconds_of_time(time) <= end - begin - slack_seconds;
}

std::string NumberRow::name() const { return line == 0 ? label : fmt::format("{} (line {})", label, line); }

std::string NumberRow::name_of_value(std::size_t value) const {
    if (line > 0) return name();
    std::vector<std::uint64_t> at(shape.size());
    std::size_t rest = value - first;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        const std::size_t last = shape.size() - 1;
        const std::size_t dimension = !is_fortran ? last - i : !has_parts ? i : i == 0 ? last : i - 1;
        at[dimension] = rest % shape[dimension];
        rest /= shape[dimension];
    }
    return fmt::format("{}[{}]", label, fmt::join(at, ", "));
}

ParsedNumbers parse_text_numbers(std::string_view text, const RunTimeSpan& run) {
    if (text.find_first_of("\r\b\x1b") == std::string_view::npos) return NumberTextReader(text, run).read();
    return NumberTextReader(text_on_terminal(text), run).read();
}

ParsedNumbers parse_numbers(std::string_view bytes, const RunTimeSpan& run) {
    ParsedNumbers numbers;
    if (is_npy(bytes)) {
        numbers = parse_npy(bytes);
    } else if (is_zip(bytes)) {
        numbers = parse_npz(bytes);
    } else {
        const std::size_t at = position_of_binary_byte(bytes);
        if (at < bytes.size())
            return {.problem = fmt::format("is neither a text nor a .npy nor a .npz file: its byte {} is 0x{:02x}",
                                           at, static_cast<unsigned>(static_cast<unsigned char>(bytes[at])))};
        numbers = parse_text_numbers(bytes, run);
    }
    if (numbers.problem.empty() && numbers.values.empty()) numbers.problem = "has no numbers";
    return numbers;
}

ParsedNumbers read_number_file(const std::string& path, const RunTimeSpan& run) {
    const FileText file = read_regular_file(path);
    if (!file.problem.empty()) return {.problem = file.problem};
    return parse_numbers(file.text, run);
}

std::string first_difference_text(const WordsBetweenNumbers& exact, const WordsBetweenNumbers& found) {
    const auto word_at = [](std::string_view text, std::size_t at) {
        const std::string_view rest = text.substr(std::min(at, text.size()));
        return rest.empty() ? std::string("nothing")
                            : printable(fmt::format("\"{}\"", rest.substr(0, rest.find(' '))));
    };
    const std::string_view a = exact.text, b = found.text;
    std::size_t begin = 0;  // position at which the first differing word begins
    for (std::size_t i = 0; i <= std::min(a.size(), b.size()); ++i) {
        const bool ends_a = i == a.size() || a[i] == ' ', ends_b = i == b.size() || b[i] == ' ';
        if (ends_a && ends_b && i > 0) begin = i + 1;
        if (i == a.size() || i == b.size() || a[i] != b[i]) break;
    }
    return fmt::format("{} instead of {}", word_at(b, begin), word_at(a, begin));
}

}  // namespace fp32shim::cli
