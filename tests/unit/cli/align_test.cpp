// Tests the alignment of two sequences of products: it must be as long as possible, in order, and quickly found.
#include "cli/diff/align.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>

namespace fp32shim::cli {
namespace {

using Sequence = std::vector<std::uint64_t>;

/// Expects that the runs have equal entries and rise. Returns the number of entries that they align.
std::size_t checked(const Sequence& a, const Sequence& b, const std::vector<AlignedRun>& runs) {
    std::size_t count = 0, end_a = 0, end_b = 0;
    for (const AlignedRun& run : runs) {
        EXPECT_GE(run.a, end_a);
        EXPECT_GE(run.b, end_b);
        for (std::size_t i = 0; i < run.count; ++i) EXPECT_EQ(a.at(run.a + i), b.at(run.b + i));
        end_a = run.a + run.count;
        end_b = run.b + run.count;
        count += run.count;
    }
    return count;
}

/// Returns the length of the longest common subsequence.
std::size_t longest_common(const Sequence& a, const Sequence& b) {
    std::vector<std::size_t> before(b.size() + 1), now(b.size() + 1);
    for (const std::uint64_t entry : a) {
        for (std::size_t j = 0; j < b.size(); ++j)
            now[j + 1] = entry == b[j] ? before[j] + 1 : std::max(before[j + 1], now[j]);
        before = now;
    }
    return before.back();
}

Sequence random_sequence(std::mt19937& random, std::size_t length, std::uint32_t kinds) {
    Sequence sequence(length);
    for (std::uint64_t& entry : sequence) entry = random() % kinds;
    return sequence;
}

TEST(Align, OfEqualSequencesIsOneRun) {
    EXPECT_EQ(align_sequences(Sequence{}, Sequence{}), std::vector<AlignedRun>{});
    EXPECT_EQ(align_sequences(Sequence{1, 2, 1}, Sequence{1, 2, 1}), (std::vector<AlignedRun>{{0, 0, 3}}));
    EXPECT_EQ(align_sequences(Sequence{1, 2}, Sequence{}), std::vector<AlignedRun>{});
    EXPECT_EQ(align_sequences(Sequence{1, 2}, Sequence{3, 4}), std::vector<AlignedRun>{});
}

TEST(Align, LeavesInsertionsAndDeletionsOut) {
    EXPECT_EQ(align_sequences(Sequence{1, 2, 3, 4}, Sequence{1, 9, 2, 3, 4}),
              (std::vector<AlignedRun>{{0, 0, 1}, {1, 2, 3}}));
    EXPECT_EQ(align_sequences(Sequence{1, 2, 3, 4}, Sequence{1, 4}), (std::vector<AlignedRun>{{0, 0, 1}, {3, 1, 1}}));
}

TEST(Align, FindsTheLongestCommonSubsequence) {
    std::mt19937 random(3);
    for (int trial = 0; trial < 300; ++trial) {
        const std::uint32_t kinds = 1 + static_cast<std::uint32_t>(random()) % 6;
        const Sequence a = random_sequence(random, random() % 40, kinds);
        const Sequence b = random_sequence(random, random() % 40, kinds);
        ASSERT_EQ(checked(a, b, align_sequences(a, b)), longest_common(a, b)) << trial;
    }
}

TEST(Align, FindsItsWayAfterManyInsertionsThatTheOtherSequenceDoesNotHave) {
    std::mt19937 random(4);
    const Sequence a = random_sequence(random, 5000, 7);
    Sequence b = a;
    Sequence inserted(20000);
    for (std::size_t i = 0; i < inserted.size(); ++i) inserted[i] = 100 + i % 9;
    b.insert(b.begin() + 2500, inserted.begin(), inserted.end());
    EXPECT_EQ(align_sequences(a, b), (std::vector<AlignedRun>{{0, 0, 2500}, {2500, 22500, 2500}}));
}

TEST(Align, TakesInsertionsOfKnownEntriesUpToItsLimit) {
    std::mt19937 random(5);
    const Sequence a = random_sequence(random, 20000, 50);
    Sequence b = a;
    const Sequence inserted = random_sequence(random, 600, 50);
    b.insert(b.begin() + 9000, inserted.begin(), inserted.end());
    EXPECT_EQ(checked(a, b, align_sequences(a, b)), a.size());
}

TEST(Align, OfLongSequencesWithNothingInCommonButTheirKindsEnds) {
    std::mt19937 random(6);
    const Sequence a = random_sequence(random, 30000, 3), b = random_sequence(random, 60000, 3);
    EXPECT_GT(checked(a, b, align_sequences(a, b)), 15000U);
    Sequence steps(200000);
    for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = i % 11;
    EXPECT_EQ(checked(steps, steps, align_sequences(steps, steps)), steps.size());
}

TEST(AlignProducts, FindsAProductMoreWhereItIsAmongOthersOfItsKind) {
    const Sequence kinds_a(6, 1), kinds_b(7, 1);
    const Sequence a{10, 11, 12, 13, 14, 15}, b{10, 11, 99, 12, 13, 98, 15};
    EXPECT_EQ(align_products({kinds_a, a}, {kinds_b, b}),
              (std::vector<AlignedRun>{{0, 0, 2}, {2, 3, 2}, {4, 5, 1}, {5, 6, 1}}));
}

TEST(AlignProducts, GoesByTheOrderWhereAllKindsAgree) {
    const Sequence kinds(4, 1);
    EXPECT_EQ(align_products({kinds, Sequence{7, 8, 9, 9}}, {kinds, Sequence{9, 7, 8, 9}}),
              (std::vector<AlignedRun>{{0, 0, 4}}));
}

TEST(AlignProducts, AlignsNoFewerForTheSakeOfEqualResults) {
    const Sequence kinds_a{1, 2, 3, 1, 2, 3}, kinds_b{1, 2, 3, 1, 2, 3, 4};
    // The last entry of a equals the third of b; no others are equal.
    EXPECT_EQ(
        align_products({kinds_a, Sequence{10, 11, 12, 13, 14, 0}}, {kinds_b, Sequence{20, 21, 0, 23, 24, 25, 26}}),
        (std::vector<AlignedRun>{{0, 0, 6}}));
}

}  // namespace
}  // namespace fp32shim::cli
