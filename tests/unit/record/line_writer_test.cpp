// Tests escaping, truncation and times: system/line_writer.hpp.
#include "system/line_writer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <span>
#include <string>

namespace fp32shim::record {
using system::LineWriter;

namespace {

std::string escaped(std::string_view value, std::size_t limit = 1000) {
    std::array<char, 2000> buffer;
    LineWriter writer(buffer);
    writer.escaped(value, limit);
    EXPECT_FALSE(writer.overflowed());
    return std::string(writer.view());
}

std::string utc(std::int64_t time_ns) {
    std::array<char, 64> buffer;
    return std::string(LineWriter(buffer).utc_time(time_ns).view());
}

std::string compact(std::int64_t seconds) {
    std::array<char, 64> buffer;
    return std::string(LineWriter(buffer).compact_utc_time(seconds * 1'000'000'000).view());
}

TEST(Escaping, LeavesPlainTextAndUtf8AsTheyAre) {
    EXPECT_EQ(escaped("cblas_sgemm a/b ~ 100%"), "cblas_sgemm a/b ~ 100%");
    EXPECT_EQ(escaped("Zürich 計算 \xF0\x9F\x98\x80"), "Zürich 計算 \xF0\x9F\x98\x80");
}

TEST(Escaping, EscapesQuotesBackslashesAndControlCharacters) {
    EXPECT_EQ(escaped(R"(a"b\c)"), R"(a\"b\\c)");
    EXPECT_EQ(escaped("a\nb\rc\td"), R"(a\nb\rc\td)");
    EXPECT_EQ(escaped(std::string_view("\0\x01\x1b\x1f\x7f", 5)), R"(\u0000\u0001\u001b\u001f\u007f)");
    EXPECT_EQ(escaped("\xC2\x9B"
                      "31m\xC2\xA0"),
              "\\u009b31m\xC2\xA0");
}

TEST(Escaping, ReplacesEachByteOfInvalidUtf8) {
    const std::string r = "\xEF\xBF\xBD";
    EXPECT_EQ(escaped("a\x80z"), "a" + r + "z");                                         // its first byte is missing
    EXPECT_EQ(escaped("a\xC3"), "a" + r);                                                // ends too early
    EXPECT_EQ(escaped("\xC3("), r + "(");                                                // the second byte is missing
    EXPECT_EQ(escaped("\xC0\xAF"), r + r);                                               // overlong encoding
    EXPECT_EQ(escaped("\xE0\x80\xAF"), r + r + r);                                       // overlong encoding
    EXPECT_EQ(escaped("\xED\xA0\x80"), r + r + r);                                       // encodes a surrogate
    EXPECT_EQ(escaped("\xF4\x90\x80\x80"), r + r + r + r);                               // a number above U+10FFFF
    EXPECT_EQ(escaped("\xF0\x80\x80\x80"), r + r + r + r);                               // overlong encoding
    EXPECT_EQ(escaped("\xFF\xFE"), r + r);                                               // never occur in UTF-8
    EXPECT_EQ(escaped("\xF0\x9F\x98"), r + r + r);                                       // ends too early
    EXPECT_EQ(escaped("\xF4\x8F\xBF\xBF\xED\x9F\xBF"), "\xF4\x8F\xBF\xBF\xED\x9F\xBF");  // last of two lengths
}

TEST(Cutting, KeepsWhatFitsExactly) {
    EXPECT_EQ(escaped("abcdef", 6), "abcdef");
    EXPECT_EQ(escaped("", 3), "");
}

TEST(Cutting, EndsWithAnEllipsisWithinTheLimit) {
    EXPECT_EQ(escaped("abcdefg", 6), "abc…");
    EXPECT_EQ(escaped("abcdefg", 3), "…");
}

TEST(Cutting, NeverDividesACharacterOrAnEscape) {
    EXPECT_EQ(escaped("aü計計計", 9), "aü計…");
    EXPECT_EQ(escaped("a\x01\x01\x01", 11), "a\\u0001…");
    EXPECT_EQ(escaped("a\"\"\"\"\"", 7), "a\\\"…");
    for (std::size_t limit = 3; limit < 40; ++limit) {
        const std::string text = escaped("ü\"\x01計\xF0\x9F\x98\x80z\\ü\"\x01計\xFF", limit);
        EXPECT_LE(text.size(), limit);
        EXPECT_EQ(text.find("\xEF\xBF\xBD\xEF"), std::string::npos) << text;
    }
}

TEST(Writing, NeverExceedsTheBuffer) {
    std::array<char, 8> buffer;
    buffer.fill('#');
    LineWriter writer(std::span<char>(buffer).first(5));
    writer.text("abc").number(12345).text("z");
    EXPECT_TRUE(writer.overflowed());
    EXPECT_EQ(writer.view(), "abc");
    EXPECT_EQ(buffer[5], '#');
}

TEST(Writing, WritesTheExtremesOfNumbers) {
    std::array<char, 64> buffer;
    EXPECT_EQ(LineWriter(buffer).number(std::numeric_limits<std::int64_t>::min()).view(), "-9223372036854775808");
    EXPECT_EQ(LineWriter(buffer).padded(0, 9).view(), "000000000");
    EXPECT_EQ(LineWriter(buffer).padded(7, 1).view(), "7");
    EXPECT_EQ(LineWriter(buffer).padded(123, 2).view(), "123");
}

TEST(Time, FollowsKnownDates) {
    constexpr std::int64_t second = 1'000'000'000;
    EXPECT_EQ(utc(0), "1970-01-01T00:00:00.000000000Z");
    EXPECT_EQ(utc(-1), "1969-12-31T23:59:59.999999999Z");
    EXPECT_EQ(utc(951'782'399 * second), "2000-02-28T23:59:59.000000000Z");
    EXPECT_EQ(utc(951'782'400 * second), "2000-02-29T00:00:00.000000000Z");  // 2000 is a leap year
    EXPECT_EQ(utc(1'709'251'199 * second + 5), "2024-02-29T23:59:59.000000005Z");
    EXPECT_EQ(utc(4'107'542'400 * second), "2100-03-01T00:00:00.000000000Z");  // 2100 is not a leap year
    EXPECT_EQ(utc(2'147'483'648 * second), "2038-01-19T03:14:08.000000000Z");
    EXPECT_EQ(utc(1'795'250'520 * second + 123'456'789), "2026-11-21T08:42:00.123456789Z");
    EXPECT_EQ(utc(std::numeric_limits<std::int64_t>::max()), "2262-04-11T23:47:16.854775807Z");
}

TEST(Time, HasACompactFormForFileNames) { EXPECT_EQ(compact(1'795'250'520), "20261121T084200Z"); }

TEST(Hexadecimal, HasAPrefixAndNoZerosInFront) {
    std::array<char, 18> buffer;
    EXPECT_EQ(LineWriter(buffer).hexadecimal(0x1c4).view(), "0x1c4");
    EXPECT_EQ(LineWriter(buffer).hexadecimal(0).view(), "0x0");
    EXPECT_EQ(LineWriter(buffer).hexadecimal(std::numeric_limits<std::uint64_t>::max()).view(), "0xffffffffffffffff");
    EXPECT_TRUE(LineWriter(std::span(buffer).first(4)).hexadecimal(0x1c4).overflowed());
}

}  // namespace
}  // namespace fp32shim::record
