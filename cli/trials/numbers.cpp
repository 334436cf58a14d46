#include "cli/trials/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "cli/files/own_files.hpp"
#include "cli/trials/arrays.hpp"
#include "system/plain_text.hpp"

namespace fp32shim::cli {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '.'; }
bool is_beyond_ascii(char c) { return (c & 0x80) != 0; }

/// Returns true if a text begins with this pattern, in which 0 stands for any digit.
bool matches(std::string_view text, std::string_view pattern) {
    if (text.size() < pattern.size()) return false;
    for (std::size_t i = 0; i < pattern.size(); ++i)
        if (pattern[i] == '0' ? !is_digit(text[i]) : text[i] != pattern[i]) return false;
    return true;
}

/// Returns the length of a time of day at the begin of a text, such as 09:14:03.5; 0: there is none.
std::size_t length_of_time(std::string_view text) {
    std::size_t length = matches(text, "00:00:00") ? 8 : matches(text, "0:00:00") ? 7 : 0;
    if (length == 0) return 0;
    if (matches(text.substr(length), ".0") || matches(text.substr(length), ",0"))
        while (++length < text.size() && is_digit(text[length])) continue;
    const std::string_view rest = text.substr(length);
    if (matches(rest, "+00:00") || matches(rest, "-00:00")) return length + 6;
    return length + (rest.starts_with('Z') ? 1 : 0);
}

/// Returns the length of a date or a time of day at the begin of a text, such as 2026-11-28T09:14:03Z; 0: there is
/// none.
std::size_t length_of_moment(std::string_view text) {
    std::size_t length = matches(text, "0000-00-00") || matches(text, "0000/00/00") ? 10 : length_of_time(text);
    if (length == 10 && text.substr(length).starts_with('T'))
        if (const std::size_t of_time = length_of_time(text.substr(length + 1)); of_time > 0) length += 1 + of_time;
    const bool goes_on =
        length < text.size() && (is_letter(text[length]) || is_digit(text[length]) || text[length] == ':');
    return goes_on ? 0 : length;
}

/// Removes what a terminal does not show: escape sequences, and text that a carriage return overwrites.
std::string as_shown(std::string_view text) {
    std::string shown;
    std::size_t line = 0;  // its begin in `shown`
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
            for (i += 2; i < text.size() && (text[i] < '@' || text[i] > '~');) ++i;
        } else if (text[i] == '\r') {
            const bool ends_line =
                text.substr(i + 1).find_first_not_of("\r\n \t") == std::string_view::npos || text[i + 1] == '\n';
            if (!ends_line) shown.resize(line);
        } else {
            shown.push_back(text[i]);
            if (text[i] == '\n') line = shown.size();
        }
    }
    return shown;
}

/// Collects the numbers of a text.
class TextReader {
  public:
    explicit TextReader(std::string_view text) : text_(text) {}

    Numbers read() {
        while (at_ < text_.size()) {
            if (!skip_moment() && !add_number()) skip_one();
        }
        numbers_.words_after = std::move(words_);
        return std::move(numbers_);
    }

  private:
    /// Returns true if a word, or a number with a colon, ends before this position.
    bool is_within() const { return at_ > 0 && (is_word(text_[at_ - 1]) || text_[at_ - 1] == ':'); }

    bool skip_moment() {
        if (!is_digit(text_[at_]) || is_within()) return false;
        const std::size_t length = length_of_moment(text_.substr(at_));
        at_ += length;
        if (length > 0) begin_of_label_ = at_;
        return length > 0;
    }

    bool add_number() {
        const char first = text_[at_];
        if (!is_word(first) && first != '-') return false;
        if (first == '-' && at_ > 0 && is_letter(text_[at_ - 1])) return false;
        const char* const begin = text_.data() + at_;
        const char* const end = text_.data() + text_.size();
        double value = 0;
        auto [after, error] = std::from_chars(begin, end, value);
        if (error == std::errc::invalid_argument) return false;
        const char* const after_exponent = end_of_exponent(after, end);
        if (error == std::errc::result_out_of_range || after_exponent != after) {
            std::string digits(begin, after_exponent);
            if (after_exponent != after) digits[static_cast<std::size_t>(after - begin)] = 'e';
            value = std::strtod(digits.c_str(), nullptr);
            after = after_exponent;
        }
        if (after != end && (*after == '.' || *after == 'j')) ++after;
        if (after != end && is_word(*after)) return false;
        add(value);
        at_ = static_cast<std::size_t>(after - text_.data());
        begin_of_label_ = at_;
        return true;
    }

    /// Returns the position after an exponent as Fortran writes it, D-05; `at` if there is none.
    static const char* end_of_exponent(const char* at, const char* end) {
        const std::string_view rest(at, static_cast<std::size_t>(end - at));
        if (!matches(rest, "D+0") && !matches(rest, "D-0")) return at;
        return std::find_if_not(at + 2, end, is_digit);
    }

    void add(double value) {
        NumberRow row{.first = numbers_.values.size(), .line = line_};
        row.label = label();
        row.words = std::move(words_);
        words_.clear();
        numbers_.rows.push_back(std::move(row));
        numbers_.values.push_back(value);
    }

    /// Returns the text since the last number or the begin of the line, without the signs around it. If there is
    /// none, it is that of the number before in the line, with a count.
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

    /// Goes over a word, or over one other character.
    void skip_one() {
        const auto is_part = is_word(text_[at_]) ? is_word : is_beyond_ascii;
        if (!is_part(text_[at_])) {
            if (text_[at_] == '\n') start_line();
            // A sign that is none of a number that is read, as in -3K and 0x1p-3, counts as a word.
            if (text_[at_] == '-' && at_ + 1 < text_.size() && (is_digit(text_[at_ + 1]) || text_[at_ + 1] == '.'))
                words_ += words_.empty() ? "-" : " -";
            ++at_;
            return;
        }
        const std::size_t begin = at_;
        while (at_ < text_.size() && is_part(text_[at_])) ++at_;
        words_ += (words_.empty() ? "" : " ") + std::string(text_.substr(begin, at_ - begin));
    }

    void start_line() {
        ++line_;
        begin_of_label_ = at_ + 1;
        last_label_.clear();
        count_ = 0;
    }

    std::string_view text_;
    std::size_t at_ = 0, begin_of_label_ = 0;
    std::uint64_t line_ = 1, count_ = 0;
    std::string words_, last_label_;
    Numbers numbers_;
};

/// Returns the position of the first byte that no text has, neither in UTF-8 nor in Latin-1; the size if there is
/// none.
std::size_t byte_of_no_text(std::string_view bytes) {
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

std::string NumberRow::name() const { return line == 0 ? label : fmt::format("{} (line {})", label, line); }

std::string NumberRow::name_of(std::size_t value) const {
    if (line > 0) return name();
    std::vector<std::uint64_t> at(indices.size());
    std::size_t rest = value - first;
    for (std::size_t i = 0; i < indices.size(); ++i) {
        // The parts of a complex number are always adjacent.
        const std::size_t dimension = is_fortran && !indices.empty() ? i : indices.size() - 1 - i;
        at[dimension] = rest % indices[dimension];
        rest /= indices[dimension];
    }
    return fmt::format("{}[{}]", label, fmt::join(at, ", "));
}

Numbers numbers_in_text(std::string_view text) {
    if (text.find_first_of("\r\x1b") == std::string_view::npos) return TextReader(text).read();
    return TextReader(as_shown(text)).read();
}

Numbers numbers_of(std::string_view bytes) {
    Numbers numbers;
    if (is_npy(bytes)) {
        numbers = numbers_of_npy(bytes);
    } else if (is_zip(bytes)) {
        numbers = numbers_of_npz(bytes);
    } else {
        const std::size_t at = byte_of_no_text(bytes);
        if (at < bytes.size())
            return {.problem = fmt::format("is neither a text nor a .npy nor a .npz file: its byte {} is 0x{:02x}",
                                           at, static_cast<unsigned>(static_cast<unsigned char>(bytes[at])))};
        numbers = numbers_in_text(bytes);
    }
    if (numbers.problem.empty() && numbers.values.empty()) numbers.problem = "has no numbers";
    return numbers;
}

Numbers read_numbers(const std::string& path) {
    const FileText file = read_regular_file(path);
    if (!file.problem.empty()) return {.problem = file.problem};
    return numbers_of(file.text);
}

std::string difference_between(const std::vector<double>& reference, const std::vector<double>& found,
                               double relative, double absolute) {
    if (reference.size() != found.size())
        return fmt::format("{} numbers instead of {}", found.size(), reference.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        const double wanted = reference[i];
        const double distance = std::abs(found[i] - wanted);
        const bool is_same = found[i] == wanted || (std::isnan(found[i]) && std::isnan(wanted));
        if (is_same || (std::isfinite(wanted) && distance <= absolute + relative * std::abs(wanted))) continue;
        return fmt::format("number {} is {} instead of {}", i + 1, found[i], wanted);
    }
    return {};
}

}  // namespace fp32shim::cli
