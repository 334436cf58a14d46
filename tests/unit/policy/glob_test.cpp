#include "policy/glob.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>

#include "policy/glob_elements.hpp"

namespace fp32shim::policy {
namespace {

struct GlobCase {
    std::string_view pattern;
    std::string_view text;
    bool matches;
};

TEST(Glob, MatchesTheWholeText) {
    const GlobCase cases[] = {
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
    const GlobCase cases[] = {
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

/// Matches by the definition, which glob_matches() must agree with.
bool matches_by_definition(std::string_view pattern, std::string_view text) {
    if (pattern.empty()) return text.empty();
    const GlobElement element = parse_glob_element(pattern, 0);
    const std::string_view rest = pattern.substr(element.text.size());
    if (element.kind != GlobElement::ElementKind::run)
        return !text.empty() && element.matches(text[0]) && matches_by_definition(rest, text.substr(1));
    return matches_by_definition(rest, text) || (!text.empty() && matches_by_definition(pattern, text.substr(1)));
}

TEST(Glob, AgreesWithItsDefinition) {
    std::mt19937 random(1);
    const auto random_text = [&](std::string_view letters, std::size_t longest) {
        std::string text(random() % (longest + 1), ' ');
        for (char& c : text) c = letters[random() % letters.size()];
        return text;
    };
    int matching = 0;
    for (int i = 0; i < 100'000; ++i) {
        const std::string pattern = random_text("aab**?[]!-c^", 9), text = random_text("aabc", 11);
        const bool matches = matches_by_definition(pattern, text);
        matching += matches ? 1 : 0;
        ASSERT_EQ(glob_matches(pattern, text), matches) << pattern << " on " << text;
    }
    EXPECT_GT(matching, 1000);
    // Longer than 64 bytes, which are examined at once.
    for (int i = 0; i < 300; ++i) {
        const std::string pattern = "*" + random_text("aab?", 4) + "[bc]*" + random_text("ab?", 2);
        const std::string text = random_text("aaaaab", 300);
        ASSERT_EQ(glob_matches(pattern, text), matches_by_definition(pattern, text)) << pattern << " on " << text;
    }
}

double seconds_on(std::string_view pattern, std::string_view text) {
    double fewest = 1e9;
    for (int i = 0; i < 20; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_FALSE(glob_matches(pattern, text));
        fewest = std::min(fewest, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return fewest;
}

/// With a search that restarts at each place, the time would grow 100 times.
TEST(Glob, TakesTenTimesAsLongForTenTimesTheSize) {
    const auto size = [](std::size_t n) {
        return seconds_on("*" + std::string(n / 2, 'a') + "b*", std::string(n, 'a'));
    };
    EXPECT_LT(size(100'000), 40 * size(10'000));
}

TEST(Glob, DoesNotBlowUpOnManyStars) {
    std::string pattern;
    for (int i = 0; i < 200; ++i) pattern += "*a";
    pattern += "b";
    const std::string text(20'000, 'a');
    EXPECT_FALSE(glob_matches(pattern, text));  // trying all possibilities would take for ever
}

}  // namespace
}  // namespace fp32shim::policy
