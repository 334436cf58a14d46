// Tests arbitrary bytes: there is an answer in reasonable time, and nothing is applied unless everything is valid.
#include <gtest/gtest.h>

#include <random>

#include "policy/load.hpp"

namespace fp32shim::policy {
namespace {

constexpr std::string_view valid = R"(schema = 1
requires = ">=0.1"
name = 'prod'            # a comment with a.b.c.d.e.f.g.h.i.j
revision = """2026
11"""
default = "high"
[limits]
floor = "tf32"
[cpu]
mode = "off"
[log]
path = "/var/log/%h.%p.fp32rec"
max_size = "1GiB"
[audit]
sample = 0.001
[[rule]]
name = "Größe"
precision = "highest"
when = { max_dim = "<=128", caller = ["libtorch_*", 'a.b'], compute_capability = ">=8.0" }
unless = { scope = "inference.*" }
[[rule]]
precision = "medium"
)";

void expect_nothing_applied_with_errors(std::string_view text) {
    const LoadedPolicy loaded = read_policy(text, "p.toml");
    if (loaded.errors.empty()) return;
    EXPECT_EQ(loaded.policy.default_precision, Precision::native);
    EXPECT_EQ(loaded.policy.floor, Floor::none);
    EXPECT_TRUE(loaded.policy.rules.empty());
    for (const auto& error : loaded.errors) {
        EXPECT_TRUE(error.where.starts_with("p.toml:")) << error.text();
        EXPECT_EQ(error.text().find('\n'), std::string::npos) << error.text();
    }
}

std::string repeated(std::string_view part, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += part;
    return text;
}

TEST(Robustness, SurvivesTruncationAtEveryLength) {
    ASSERT_TRUE(read_policy(valid, "p.toml").errors.empty());
    for (std::size_t length = 0; length < valid.size(); ++length) {
        expect_nothing_applied_with_errors(valid.substr(0, length));
    }
}

TEST(Robustness, SurvivesEveryByteChangedToEveryKindOfByte) {
    for (std::size_t at = 0; at < valid.size(); ++at) {
        for (const char byte : {'\0', '\n', '"', '\'', '[', ']', '{', '}', '.', '=', '#', '\\', ',', '9', '\xff'}) {
            std::string text(valid);
            text[at] = byte;
            expect_nothing_applied_with_errors(text);
        }
    }
}

TEST(Robustness, SurvivesRandomEdits) {
    std::mt19937 random(20261121);
    const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
    for (int round = 0; round < 2000; ++round) {
        std::string text(valid);
        for (std::size_t edits = 1 + below(8); edits > 0; --edits) {
            const std::size_t from = below(text.size());
            const std::string piece = text.substr(from, below(40));
            switch (below(3)) {
                case 0:
                    text.erase(from, piece.size());
                    break;
                case 1:
                    text.insert(below(text.size()), piece);
                    break;
                default:
                    text[from] = static_cast<char>(random());
            }
            if (text.empty()) break;
        }
        expect_nothing_applied_with_errors(text);
    }
}

TEST(Robustness, SurvivesRandomBytes) {
    std::mt19937 random(7);
    for (int round = 0; round < 500; ++round) {
        std::string text(random() % 400, '\0');
        for (char& byte : text) byte = static_cast<char>(random());
        expect_nothing_applied_with_errors(text);
    }
}

std::string only_error_of(std::string_view text) {
    const LoadedPolicy loaded = read_policy(text, "p.toml");
    return loaded.errors.size() == 1 ? loaded.errors.front().text()
                                     : std::to_string(loaded.errors.size()) + " errors";
}

TEST(Robustness, RefusesMoreThanOneMebibyte) {
    const std::string largest = "schema = 1\n" + std::string((1 << 20) - 11, '#');
    EXPECT_TRUE(read_policy(largest, "p.toml").errors.empty());
    EXPECT_EQ(only_error_of(largest + '#'), "p.toml:1:1: found more than 1 MiB; a policy may not be larger");
}

TEST(Robustness, RefusesDeepNesting) {
    expect_nothing_applied_with_errors("a = " + repeated("[", 500'000));
    expect_nothing_applied_with_errors("a = " + repeated("{a=", 300'000));
    expect_nothing_applied_with_errors("a = " + repeated("[{a=", 200'000));
    EXPECT_NE(only_error_of("schema = 1\na = " + repeated("[", 30) + repeated("]", 30)).find("not valid TOML"),
              std::string::npos);
}

TEST(Robustness, RefusesLongDottedKeys) {
    const std::string message = ": found a key of more than 8 dotted parts";
    EXPECT_EQ(only_error_of(repeated("a.", 500'000) + "a = 1"), "p.toml:1:16" + message);
    EXPECT_EQ(only_error_of("schema = 1\n\n[" + repeated("a.", 500'000) + "a]"), "p.toml:3:17" + message);
    EXPECT_EQ(only_error_of("schema = 1\n[[" + repeated("a . ", 100'000) + "a]]"), "p.toml:2:33" + message);
    EXPECT_EQ(only_error_of("x = '''\n'''''\n" + repeated("a.", 100'000) + "a = 1"), "p.toml:3:16" + message);
}

// Tests characters beyond ASCII. For some of them toml++ 3.3 runs into code marked as unreachable.
TEST(Robustness, RefusesOtherThanAsciiWhereTomlDoes) {
    const std::string message = ": found a character beyond ASCII; only strings and comments may have them";
    for (const std::string character :
         {"Î", "\u00a0", "\u2000", "\u3000", "\ufeff", "\ufb00", "\U0001f600", "\xff"}) {
        EXPECT_EQ(only_error_of("schema = 1" + character + "\n"), "p.toml:1:11" + message);
        EXPECT_EQ(only_error_of("schema = 1\n" + character), "p.toml:2:1" + message);
        EXPECT_EQ(only_error_of("name = \"ä\"" + character), "p.toml:1:11" + message);
        EXPECT_EQ(only_error_of("name = \"\"\"a\\  \n\n  " + character + "\"\"\""),
                  "p.toml:3:3: found a character beyond ASCII after a line-ending backslash; join the lines");
    }
}

TEST(Robustness, RefusesQuotesWhereNoStringCanBegin) {
    for (const std::string_view text :
         {"a = 1\"Î\"", "a = 1 \"Î\"", "a = 1=\"Î\"", "a = 1979-05-27 =\"Î\"", "a = -[\"Î\"", "b\"Î\" = 1",
          "a.\"Î\" = 1", "a = 1.'Î'", "a = [1, 2'Î']", "a = { b = 'c''Î' }"}) {
        EXPECT_TRUE(only_error_of(text).ends_with(": found a quote where no string can begin")) << text;
    }
}

TEST(Robustness, TakesEveryCharacterInStringsAndComments) {
    for (const std::string character : {"Î", "\u00a0", "\u2000", "\u3000", "\ufeff", "\ufb00", "\U0001f600"}) {
        for (const std::string& text : {"name = \"" + character + "\"", "name = '" + character + "'",
                                        "name = \"\"\"" + character + "\\\n a \"\"\"", "# " + character}) {
            EXPECT_TRUE(read_policy("schema = 1\n" + text + "\n", "p.toml").errors.empty()) << text;
        }
    }
}

TEST(Robustness, DoesNotTakeDotsInStringsAndCommentsForKeys) {
    const std::string dots = repeated("a.", 50);
    for (const std::string& text :
         {"name = \"" + dots + "\"", "name = '" + dots + "'", "# " + dots, "name = \"\"\"\n" + dots + "\n\"\"\"",
          "name = '''" + dots + "'''", "name = \"\\\"" + dots + "\"", "name = \"\"\"\\\"\"\"\"\"  # " + dots,
          "name = \"\"\"" + dots + "\"\"\"\"\"  # " + dots}) {
        EXPECT_TRUE(read_policy("schema = 1\n" + text + "\n", "p.toml").errors.empty()) << text;
    }
}

TEST(Robustness, RefusesMoreThanAThousandRules) {
    const auto rules = [](std::size_t count) {
        std::string text = "schema = 1\n";
        for (std::size_t i = 0; i < count; ++i) {
            text += "[[rule]]\nprecision = \"high\"\nwhen = { m = " + std::to_string(i) + " }\n";
        }
        return text;
    };
    EXPECT_TRUE(read_policy(rules(1000), "p.toml").errors.empty());
    EXPECT_EQ(only_error_of(rules(1001)), "p.toml:2:1: found 1001 rules; allowed: at most 1000");
}

TEST(Robustness, ReadsManyUnknownKeysInReasonableTime) {
    std::string text = "schema = 1\n";
    for (int i = 0; i < 20'000; ++i) text += "key" + std::to_string(i) + " = 1\n";
    EXPECT_EQ(read_policy(text, "p.toml").errors.size(), 20'000u);
}

TEST(Robustness, QuotesEndlessNamesInPart) {
    const LoadedPolicy loaded = read_policy("schema = 1\n" + std::string(500'000, 'a') + " = 1\n", "p.toml");
    ASSERT_EQ(loaded.errors.size(), 1u);
    EXPECT_LT(loaded.errors.front().text().size(), 500u);
}

}  // namespace
}  // namespace fp32shim::policy
