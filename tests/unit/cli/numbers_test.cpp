// Tests which numbers of a text count, and their names.
#include "cli/trials/numbers.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fp32shim::tests {
namespace {

using Values = std::vector<double>;
using Strings = std::vector<std::string>;

Values values_in(const std::string& text) { return cli::parse_text_numbers(text).values; }

std::vector<std::string> names_in(const std::string& text) {
    std::vector<std::string> names;
    for (const cli::NumberRow& row : cli::parse_text_numbers(text).rows) names.push_back(row.name());
    return names;
}

TEST(ParsedNumbers, OfATextAreThoseThatStandByThemselves) {
    EXPECT_EQ(values_in("a 1, -2.5e-3; .5 and +4 (1+2j) 97%."), (Values{1, -2.5e-3, .5, 4, 1, 2, 97}));
    EXPECT_EQ(values_in("x86_64 float32 0x1f 3.2ms 1.2.3 conv_1"), Values{});
    EXPECT_EQ(values_in("top-5 1-2"), (Values{5, 1, -2}));
    EXPECT_EQ(values_in("The sum is 3. ±0.5 µ=2"), (Values{3, 0.5, 2}));
    EXPECT_EQ(values_in("1.5D-03 2D+1 3D5"), (Values{1.5e-3, 20}));
    EXPECT_EQ(values_in("1.0E+00-2.0E+00"), (Values{1, -2}));
}

TEST(ParsedNumbers, ThatADoubleCannotHoldAreRefusedAndNotReadAsInfinityOrZero) {
    for (const std::string& number : Strings{"2e400", "462.67e400", "-1E+309", "1e-400", "-0.01D-400", "2.5D+400"})
        EXPECT_TRUE(cli::parse_numbers("a 1\nb " + number).problem.starts_with("has " + number + " in line 2, "))
            << number;
    const std::string held =
        "0 -0.0e-400 0D+00 inf -Infinity nan 4.9e-324 1e-310 2D-310 1.7e308 x1e400 1e400x 12e45678";
    EXPECT_EQ(cli::parse_numbers(held).problem, "");
    EXPECT_EQ(values_in(held).size(), 10U);
}

TEST(ParsedNumbers, OfDatesAndTimesOfDayDoNotCount) {
    EXPECT_EQ(values_in("2026-11-28T09:14:03.25Z loss 1"), Values{1});
    EXPECT_EQ(values_in("[2026-11-28 09:14:03,125] loss 1"), Values{1});
    EXPECT_EQ(values_in("2026/11/28,0.5,1:02:03."), Values{0.5});
    EXPECT_EQ(values_in("12:34 1:2:3 3:25"), (Values{12, 34, 1, 2, 3, 3, 25}));
}

constexpr std::int64_t second = 1'000'000'000;
// From 2026-11-28T09:14:03Z on.
constexpr cli::RunTimeSpan run{1'795'857'243 * second, 1'795'857'253 * second};

TEST(Moments, OfTheRunItselfAreThoseOfAClock) {
    for (const char* moment : {"2026-11-28T09:14:05Z", "2026-11-28", "09:14:13.9", "2026/11/28",
                               "2026-11-28T11:14:04+02:00", "04:14:04-05:00", "0:00:08"})
        EXPECT_TRUE(cli::is_timestamp_of_run(moment, run)) << moment;
    for (const char* moment : {"2026-11-28T09:15:05Z", "2026-11-27", "05:30:00.00", "2026-13-45", "99:99:99",
                               "0:00:15", "2026-11-28T09:14:04+02:00", "0:00:08Z"})
        EXPECT_FALSE(cli::is_timestamp_of_run(moment, run)) << moment;
    constexpr cli::RunTimeSpan over_midnight{1'795'910'398 * second, 1'795'910'401 * second};
    for (const char* moment : {"23:59:59Z", "00:00:00Z", "2026-11-28", "2026-11-29"})
        EXPECT_TRUE(cli::is_timestamp_of_run(moment, over_midnight)) << moment;
}

cli::WordsBetweenNumbers words_in(const std::string& text) { return cli::parse_text_numbers(text, run).words_after; }

TEST(WordsBetweenNumbers, AreTheSameIfOnlyClocksAndSpacesDiffer) {
    EXPECT_TRUE(words_in("at 09:14:05Z  done").equals_except_timestamps(words_in("at 09:14:06Z\ndone")));
    EXPECT_FALSE(words_in("at 05:30:05Z done").equals_except_timestamps(words_in("at 05:30:06Z done")));
    EXPECT_FALSE(words_in("at 09:14:05Z done").equals_except_timestamps(words_in("at 09:14:05Z lost")));
    EXPECT_FALSE(words_in("at 09:14:05Z").equals_except_timestamps(words_in("at")));
    EXPECT_TRUE(words_in("1 | a+b").equals_except_timestamps(words_in("1|a +b")));
    EXPECT_TRUE(words_in("1\n+-----+---+\na").equals_except_timestamps(words_in("1\n+----+----+\na")));
    EXPECT_FALSE(words_in("1\n+-----+---+ a").equals_except_timestamps(words_in("1\n+----+----+ a")));
    EXPECT_FALSE(words_in("1\n+-++-").equals_except_timestamps(words_in("1\n+--+-")));
    EXPECT_EQ(cli::first_difference_text(words_in("a #"), words_in("a # #")), "\"#\" instead of nothing");
    EXPECT_EQ(cli::first_difference_text(words_in("a cat b"), words_in("a cart b")), "\"cart\" instead of \"cat\"");
}

TEST(ParsedNumbers, OfBothSignsHaveTheSameWordsAroundThem) {
    const cli::ParsedNumbers plus = cli::parse_text_numbers("x +0.5 (1+2j) +nan"),
                             minus = cli::parse_text_numbers("x -0.5 (1-2j) -nan");
    ASSERT_EQ(plus.rows.size(), 4U);
    ASSERT_EQ(minus.rows.size(), 4U);
    for (std::size_t row = 0; row < 4; ++row)
        EXPECT_TRUE(plus.words_before(row).equals_except_timestamps(minus.words_before(row))) << row;
}

TEST(ParsedNumbers, ThatATerminalDoesNotShowDoNotCount) {
    EXPECT_EQ(values_in("10%\r20%\r100%\nloss 2\r\n"), (Values{100, 2}));
    EXPECT_EQ(values_in("\x1b[1;31m5\x1b[0m"), Values{5});
    EXPECT_EQ(values_in("1\b2\n\b3"), (Values{2, 3}));
}

TEST(ParsedNumbers, HaveTheTextBeforeThemAsTheirName) {
    EXPECT_EQ(names_in("seed 7, samples 100\nresidual: 3e-6"),
              (std::vector<std::string>{"seed (line 1)", "samples (line 1)", "residual (line 2)"}));
    EXPECT_EQ(names_in("{\"n\": 1, \"list\": [2, 3]}\n4 5"),
              (std::vector<std::string>{"n (line 1)", "list (line 1)", "list, number 2 (line 1)", "number 1 (line 2)",
                                        "number 2 (line 2)"}));
}

TEST(ParsedNumbers, AreNotReadFromAFileThatIsNoText) {
    using namespace std::string_literals;
    for (const std::string& bytes :
         {"SQLite format 3\0 1 2"s, "1 2 \x90"s, "\x1f\x8b 1"s, "PK\x03\x04 1"s, "\x93NUMPY 1 2"s})
        EXPECT_NE(cli::parse_numbers(bytes).problem, "") << bytes;
    EXPECT_EQ(cli::parse_numbers("größer 2").values, Values{2});
    EXPECT_EQ(cli::parse_numbers("gr\xf6\xdf"
                                 "er 2")
                  .values,
              Values{2});
}

// As numpy writes np.asfortranarray of a complex array: the first index changes fastest, and the parts are adjacent.
TEST(ParsedNumbers, OfAComplexFortranArrayAreNamedByTheirIndicesAndTheirPart) {
    const cli::NumberRow row{.count = 12, .label = "w", .shape = {2, 3, 2}, .is_fortran = true, .has_parts = true};
    std::vector<std::string> names;
    for (const std::size_t value : {0, 1, 2, 4, 11}) names.push_back(row.name_of_value(value));
    EXPECT_EQ(names,
              (std::vector<std::string>{"w[0, 0, 0]", "w[0, 0, 1]", "w[1, 0, 0]", "w[0, 1, 0]", "w[1, 2, 1]"}));
}

}  // namespace
}  // namespace fp32shim::tests
