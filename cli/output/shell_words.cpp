#include "cli/output/shell_words.hpp"

#include <fmt/format.h>

#include "cli/output/terminal.hpp"

namespace fp32shim::cli {
namespace {

std::string with_escapes(std::string_view text) {
    std::string word = "$'";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\'' || c == '\\')
            word += {'\\', c};
        else if (byte < ' ' || byte > '~')
            word += fmt::format("\\x{:02x}", byte);
        else
            word += c;
    }
    return word + '\'';
}

/// Returns `text` as one word of a shell command. A word of plain characters is unchanged, and other words are
/// quoted. If printable() would change the word, it is written as bash's `$'…'` with bytes as \xNN.
std::string quote_shell_word(std::string_view text) {
    constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789%+,-./:=@_";
    if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) return std::string(text);
    if (printable(text) != text) return with_escapes(text);
    std::string word = "'";
    for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return word + '\'';
}

}  // namespace

std::string quote_shell_path(std::string_view path) {
    return quote_shell_word(path.starts_with('-') ? "./" + std::string(path) : std::string(path));
}

std::string shell_words(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + quote_shell_word(word);
    return text;
}

}  // namespace fp32shim::cli
