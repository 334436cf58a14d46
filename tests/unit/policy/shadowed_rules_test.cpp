// Tests the search for rules that are never reached: policy/shadowed_rules.hpp.
#include "policy/shadowed_rules.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "policy/decide.hpp"
#include "policy/glob.hpp"
#include "policy/load.hpp"

namespace fp32shim::policy {
namespace {

std::vector<Rule> rules_of(std::string_view text) {
    const LoadedPolicy loaded = read_policy("schema = 1\n" + std::string(text), "policy.toml");
    for (const auto& error : loaded.errors) ADD_FAILURE() << error.text();
    return loaded.policy.rules;
}

std::string rule_text(std::string_view conditions) {
    return "[[rule]]\nprecision = \"high\"\n" + std::string(conditions) + "\n";
}

struct ShadowCase {
    std::string_view earlier, later;
    bool shadows;
};

TEST(ShadowedRules, AreThoseWhoseCallsAllBelongToABroaderRule) {
    const ShadowCase cases[] = {
        {R"(when = { caller = "lib*" })", R"(when = { caller = "libtorch_*" })", true},
        {R"(when = { caller = "libtorch_*" })", R"(when = { caller = "lib*" })", false},
        {R"(when = { caller = "lib*" })", R"(when = { caller = "lib*", m = 3 })", true},
        {R"(when = { caller = "lib*", m = 3 })", R"(when = { caller = "lib*" })", false},
        {R"(when = { caller = "lib*" })", R"(when = { function = "lib*" })", false},
        {R"(when = { caller = ["a*", "b*"] })", R"(when = { caller = ["b1", "a1", "a2"] })", true},
        {R"(when = { caller = ["a*", "b*"] })", R"(when = { caller = ["b1", "c"] })", false},
        {R"(when = { max_dim = "<=128" })", R"(when = { max_dim = ">=2 <=64" })", true},
        {R"(when = { max_dim = "<=64" })", R"(when = { max_dim = "<=128" })", false},
        {R"(when = { max_dim = "<=128" })", R"(when = { m = "<=64" })", false},
        {R"(when = { m = ["<=8", ">=64"] })", R"(when = { m = [4, "128"] })", true},
        {R"(when = { device = "cuda" })", R"(when = { device = "cuda", dtype = "complex64" })", true},
        {R"(when = { device = "cuda" })", R"(when = { dtype = "complex64" })", false},
        {R"(when = { device = "cuda" })", R"(when = { compute_capability = ">=9.0" })", true},
        {R"(when = { device = "cpu" })", R"(when = { compute_capability = ">=9.0" })", false},
        {R"(when = { device = ["cpu", "cuda"] })", R"(when = { device = "cpu" })", true},
        // Calls that the broader rule leaves out may still reach the other rule.
        {"when = { caller = \"lib*\" }\nunless = { scope = \"x\" }", R"(when = { caller = "libfoo" })", false},
        {"when = { caller = \"lib*\" }\nunless = { scope = \"x\" }",
         "when = { caller = \"libfoo\" }\nunless = { scope = \"x*\" }", true},
        {"when = { caller = \"lib*\" }\nunless = { scope = \"x*\" }",
         "when = { caller = \"libfoo\" }\nunless = { scope = \"x\" }", false},
        {"when = { caller = \"lib*\" }\nunless = { device = \"cpu\" }",
         R"(when = { caller = "libfoo", device = "cuda" })", true},
        {"when = { caller = \"lib*\" }\nunless = { m = \">=100\" }", R"(when = { caller = "libfoo", m = "<100" })",
         true},
        {"when = { caller = \"lib*\" }\nunless = { m = \">=100\" }", R"(when = { caller = "libfoo", m = "<=100" })",
         false},
        {R"(when = { scope = "layer*" })", R"(when = { scope = "layer1" })", true},
        {R"(when = { call_site = "lib*" })", R"(when = { call_site = "libfoo.so!*" })", true},
        {R"(when = { call_site = "libfoo.so!*" })", R"(when = { caller = "libfoo.so" })", false},
        {R"(when = { stack = "* train" })", R"(when = { stack = "a.py:* train" })", true},
        {R"(when = { stack = "a.py:* train" })", R"(when = { stack = "* train" })", false},
        {R"(when = { stack = "* train" })", R"(when = { where = "* train" })", false},
        // Half products go on to later rules if a rule says nothing about what they add in.
        {R"(when = { caller = "lib*" })", "accumulate = \"fp32\"\nwhen = { caller = \"libfoo\" }", false},
        {"accumulate = \"fp32\"\nwhen = { caller = \"lib*\" }",
         "accumulate = \"as_called\"\nwhen = { caller = \"libfoo\" }", true},
        // Without conditions it is the last rule. Only another rule without conditions could shadow it.
        {R"(when = { caller = "*" })", "", false},
    };
    for (const auto& [earlier, later, shadows] : cases) {
        const std::vector<ShadowedRule> found = find_shadowed_rules(rules_of(rule_text(earlier) + rule_text(later)));
        EXPECT_EQ(found.size(), shadows ? 1u : 0u) << earlier << " before " << later;
        if (found.size() == 1) {
            EXPECT_EQ(found[0].rule, 1u);
            EXPECT_EQ(found[0].by, 0u);
        }
    }
}

TEST(ShadowedRules, NameTheFirstRuleThatHidesThem) {
    const auto found = find_shadowed_rules(
        rules_of(rule_text(R"(when = { m = 3 })") + rule_text(R"(when = { caller = "a*" })") +
                 rule_text(R"(when = { caller = "*" })") + rule_text(R"(when = { caller = "ab" })")));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].rule, 3u);
    EXPECT_EQ(found[0].by, 1u);
}

/// The shadowed rule at the end is not found, because all allowed comparisons have been used up.
TEST(ShadowedRules, AreNotLookedForWithoutEndInAFileThatIsMadeForIt) {
    std::string globs;
    for (int i = 0; i < 90; ++i) globs += "\"*a" + std::to_string(i) + "*\", ";
    std::string text;
    for (int i = 0; i < 900; ++i)
        text += rule_text("when = { caller = [" + globs + "\"" + std::to_string(i) + "\"] }");
    const std::string shadowed = rule_text("when = { caller = \"b*\" }") + rule_text("when = { caller = \"bc\" }");
    ASSERT_EQ(find_shadowed_rules(rules_of(shadowed)).size(), 1u);
    const std::vector<Rule> rules = rules_of(text + shadowed);
    ASSERT_EQ(rules.size(), 902u);
    EXPECT_TRUE(find_shadowed_rules(rules).empty());
}

TEST(ShadowedRules, CompareGlobs) {
    struct GlobCase {
        std::string_view broad, narrow;
        bool covers;
    };
    const GlobCase cases[] = {
        {"*", "", true},           {"*", "a*b", true},       {"**", "*", true},        {"a*", "ab", true},
        {"a*", "a*b", true},       {"a*", "*", false},       {"a*b", "a?b", true},     {"?", "a", true},
        {"?", "*", false},         {"?", "[ab]", true},      {"a", "?", false},        {"[a-c]", "b", true},
        {"[a-c]", "d", false},     {"[a-c]", "[a-c]", true}, {"[a-c]", "[ab]", false}, {"*x*", "axb*", true},
        {"lib*", "lib[ab]", true}, {"", "", true},           {"", "a", false},         {"a", "", false},
    };
    for (const auto& [broad, narrow, covers] : cases)
        EXPECT_EQ(glob_covers(broad, narrow), covers) << broad << " over " << narrow;
}

std::string random_text(std::mt19937& random, std::string_view letters, std::size_t longest) {
    std::string text(random() % (longest + 1), ' ');
    for (char& c : text) c = letters[random() % letters.size()];
    return text;
}

TEST(ShadowedRules, NeverCallAGlobBroaderThanItIs) {
    std::mt19937 random(1);
    int covering = 0;
    for (int i = 0; i < 20'000; ++i) {
        const std::string broad = random_text(random, "ab*?[]!-", 6), narrow = random_text(random, "ab*?[]!-", 6);
        if (!glob_covers(broad, narrow)) continue;
        ++covering;
        for (int j = 0; j < 50; ++j) {
            const std::string text = random_text(random, "abc[]!-", 6);
            if (glob_matches(narrow, text)) {
                ASSERT_TRUE(glob_matches(broad, text)) << broad << " over " << narrow << ": " << text;
            }
        }
    }
    EXPECT_GT(covering, 1000);
}

/// Compares the verdict with decisions: a rule that is reported as shadowed never decides a call.
TEST(ShadowedRules, NeverDecideACall) {
    std::mt19937 random(2);
    const auto pick = [&](auto... words) {
        const std::string_view all[] = {words...};
        return std::string(all[random() % sizeof...(words)]);
    };
    const auto conditions = [&] {
        std::string text;
        const auto add = [&](const std::string& condition) {
            if (random() % 2 == 0) text += (text.empty() ? "" : ", ") + condition;
        };
        add("caller = " + pick("\"*\"", "\"lib*\"", "\"liba\"", "\"lib?\"", "[\"liba\", \"x\"]"));
        add("scope = " + pick("\"s*\"", "\"s\"", "\"\"", "\"*t\""));
        add("m = " + pick("\"<=4\"", "\"<=8\"", "3", "[1, \">=5\"]", "\">=3\""));
        add("device = " + pick("\"cpu\"", "\"cuda\"", "[\"cpu\", \"cuda\"]"));
        add("compute_capability = " + pick("\">=8.0\"", "\"9.0\""));
        return text;
    };
    int shadowed_ones = 0;
    for (int i = 0; i < 3000; ++i) {
        std::string text;
        for (int number = 0; number < 4; ++number) {
            const std::string when = conditions(), unless = conditions();
            text += rule_text((when.empty() ? "" : "when = { " + when + " }\n") +
                              (unless.empty() || random() % 2 == 0 ? "" : "unless = { " + unless + " }\n"));
        }
        const LoadedPolicy loaded = read_policy("schema = 1\n" + text, "policy.toml");
        if (!loaded.errors.empty()) continue;  // such as rules that can never apply
        const auto shadowed = find_shadowed_rules(loaded.policy.rules);
        if (shadowed.empty()) continue;
        ++shadowed_ones;
        for (int j = 0; j < 100; ++j) {
            MatmulCall call;
            const std::string caller = pick("liba", "libbc", "x", "y"), scope = pick("", "s", "s/t", "u");
            call.caller = caller;
            call.scope = scope;
            call.m = static_cast<std::int64_t>(random() % 10) - 1;
            call.device = random() % 2 == 0 ? Device::cpu : Device::cuda;
            call.compute_capability = call.device == Device::cpu ? 0 : random() % 2 == 0 ? 80 : 90;
            const std::int32_t decided = decide(call, {}, loaded.policy, {}).rule;
            for (const ShadowedRule& one : shadowed) ASSERT_NE(decided, static_cast<std::int32_t>(one.rule)) << text;
        }
    }
    EXPECT_GT(shadowed_ones, 100);
}

}  // namespace
}  // namespace fp32shim::policy
