#include "cli/trials/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include "cli/files/own_files.hpp"
#include "cli/output/terminal.hpp"
#include "system/plain_text.hpp"

namespace fp32shim::cli {
namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '.'; }
bool is_beyond_ascii(char c) { return (c & 0x80) != 0; }

/// Removes what a terminal does not show: escape sequences, and text that a carriage return or a backspace
/// overwrites.
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

/// Collects the numbers of a text.
class TextReader {
  public:
    TextReader(std::string_view text, const RunTime& run) : text_(text), run_(run) { find_ruler(); }

    Numbers read() {
        while (at_ < text_.size()) {
            if (!read_moment() && !add_number()) skip_one();
        }
        numbers_.words_after = std::move(words_);
        return std::move(numbers_);
    }

  private:
    /// Returns true if a word, or a number with a colon, ends right before the current position.
    bool continues_word() const { return at_ > 0 && (is_word(text_[at_ - 1]) || text_[at_ - 1] == ':'); }

    bool read_moment() {
        if (!is_digit(text_[at_]) || continues_word()) return false;
        const std::size_t length = length_of_moment(text_.substr(at_));
        if (length == 0) return false;
        const bool is_clock = is_moment_of_run(text_.substr(at_, length), run_);
        add_words(length, is_clock);
        (is_clock ? numbers_.has_clock : numbers_.has_moments) = true;
        begin_of_label_ = at_;
        return true;
    }

    /// Adds the next characters to the words, and skips them.
    void add_words(std::size_t length, bool is_clock = false) {
        const std::string_view added = text_.substr(at_, length);
        at_ += length;
        const auto add_to = [added](std::string& words) {
            if (!words.empty()) words += ' ';
            words += added;
        };
        if (is_clock && !words_.has_clock) {
            words_.has_clock = true;
            words_.without_clocks = words_.text;
        } else if (words_.has_clock && !is_clock) {
            add_to(words_.without_clocks);
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
        if (first == '+' && (begin == end || !is_word(*begin) || length_of_moment({begin, end}) > 0)) return false;
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
        words_ = {};
        numbers_.rows.push_back(std::move(row));
        numbers_.values.push_back(value);
    }

    /// Returns the text since the last number or the beginning of the line, without the signs around it. If there is
    /// no such text, returns the label of the number before it in the line, with a count.
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

    /// Skips a space, or adds a word or a sign to the words.
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
        // A ruler is as long as a column of numbers is wide.
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

    /// Notes whether the line that begins here is a ruler of a table: `+-----+---+`, `--- ---`, `|:---|---:|`.
    void find_ruler() {
        constexpr std::size_t shortest = 3;
        is_ruler_ = false;
        std::size_t same = 0;  // length of the last part
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
    RunTime run_;
    std::size_t at_ = 0, begin_of_label_ = 0;
    std::uint64_t line_ = 1, count_ = 0;
    bool is_ruler_ = false;
    Words words_;
    std::string last_label_;
    Numbers numbers_;
};

/// Returns the position of the first byte that no text has, neither in UTF-8 nor in Latin-1; the size if there is
/// none.
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

Numbers numbers_in_text(std::string_view text, const RunTime& run) {
    if (text.find_first_of("\r\b\x1b") == std::string_view::npos) return TextReader(text, run).read();
    return TextReader(text_on_terminal(text), run).read();
}

Numbers numbers_of(std::string_view bytes, const RunTime& run) {
    Numbers numbers;
    if (is_npy(bytes)) {
        numbers = numbers_of_npy(bytes);
    } else if (is_zip(bytes)) {
        numbers = numbers_of_npz(bytes);
    } else {
        const std::size_t at = position_of_binary_byte(bytes);
        if (at < bytes.size())
            return {.problem = fmt::format("is neither a text nor a .npy nor a .npz file: its byte {} is 0x{:02x}",
                                           at, static_cast<unsigned>(static_cast<unsigned char>(bytes[at])))};
        numbers = numbers_in_text(bytes, run);
    }
    if (numbers.problem.empty() && numbers.values.empty()) numbers.problem = "has no numbers";
    return numbers;
}

Numbers read_numbers(const std::string& path, const RunTime& run) {
    const FileText file = read_regular_file(path);
    if (!file.problem.empty()) return {.problem = file.problem};
    return numbers_of(file.text, run);
}

std::string first_difference(const Words& exact, const Words& found) {
    const auto word_at = [](std::string_view text, std::size_t at) {
        const std::string_view rest = text.substr(std::min(at, text.size()));
        return rest.empty() ? std::string("nothing")
                            : printable(fmt::format("\"{}\"", rest.substr(0, rest.find(' '))));
    };
    const std::string_view a = exact.text, b = found.text;
    std::size_t begin = 0;  // where the first other word begins
    for (std::size_t i = 0; i <= std::min(a.size(), b.size()); ++i) {
        const bool ends_a = i == a.size() || a[i] == ' ', ends_b = i == b.size() || b[i] == ' ';
        if (ends_a && ends_b && i > 0) begin = i + 1;
        if (i == a.size() || i == b.size() || a[i] != b[i]) break;
    }
    return fmt::format("{} instead of {}", word_at(b, begin), word_at(a, begin));
}

}  // namespace fp32shim::cli
