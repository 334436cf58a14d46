#include "policy/quantity.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace fp32shim::policy {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Range, IsReadFromTerms) {
    const std::pair<std::string_view, NumberRange> cases[] = {
        {"128", {128, 128}},         {"=128", {128, 128}},      {"==128", {128, 128}},   {"<=128", {0, 128}},
        {"<128", {0, 127}},          {">=64", {64, infinity}},  {">64", {65, infinity}}, {">=64 <=256", {64, 256}},
        {">= 64 <= 256", {64, 256}}, {">=64<=256", {64, 256}},  {"  <=5  ", {0, 5}},     {"2K", {2000, 2000}},
        {"3m", {3e6, 3e6}},          {">=2G", {2e9, infinity}}, {"<=1T", {0, 1e12}},     {">=1 >=5 <=9", {5, 9}},
    };
    for (const auto& [text, range] : cases) EXPECT_EQ(parse_range(text, RangeNotation::size), range) << text;
}

TEST(Range, IsEmptyWhereTermsContradict) {
    for (const auto* text : {">=10 <=5", ">5 <6", "<0", "3 4"}) {
        const auto range = parse_range(text, RangeNotation::size);
        ASSERT_TRUE(range) << text;
        EXPECT_GT(range->lowest, range->highest) << text;
    }
}

TEST(Range, RefusesWhatIsNotANumber) {
    for (const auto* text : {"", " ", "<", "<=", "<= <=5", "abc", "-5", "1.5", "5 5x", "<>5", "=<5", "5,6", "2GB",
                             "1e3", "99999999999999999999", "99999999999999999T", "5\t6"}) {
        EXPECT_EQ(parse_range(text, RangeNotation::size), std::nullopt) << text;
    }
}

TEST(Range, CountsComputeCapabilityInTenths) {
    EXPECT_EQ(parse_range(">=8.0", RangeNotation::compute_capability), (NumberRange{80, infinity}));
    EXPECT_EQ(parse_range(">=8.6 <9.0", RangeNotation::compute_capability), (NumberRange{86, 89}));
    EXPECT_EQ(parse_range("12", RangeNotation::compute_capability), (NumberRange{120, 120}));
    EXPECT_EQ(parse_range("8.0K", RangeNotation::compute_capability), std::nullopt);
}

TEST(ComputeCapability, HasOneMinorDigit) {
    EXPECT_EQ(parse_compute_capability("8.0"), 80);
    EXPECT_EQ(parse_compute_capability("10.3"), 103);
    EXPECT_EQ(parse_compute_capability("9"), 90);
    for (const auto* text : {"", ".", "8.", ".5", "8.00", "8.x", "sm_80", "100.0", "8.0.0", "-8.0", "9.0a"}) {
        EXPECT_EQ(parse_compute_capability(text), std::nullopt) << text;
    }
}

TEST(Bytes, KnowBinaryAndDecimalUnits) {
    EXPECT_EQ(parse_byte_count("4096"), 4096u);
    EXPECT_EQ(parse_byte_count("7B"), 7u);
    EXPECT_EQ(parse_byte_count("64KiB"), 65536u);
    EXPECT_EQ(parse_byte_count("2mib"), 2u << 20);
    EXPECT_EQ(parse_byte_count("1GiB"), 1u << 30);
    EXPECT_EQ(parse_byte_count("1TiB"), std::uint64_t{1} << 40);
    EXPECT_EQ(parse_byte_count("500MB"), 500'000'000u);
    EXPECT_EQ(parse_byte_count("2G"), 2'000'000'000u);
    for (const auto* text : {"", "GiB", "1 GiB", "1.5GiB", "-1", "1PiB", "99999999999TiB"}) {
        EXPECT_EQ(parse_byte_count(text), std::nullopt) << text;
    }
}

TEST(Size, IsAWholeNumberWithADecimalUnit) {
    EXPECT_EQ(parse_size("4096"), 4096U);
    EXPECT_EQ(parse_size("2k"), 2000U);
    EXPECT_EQ(parse_size("2G"), 2'000'000'000U);
    for (const char* text : {"", "-1", "1.5", "2KiB", "<=2", "99999999999T"}) EXPECT_FALSE(parse_size(text)) << text;
}

TEST(Fraction, LiesBetweenZeroAndOne) {
    EXPECT_EQ(parse_fraction("0"), 0);
    EXPECT_EQ(parse_fraction("1"), 1);
    EXPECT_EQ(parse_fraction("0.001"), 0.001);
    EXPECT_EQ(parse_fraction("1e-3"), 0.001);
    for (const auto* text : {"", "1.01", "-0.1", "nan", "inf", "0,5", "0.5x", "1%", " 1"}) {
        EXPECT_EQ(parse_fraction(text), std::nullopt) << text;
    }
}

TEST(Version, IsComparedPartByPart) {
    const std::tuple<std::string_view, std::string_view, bool> cases[] = {
        {"0.1.0", ">=0.1", true},     {"0.1.0", ">=0.1.0", true},  {"0.1.0", ">0.1", false},
        {"0.1.0", ">=0.3", false},    {"0.10.0", ">=0.9", true},   {"1.0.0", "<2", true},
        {"2.0.0", ">=0.1 <2", false}, {"1.9.9", ">=0.1 <2", true}, {"0.1.0", "=0.1", true},
        {"0.1.1", "==0.1", false},    {"0.1.1", "<=0.1.1", true},  {"0.1.1", ">= 0.1", true},
    };
    for (const auto& [version, constraint, satisfied] : cases) {
        EXPECT_EQ(version_satisfies(version, constraint), satisfied) << version << ' ' << constraint;
    }
}

TEST(Version, RefusesWhatIsNotAConstraint) {
    for (const auto* text : {"", "0.1", ">=", ">=x", ">=0.1.0.0", "~0.1", ">=0.", ">=0.1,<2"}) {
        EXPECT_EQ(version_satisfies("0.1.0", text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace fp32shim::policy
