#include "system/plain_text.hpp"

#include <algorithm>

namespace fp32shim::system {
namespace {

struct CodePointRange {
    char32_t first, last;
};

/// Invisible characters, in ascending order: Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt),
/// including marks of zero width and of bidirectional text; separators of lines and paragraphs; annotation marks.
constexpr CodePointRange invisible_characters[] = {
    {0x00ad, 0x00ad}, {0x034f, 0x034f}, {0x061c, 0x061c},   {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},
    {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},   {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
    {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

bool is_plain_code(char32_t code) {
    if (code < 0xa0) return code >= 0x20 && code < 0x7f;  // U+0080 to U+009F steer some terminals as ESC does
    const auto* range = std::find_if(std::begin(invisible_characters), std::end(invisible_characters),
                                     [code](const CodePointRange& candidate) { return code <= candidate.last; });
    return range == std::end(invisible_characters) || code < range->first;
}

/// Returns the length of the UTF-8 sequence at the beginning of `text`, or 0 if there is none.
std::size_t sequence_length(std::string_view text) {
    const auto byte = [&](std::size_t i) -> unsigned { return static_cast<unsigned char>(text[i]); };
    const auto continues = [&](std::size_t i, unsigned lowest = 0x80, unsigned highest = 0xBF) {
        return i < text.size() && byte(i) >= lowest && byte(i) <= highest;
    };
    const unsigned lead = byte(0);
    if (lead < 0x80) return 1;
    if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
    if (lead >= 0xE0 && lead <= 0xEF) {
        const unsigned lowest = lead == 0xE0 ? 0xA0 : 0x80;
        const unsigned highest = lead == 0xED ? 0x9F : 0xBF;
        return continues(1, lowest, highest) && continues(2) ? 3 : 0;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        const unsigned lowest = lead == 0xF0 ? 0x90 : 0x80;
        const unsigned highest = lead == 0xF4 ? 0x8F : 0xBF;
        return continues(1, lowest, highest) && continues(2) && continues(3) ? 4 : 0;
    }
    return 0;
}

}  // namespace

Character first_character(std::string_view text) {
    const std::size_t length = sequence_length(text);
    if (length == 0) return {};
    constexpr unsigned char lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    char32_t code = static_cast<unsigned char>(text[0]) & lead_bits[length];
    for (std::size_t i = 1; i < length; ++i) code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fU);
    return {length, code, true, is_plain_code(code)};
}

std::size_t plain_prefix_length(std::string_view text) {
    std::size_t length = 0;
    while (length < text.size()) {
        if (text[length] >= 0x20 && text[length] < 0x7f) {  // the usual case
            ++length;
            continue;
        }
        const Character character = first_character(text.substr(length));
        if (!character.is_plain) break;
        length += character.length;
    }
    return length;
}

std::string with_valid_utf8(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const Character character = first_character(text);
        result += character.is_utf8 ? text.substr(0, character.length) : utf8_replacement;
        text.remove_prefix(character.length);
    }
    return result;
}

char* write_escaped_byte(unsigned char byte, char* out) {
    constexpr char hex[] = "0123456789abcdef";
    for (const char letter : {'\\', 'x', hex[byte >> 4], hex[byte & 15]}) *out++ = letter;
    return out;
}

std::string plain_text(std::string_view text, std::string_view kept) {
    std::string result;
    for (;;) {
        const std::size_t plain = plain_prefix_length(text);
        result += text.substr(0, plain);
        text.remove_prefix(plain);
        if (text.empty()) return result;
        const std::size_t length = first_character(text).length;
        if (kept.find(text[0]) != std::string_view::npos) {
            result += text[0];
        } else {
            char escaped[4];
            for (const char c : text.substr(0, length))
                result.append(escaped, write_escaped_byte(static_cast<unsigned char>(c), escaped));
        }
        text.remove_prefix(length);
    }
}

}  // namespace fp32shim::system
