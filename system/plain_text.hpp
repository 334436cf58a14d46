// Tells which characters of a text from outside may be shown unchanged on terminals, in logs and in reports, and
// escapes or replaces all other characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fp32shim::system {

struct Character {
    std::size_t length = 1;  ///< bytes of the character in the text
    char32_t code = 0;       ///< code point; 0 if `is_utf8` is false
    bool is_utf8 = false;    ///< false if the byte is not part of valid UTF-8 (Unicode Standard, table 3-7)
    bool is_plain = false;   ///< true if the character may be shown unchanged
};

/// Returns the first character of `text`. Precondition: `text` is not empty. Control characters and invisible
/// characters are not plain: they can reorder a line, or make two names look the same.
Character first_character(std::string_view text);

/// Returns the length in bytes of the run of plain characters at the beginning of `text`.
std::size_t plain_prefix_length(std::string_view text);

/// Returns `text` with each byte of a character that is not plain (first_character()) written as \xNN. The ASCII
/// characters in `kept` stay unchanged.
std::string plain_text(std::string_view text, std::string_view kept = {});

/// U+FFFD, the replacement for each byte that is not part of valid UTF-8.
inline constexpr std::string_view utf8_replacement = "\xEF\xBF\xBD";

/// Returns `text` with utf8_replacement for each byte that is not part of valid UTF-8.
std::string with_valid_utf8(std::string_view text);

/// Writes a byte as \xNN to `out`. Returns the position after it.
char* write_escaped_byte(unsigned char byte, char* out);

}  // namespace fp32shim::system
