#include "system/plain_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace fp32shim::system {
namespace {

TEST(PlainText, KeepsWhatPeopleSee) {
    for (const std::string_view text : {"", "plain ~", "Größe", "日本語", "\xF0\x9F\x99\x82", "×…"}) {
        EXPECT_EQ(plain_prefix_length(text), text.size()) << text;
        EXPECT_EQ(plain_text(text), text);
    }
}

TEST(PlainText, EscapesWhatSteersATerminalOrIsNotSeen) {
    struct Case {
        std::string_view text, plain;
    };
    const Case cases[] = {
        {"a\x1b[31mb", "a\\x1b[31mb"},
        {"a\nb\tc\rd\x7f", "a\\x0ab\\x09c\\x0dd\\x7f"},
        {"\xC2\x9B"
         "31m",
         "\\xc2\\x9b31m"},  // U+009B, another start of an escape sequence
        {"\xE2\x80\xAE"
         "abc",
         "\\xe2\\x80\\xaeabc"},               // U+202E, which makes the following text run from right to left
        {"\xE2\x81\xA6", "\\xe2\\x81\\xa6"},  // U+2066, an invisible control of direction
        {"a\xE2\x80\x8B"
         "b",
         "a\\xe2\\x80\\x8bb"},                         // U+200B, a space of no width
        {"\xEF\xBB\xBF", "\\xef\\xbb\\xbf"},           // U+FEFF, a byte order mark
        {"\xE2\x80\xA8", "\\xe2\\x80\\xa8"},           // U+2028, a line separator
        {"\xF3\xA0\x81\x81", "\\xf3\\xa0\\x81\\x81"},  // U+E0041, a tag character
        {"\xFF\xC3", "\\xff\\xc3"},                    // bytes that are not UTF-8
        {"\xED\xA0\x80", "\\xed\\xa0\\x80"},           // UTF-8 of a surrogate
    };
    for (const auto& [text, plain] : cases) {
        EXPECT_EQ(plain_text(text), plain);
        EXPECT_LT(plain_prefix_length(text), text.size());
    }
    EXPECT_EQ(plain_text("a\nb\r", "\n"), "a\nb\\x0d");
    EXPECT_EQ(plain_text(std::string_view("\0", 1)), "\\x00");
}

TEST(PlainText, KnowsEachCodeOnce) {
    const Character two_bytes = first_character("ü!");
    EXPECT_EQ(two_bytes.length, 2u);
    EXPECT_EQ(two_bytes.code, U'ü');
    EXPECT_TRUE(two_bytes.is_plain);
    const Character four_bytes = first_character("\xF3\xA0\x81\x81");
    EXPECT_EQ(four_bytes.length, 4u);
    EXPECT_EQ(four_bytes.code, char32_t{0xE0041});
    EXPECT_FALSE(four_bytes.is_plain);
    EXPECT_FALSE(first_character("\x80").is_utf8);
    EXPECT_EQ(first_character("\x80").length, 1u);
}

}  // namespace
}  // namespace fp32shim::system
