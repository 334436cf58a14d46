#include "policy/toml/guard.hpp"

#include <algorithm>
#include <string>

namespace fp32shim::policy {
namespace {

constexpr int longest_dotted_key = 8;  // keys of policies have at most two parts

bool contains(std::string_view characters, char c) { return characters.find(c) != std::string_view::npos; }

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

/// Scans a TOML text just closely enough to tell keys from strings and comments. May misread what follows a syntax
/// error, which does not matter, since toml++ stops there.
class Scanner {
  public:
    explicit Scanner(std::string_view text) : text_(text) {
        constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
        if (text_.starts_with(byte_order_mark)) at_ = byte_order_mark.size();
    }

    /// Returns the first problem of the text; empty: there is none. Stops at the problem, so that here() is its
    /// position.
    std::string problem() {
        constexpr std::string_view before_values_and_keys = "\n=,[{";
        constexpr std::string_view after_values_and_keys = "\n,]}#";
        char previous = '\n';       // the last character that is not a blank
        bool is_in_number = false;  // true from a sign, digit or dot that begins a value or key
        int dots = 0;
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (!is_ascii(c)) return "found a character beyond ASCII; only strings and comments may have them";
            const bool begins = contains(before_values_and_keys, previous);
            if (contains(after_values_and_keys, c)) is_in_number = false;
            if (begins && contains("+-.0123456789", c)) is_in_number = true;
            if (c == '.' && ++dots >= longest_dotted_key) {
                return "found a key of more than " + std::to_string(longest_dotted_key) + " dotted parts";
            }
            if (contains("\n=,{}[]", c)) dots = 0;
            if (!contains(" \t\r", c)) previous = c;

            if (c == '#') {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if (c != '"' && c != '\'') {
                ++at_;
            } else if (!begins || is_in_number) {
                return "found a quote where no string can begin";
            } else if (!skip_string()) {
                return "found a character beyond ASCII after a line-ending backslash; join the lines";
            }
        }
        return {};
    }

    Position here() const {
        const std::string_view before = text_.substr(0, at_);
        const std::string_view line = before.substr(before.rfind('\n') + 1);  // npos + 1 is 0, the start of the text
        const auto starts_character = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
        return {static_cast<int>(1 + std::count(before.begin(), before.end(), '\n')),
                static_cast<int>(1 + std::count_if(line.begin(), line.end(), starts_character))};
    }

  private:
    /// Moves past a string and returns true. toml++ cannot read a backslash, whitespace and then a character beyond
    /// ASCII. At such a character the function stops and returns false.
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

    /// Returns true unless a character beyond ASCII follows this backslash and any whitespace. In that case moves to
    /// the character and returns false.
    bool ascii_follows_whitespace() {
        const std::size_t next = text_.find_first_not_of(" \t\r\n\v\f", at_ + 1);
        if (next == std::string_view::npos || is_ascii(text_[next])) return true;
        at_ = next;
        return false;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

bool is_safe_for_tomlplusplus(std::string_view text, Report& report) {
    Scanner scanner(text);
    const std::string problem = scanner.problem();
    if (!problem.empty()) report.error(scanner.here(), problem);
    return problem.empty();
}

}  // namespace fp32shim::policy
