#include "policy/glob.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace fp32shim::policy {
namespace {

struct Case {
    std::string_view pattern;
    std::string_view text;
    bool matches;
};

TEST(Glob, MatchesTheWholeText) {
    const Case cases[] = {
        {"", "", true},
        {"", "a", false},
        {"a", "", false},
        {"abc", "abc", true},
        {"abc", "abcd", false},
        {"abc", "xabc", false},
        {"abc", "ABC", false},
        {"a?c", "abc", true},
        {"a?c", "ac", false},
        {"?", "", false},
        {"*", "", true},
        {"*", "anything/at all", true},
        {"libtorch_*", "libtorch_cpu.so", true},
        {"libtorch_*", "libtorch.so", false},
        {"*.so*", "libblas.so.3", true},
        {"a*b*c", "a-b-b-c", true},
        {"a*b*c", "a-c-b", false},
        {"**a**", "xxaxx", true},
        {"*aab", "aaaab", true},
        {"*a?", "xxab", true},
        {"a*", "a", true},
    };
    for (const auto& [pattern, text, matches] : cases) {
        EXPECT_EQ(glob_matches(pattern, text), matches) << pattern << " on " << text;
    }
}

TEST(Glob, KnowsSetsOfCharacters) {
    const Case cases[] = {
        {"[abc]", "b", true},
        {"[abc]", "d", false},
        {"[a-c]x", "bx", true},
        {"[a-c]x", "dx", false},
        {"[!a-c]", "d", true},
        {"[!a-c]", "b", false},
        {"[^a]", "b", true},
        {"[^a]", "a", false},
        {"[]]", "]", true},
        {"[!]]", "a", true},
        {"[!]]", "]", false},
        {"[*]", "*", true},
        {"[*]", "x", false},
        {"[?]", "?", true},
        {"[a-]", "-", true},
        {"[-a]", "-", true},
        {"[sdcz]gemm_", "sgemm_", true},
        {"*[0-9]", "gpu7", true},
        {"*[0-9]*x", "a1b2x", true},
        {"[z-a]", "m", false},
        {"[\x80-\xff]", "\xc3", true},
    };
    for (const auto& [pattern, text, matches] : cases) {
        EXPECT_EQ(glob_matches(pattern, text), matches) << pattern << " on " << text;
    }
}

TEST(Glob, TakesAnUnclosedSetLiterally) {
    EXPECT_TRUE(glob_matches("a[bc", "a[bc"));
    EXPECT_FALSE(glob_matches("a[bc", "ab"));
    EXPECT_TRUE(glob_matches("[", "["));
    EXPECT_TRUE(glob_matches("[]", "[]"));
    EXPECT_TRUE(glob_matches("[!]", "[!]"));
}

TEST(Glob, SaysWhetherSetsAreClosed) {
    for (const auto* pattern : {"", "abc", "[a]", "[]]", "[!]]", "a]", "[[]", "[a][b]"}) {
        EXPECT_TRUE(glob_is_well_formed(pattern)) << pattern;
    }
    for (const auto* pattern : {"[", "[]", "[!]", "a[b", "[a][b"})
        EXPECT_FALSE(glob_is_well_formed(pattern)) << pattern;
}

TEST(Glob, DoesNotBlowUpOnManyStars) {
    std::string pattern;
    for (int i = 0; i < 200; ++i) pattern += "*a";
    pattern += "b";
    const std::string text(20'000, 'a');
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(glob_matches(pattern, text));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

}  // namespace
}  // namespace fp32shim::policy
