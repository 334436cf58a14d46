#include "policy/toml/document.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace fp32shim::policy {
namespace {

// ---- texts that would crash toml++ 3.3, none of which is useful in a policy ----

constexpr int longest_dotted_key = 8;  // keys of policies have at most two parts

bool contains(std::string_view characters, char c) { return characters.find(c) != std::string_view::npos; }

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

/// Scans a TOML text closely enough to tell keys from strings and comments. It may misread the text after a syntax
/// error, which does not matter, because toml++ stops at the error.
class TomlScanner {
  public:
    explicit TomlScanner(std::string_view text) : text_(text) {
        constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
        if (text_.starts_with(byte_order_mark)) at_ = byte_order_mark.size();
    }

    /// Returns the first problem of the text, or an empty text if there is none. Stops at the problem, so that here()
    /// is its position.
    std::string problem() {
        constexpr std::string_view before_values_and_keys = "\n=,[{";
        constexpr std::string_view after_values_and_keys = "\n,]}#";
        char previous = '\n';       // the last character that is not a blank
        bool is_in_number = false;  // true while inside a value or key that begins with a sign, digit or dot
        int dots = 0;
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (!is_ascii(c)) return "found a character beyond ASCII; only strings and comments may have them";
            const bool begins = contains(before_values_and_keys, previous);
            if (contains(after_values_and_keys, c)) is_in_number = false;
            if (begins && contains("+-.0123456789", c)) is_in_number = true;
            if (c == '.' && ++dots >= longest_dotted_key)
                return "found a key of more than " + std::to_string(longest_dotted_key) + " dotted parts";
            if (contains("\n=,{}[]", c)) dots = 0;
            if (!contains(" \t\r", c)) previous = c;

            if (c == '#')
                at_ = std::min(text_.find('\n', at_), text_.size());
            else if (c != '"' && c != '\'')
                ++at_;
            else if (!begins || is_in_number)
                return "found a quote where no string can begin";
            else if (!skip_string())
                return "found a character beyond ASCII after a line-ending backslash; join the lines";
        }
        return {};
    }

    TextPosition here() const {
        const std::string_view before = text_.substr(0, at_);
        const std::string_view line = before.substr(before.rfind('\n') + 1);  // npos + 1 is 0, the start of the text
        const auto starts_character = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
        return {static_cast<int>(1 + std::count(before.begin(), before.end(), '\n')),
                static_cast<int>(1 + std::count_if(line.begin(), line.end(), starts_character))};
    }

  private:
    /// Moves past a string and returns true. toml++ cannot read a string that has a backslash, then whitespace and
    /// then a character beyond ASCII. The function stops at such a character and returns false.
    bool skip_string() {
        const char quote = text_[at_];
        const bool is_multiline = text_.substr(at_, 3) == std::string(3, quote);
        const std::string_view end = text_.substr(at_, is_multiline ? 3 : 1);
        at_ += end.size();
        while (at_ < text_.size() && text_.substr(at_, end.size()) != end) {
            if (text_[at_] == '\n' && !is_multiline) return true;
            if (text_[at_] == '\\' && quote == '"') {
                if (is_multiline && !ascii_follows_whitespace()) return false;
                ++at_;
            }
            ++at_;
        }
        at_ = std::min(at_ + end.size(), text_.size());
        // Up to two more quotes belong to the content of a multi-line string: """he said "no""""".
        for (int i = 0; is_multiline && i < 2 && at_ < text_.size() && text_[at_] == quote; ++i) ++at_;
        return true;
    }

    /// Returns true, unless the backslash at the present position is followed by whitespace (or nothing) and a
    /// character beyond ASCII. Then the function moves to this character and returns false.
    bool ascii_follows_whitespace() {
        const std::size_t next = text_.find_first_not_of(" \t\r\n\v\f", at_ + 1);
        if (next == std::string_view::npos || is_ascii(text_[next])) return true;
        at_ = next;
        return false;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

/// Returns true if the text has none of the following problems, which would crash toml++; otherwise reports the first
/// one. toml++ itself reports all other errors.
/// - A key of more than eight dotted parts: toml++ recurses once per part when it destroys the tables.
/// - A character beyond ASCII where TOML allows none, or after a line-ending backslash in a multi-line string: toml++
///   tests it for whitespace, and runs into code marked as unreachable (for example with U+00CE).
/// - A quote that does not begin a value or key: toml++ reads it as part of a number. `a."b"` is refused too: no key
///   of a policy needs quotes.
bool is_safe_for_tomlplusplus(std::string_view text, ErrorCollector& report) {
    TomlScanner scanner(text);
    const std::string problem = scanner.problem();
    if (!problem.empty()) report.add_error(scanner.here(), problem);
    return problem.empty();
}

// ---- documents ----

/// Returns a hint if the value at `line` and `column` of the text is a word without quotes, and otherwise an empty
/// text. `line` and `column` count from 1.
std::string hint_about_quotes(std::string_view text, std::size_t line, std::size_t column) {
    for (; line > 1; --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    text = text.substr(0, text.find('\n'));
    const std::size_t equals = text.rfind('=', std::min(column, text.size()));
    if (equals == std::string_view::npos) return {};
    text.remove_prefix(std::min(text.find_first_not_of(" \t", equals + 1), text.size()));
    const std::string_view word = text.substr(0, text.find_first_of(" \t\r,}]#"));
    const auto is_letter = [](char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; };
    const bool is_text = !word.empty() && (is_letter(word.front()) || word.front() == '/' || word.front() == '*');
    return is_text ? "; a text needs quotes: " + in_quotes(std::string(word)) : "";
}

}  // namespace

std::optional<toml::table> parse_toml(std::string_view text, ErrorCollector& report) {
    if (!is_safe_for_tomlplusplus(text, report)) return std::nullopt;
    toml::parse_result result = toml::parse(text);
    if (result) return std::move(result).table();
    const toml::source_region& source = result.error().source();
    report.add_error(position_of(source), "not valid TOML: " + printable(result.error().description()) +
                                              hint_about_quotes(text, source.begin.line, source.begin.column));
    return std::nullopt;
}

std::vector<TomlEntry> entries_of(const toml::table& table) {
    std::vector<TomlEntry> entries;
    for (const auto& [key, value] : table)
        entries.push_back({std::string(key.str()), position_of(key.source()), &value});
    std::ranges::stable_sort(entries, {},
                             [](const TomlEntry& entry) { return std::pair(entry.at.line, entry.at.column); });
    return entries;
}

std::string describe_value(const toml::node& value) {
    if (const auto* text = value_as<std::string>(value)) return in_quotes(*text);
    if (const auto* integer = value_as<std::int64_t>(value)) return std::to_string(*integer);
    if (const auto* boolean = value_as<bool>(value)) return *boolean ? "true" : "false";
    if (const auto* number = value_as<double>(value)) {
        char text[32];
        const auto result = std::to_chars(text, text + sizeof text, *number);
        std::string written(text, result.ptr);
        // 8.0 is shown with its fraction, because a message about the integer 8 would mislead.
        return written.find_first_not_of("-0123456789") == std::string::npos ? written + ".0" : written;
    }
    return value.is_array() ? "an array" : value.is_table() ? "a table" : "a date or time";
}

}  // namespace fp32shim::policy
