#include "policy/messages.hpp"

#include <gtest/gtest.h>

namespace fp32shim::policy {
namespace {

const std::vector<std::string_view> words = {"native", "highest", "high", "medium", "auto"};

TEST(Nearest, FindsMisspellings) {
    EXPECT_EQ(nearest_name("hihgest", words), "highest");
    EXPECT_EQ(nearest_name("hihg", words), "high");
    EXPECT_EQ(nearest_name("NATIV", words), "native");
    EXPECT_EQ(nearest_name("meduim", words), "medium");
    EXPECT_EQ(nearest_name("aut", words), "auto");
    EXPECT_EQ(nearest_name("autoo", words), "auto");
}

TEST(Nearest, StaysSilentWhereNothingIsNear) {
    const std::string endless(1'000'000, 'h');
    for (const std::string_view name : {"", "h", "fp64", "something else", endless.c_str()}) {
        EXPECT_EQ(nearest_name(name, words), std::nullopt) << printable(name);
    }
}

TEST(DidYouMean, KnowsTheOtherNamesOfAPrecision) {
    EXPECT_EQ(did_you_mean("highest", {"none", "tf32", "fp32"}), "; did you mean \"fp32\"?");
    EXPECT_EQ(did_you_mean("high", {"none", "tf32", "fp32"}), "; did you mean \"tf32\"?");
    EXPECT_EQ(did_you_mean("native", {"none", "tf32", "fp32"}), "");
}

TEST(Printable, KeepsAMessageOnOneLine) {
    EXPECT_EQ(printable("a\nb\t\x7f\x1b[31m"), "a\\x0ab\\x09\\x7f\\x1b[31m");
    EXPECT_EQ(printable("Größe"), "Größe");
}

TEST(Printable, CutsLongTextsBetweenCharacters) {
    EXPECT_EQ(printable(std::string(300, 'x')), std::string(200, 'x') + "…");
    EXPECT_EQ(printable(std::string(199, 'x') + "ö" + "abc"), std::string(199, 'x') + "…");
    EXPECT_EQ(printable(std::string(200, 'x')), std::string(200, 'x'));
}

TEST(QuotedPath, IsWholeAsLongAsPathsCanBe) {
    const std::string path = '/' + std::string(4000, 'x') + "/a\n.fp32rec";
    EXPECT_EQ(quoted_path(path), "\"/" + std::string(4000, 'x') + "/a\\x0a.fp32rec\"");
    EXPECT_EQ(quoted_path(std::string(5000, 'x')), '"' + std::string(4096, 'x') + "…\"");
}

TEST(LogPath, IsStderrOrHasAKnownExtension) {
    for (const auto* path : {"stderr", "run.jsonl", "run.fp32rec", "/var/log/%h.%p.fp32rec", "%r/%j-%t.jsonl",
                             "100%%.jsonl", "a/.b.jsonl"}) {
        EXPECT_EQ(problem_with_log_path(path), std::nullopt) << path;
    }
    for (const auto* path : {"", "stdout", "run", "run.log", "run.json", ".jsonl", "logs/.fp32rec", "STDERR",
                             "run.jsonl.gz", "%q.jsonl", "%", "run%.jsonl", "run.jsonl%"}) {
        EXPECT_NE(problem_with_log_path(path), std::nullopt) << path;
    }
}

TEST(LogPath, NamesThePlaceholderThatStandsForNothing) {
    EXPECT_EQ(problem_with_log_path("%h.%P.jsonl"),
              "found \"%h.%P.jsonl\", where \"%P\" is not a placeholder; allowed: %p (pid), %h (host), %r (rank), "
              "%j (job), %t (start time), %%");
}

}  // namespace
}  // namespace fp32shim::policy
