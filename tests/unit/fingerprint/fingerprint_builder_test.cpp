// Tests fingerprints of results: the hash depends on every bit, the sketch estimates differences, and all instruction
// sets agree.
#include "shim/blas/fingerprint/fingerprint_builder.hpp"
#include "shim/audit/float_environment.hpp"
#include "shim/blas/fingerprint/operand_hash.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <vector>

namespace fp32shim::blas {
namespace {

using record::Fingerprint;

constexpr float infinite = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

std::vector<float> random_floats(std::size_t count, unsigned seed = 1) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> distribution;
    std::vector<float> floats(count);
    for (float& value : floats) value = distribution(generator);
    return floats;
}

/// Returns the fingerprint of a matrix with columns of this length. The last column may be shorter.
Fingerprint fingerprint_of(const std::vector<float>& floats,
                           const FingerprintKernelPair& kernels = fingerprint_kernels(), std::size_t column = 50) {
    const std::size_t columns = (floats.size() + column - 1) / column;
    const auto group = static_cast<std::size_t>(
        FingerprintBuilder::columns_per_group(static_cast<std::int64_t>(columns), static_cast<std::int64_t>(column)));
    const auto add = [&](FingerprintBuilder& builder) {
        for (std::size_t i = 0, number = 1; i < floats.size(); i += column, ++number) {
            builder.add(floats.data() + i, std::min(column, floats.size() - i));
            if (number % group == 0 && columns - number >= group) builder.end_group();
        }
    };
    return blas::fingerprint_of(add, kernels);
}

bool same(const Fingerprint& a, const Fingerprint& b) {
    for (int i = 0; i < record::sketch_size; ++i)
        if (std::bit_cast<std::uint64_t>(a.sketch[i]) != std::bit_cast<std::uint64_t>(b.sketch[i])) return false;
    return a.hash == b.hash && a.flags == b.flags &&
           std::bit_cast<std::uint64_t>(a.norm) == std::bit_cast<std::uint64_t>(b.norm);
}

std::vector<FingerprintKernelPair> all_kernels() {
    std::vector<FingerprintKernelPair> all;
    for (const InstructionSet set : instruction_sets)
        if (is_available(set)) all.push_back(fingerprint_kernels(set));
    return all;
}

TEST(FingerprintBuilder, HasTheSameFingerprintOnEveryInstructionSet) {
    std::vector<float> floats = random_floats(5000);
    floats[7] = -0.0F;
    floats[8] = 1e-42F;  // a subnormal number
    floats[9] = std::numeric_limits<float>::max();
    for (const std::size_t count : {0UL, 1UL, 31UL, 32UL, 33UL, 1023UL, 1024UL, 1025UL, 5000UL}) {
        const std::vector<float> some(floats.begin(), floats.begin() + static_cast<std::ptrdiff_t>(count));
        const Fingerprint plain = fingerprint_of(some, fingerprint_kernels(InstructionSet::plain));
        for (const FingerprintKernelPair& kernels : all_kernels())
            EXPECT_TRUE(same(plain, fingerprint_of(some, kernels))) << count;
        for (const std::size_t column : {1UL, 7UL, 32UL, 300UL, 4000UL})
            for (const FingerprintKernelPair& kernels : all_kernels())
                EXPECT_TRUE(same(fingerprint_of(some, fingerprint_kernels(InstructionSet::plain), column),
                                 fingerprint_of(some, kernels, column)));
    }
    floats[4000] = infinite;
    floats[17] = not_a_number;
    const Fingerprint plain = fingerprint_of(floats, fingerprint_kernels(InstructionSet::plain));
    EXPECT_FALSE(plain.is_finite());
    for (const FingerprintKernelPair& kernels : all_kernels())
        EXPECT_TRUE(same(plain, fingerprint_of(floats, kernels)));
}

TEST(FingerprintBuilder, HasTheFingerprintsOfRecordingsThatAreKept) {
    std::vector<float> floats(100);
    for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i) - 49.5F;
    const Fingerprint fingerprint = fingerprint_of(floats);
    EXPECT_EQ(fingerprint.hash, 7822904759742485678U);
    EXPECT_EQ(fingerprint.norm, std::sqrt(83325.0));
    EXPECT_EQ(fingerprint.sketch[1], -49);
    EXPECT_EQ(fingerprint.sketch[25], 35.5);

    // More groups than rotations.
    floats.resize(std::size_t{63} * 50);
    for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i * i % 997) - 498;
    const Fingerprint many = fingerprint_of(floats);
    EXPECT_EQ(many.sketch[0], 1910);
    EXPECT_EQ(many.sketch[31], -278);
}

TEST(FingerprintBuilder, DependsOnGroupsAndNotOnPieces) {
    const std::vector<float> floats = random_floats(1000);
    const auto in_pieces = [&](std::size_t piece, std::size_t group) {
        FingerprintBuilder builder(fingerprint_kernels().all);
        for (std::size_t i = 0; i < floats.size(); i += piece) {
            builder.add(floats.data() + i, piece);
            if ((i + piece) % group == 0) builder.end_group();
        }
        return builder.finish();
    };
    for (const std::size_t piece : {1UL, 5UL, 10UL, 50UL, 100UL}) {
        EXPECT_TRUE(same(in_pieces(piece, 100), in_pieces(100, 100))) << piece;
        EXPECT_TRUE(same(in_pieces(piece, 500), in_pieces(500, 500))) << piece;
    }
    EXPECT_FALSE(same(in_pieces(100, 100), in_pieces(500, 500)));
}

TEST(FingerprintBuilder, HasAHashThatDependsOnTheOrderOfTheFloats) {
    const std::vector<float> floats = random_floats(3000);
    const Fingerprint whole = fingerprint_of(floats);
    std::vector<float> swapped = floats;
    std::swap(swapped[3], swapped[3 + lane_count]);
    EXPECT_NE(fingerprint_of(swapped).hash, whole.hash);
    std::swap(swapped[4], swapped[5]);
    EXPECT_NE(fingerprint_of(swapped).hash, whole.hash);
}

TEST(FingerprintBuilder, ChangesItsHashWithEveryBitOfEveryFloat) {
    std::vector<float> floats = random_floats(170);
    const std::uint64_t hash = fingerprint_of(floats).hash;
    for (float& value : floats) {
        const auto bits = std::bit_cast<std::uint32_t>(value);
        for (int bit = 0; bit < 32; ++bit) {
            value = std::bit_cast<float>(bits ^ 1U << bit);
            EXPECT_NE(fingerprint_of(floats).hash, hash) << bit;
        }
        value = std::bit_cast<float>(bits);
    }
}

TEST(FingerprintBuilder, ChangesItsHashWithTheSignsOfManyFloatsAndWithTheirNumber) {
    std::set<std::uint64_t> hashes;
    for (std::size_t count = 0; count < 200; ++count)
        EXPECT_TRUE(hashes.insert(fingerprint_of(std::vector<float>(count)).hash).second) << count;
    const std::vector<float> floats = random_floats(1024);
    EXPECT_TRUE(hashes.insert(fingerprint_of(floats).hash).second);
    for (const std::size_t step : {1UL, 2UL, 16UL, 32UL, 64UL, 512UL}) {
        std::vector<float> negated = floats;
        for (std::size_t i = 0; i < negated.size(); i += step) negated[i] = -negated[i];
        EXPECT_TRUE(hashes.insert(fingerprint_of(negated).hash).second) << step;
    }
}

TEST(FingerprintBuilder, LeavesNanAndInfinityOutOfNormAndSketchOnly) {
    std::vector<float> floats = random_floats(200);
    floats[50] = 0;
    const Fingerprint finite = fingerprint_of(floats);
    EXPECT_TRUE(finite.is_finite());
    std::set<std::uint64_t> hashes{finite.hash};
    for (const float bad : {infinite, -infinite, not_a_number, -not_a_number}) {
        floats[50] = bad;
        const Fingerprint found = fingerprint_of(floats);
        EXPECT_FALSE(found.is_finite());
        EXPECT_EQ(found.norm, finite.norm);
        EXPECT_EQ(estimated_distance(found, finite), 0);
        EXPECT_TRUE(hashes.insert(found.hash).second);
    }
}

/// Returns the estimated distance of two results, relative to the true one.
double ratio(const std::vector<float>& a, const std::vector<float>& b, std::size_t column) {
    double squares = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        squares += difference * difference;
    }
    return estimated_distance(fingerprint_of(a, fingerprint_kernels(), column),
                              fingerprint_of(b, fingerprint_kernels(), column)) /
           std::sqrt(squares);
}

/// Kinds of differences. A function returns true if an element of a matrix is changed.
using IsChanged = bool (*)(std::size_t row, std::size_t column, std::size_t rows);
constexpr IsChanged everywhere = [](std::size_t, std::size_t, std::size_t) { return true; };
constexpr IsChanged in_a_row = [](std::size_t row, std::size_t, std::size_t rows) { return row == rows / 3; };
constexpr IsChanged in_a_column = [](std::size_t, std::size_t column, std::size_t) { return column == 5; };
constexpr IsChanged on_the_diagonal = [](std::size_t row, std::size_t column, std::size_t) { return row == column; };
constexpr IsChanged on_the_other_diagonal = [](std::size_t row, std::size_t column, std::size_t rows) {
    return row + column + 1 == rows;
};
constexpr IsChanged in_a_corner = [](std::size_t row, std::size_t column, std::size_t) {
    return row < 4 && column < 4;
};
constexpr IsChanged in_one_element = [](std::size_t row, std::size_t column, std::size_t) {
    return row == 7 && column == 9;
};

TEST(FingerprintBuilder, EstimatesDifferencesWithinAFactorOfTwo) {
    int trials = 0;
    int failed = 0;
    double sum = 0;
    for (const IsChanged is_changed :
         {everywhere, in_a_row, in_a_column, on_the_diagonal, on_the_other_diagonal, in_a_corner, in_one_element}) {
        for (const std::size_t rows : {10UL, 16UL, 24UL, 31UL, 32UL, 33UL, 64UL, 96UL, 100UL, 128UL, 256UL, 300UL}) {
            for (const bool is_constant : {true, false}) {
                const std::vector<float> a = random_floats(rows * rows, 7);
                const std::vector<float> noise = random_floats(a.size(), static_cast<unsigned>(rows));
                std::vector<float> b = a;
                for (std::size_t i = 0; i < a.size(); ++i)
                    if (is_changed(i % rows, i / rows, rows)) b[i] += 1e-3F * (is_constant ? 1 : noise[i]);
                const double found = ratio(a, b, rows);
                ++trials;
                if (found < 0.5 || found > 2) ++failed;
                sum += found;
            }
        }
    }
    EXPECT_EQ(failed, 0) << "of " << trials;
    EXPECT_NEAR(sum / trials, 1, 0.05);
}

TEST(FingerprintBuilder, EstimatesTheSmallestChangeOfOneFloatOfMany) {
    const std::vector<float> a = random_floats(1 << 20);
    std::vector<float> b = a;
    b[777777] = std::nextafter(b[777777], infinite);
    EXPECT_NEAR(ratio(a, b, 1024), 1, 1e-3);
}

TEST(QuietFloatEnvironment, MakesRoundingNoMatterAndKeepsTheProgramsFlags) {
    const std::vector<float> floats = random_floats(1000);
    const Fingerprint expected = fingerprint_of(floats);
    std::feclearexcept(FE_ALL_EXCEPT);
    std::feraiseexcept(FE_OVERFLOW);
    std::fesetround(FE_UPWARD);
    Fingerprint found;
    {
        const audit::QuietFloatEnvironment environment(audit::QuietFloatEnvironment::Settings::defaults);
        found = fingerprint_of(floats);
    }
    EXPECT_EQ(std::fegetround(), FE_UPWARD);
    EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), FE_OVERFLOW);
    std::fesetround(FE_TONEAREST);
    EXPECT_TRUE(same(found, expected));
}

std::uint64_t operand_hash(const std::vector<float>& floats, std::size_t piece = SIZE_MAX) {
    OperandHash hash;
    for (std::size_t i = 0; i < floats.size(); i += std::min(piece, floats.size() - i))
        hash.add(floats.data() + i, std::min(piece, floats.size() - i));
    return hash.finish();
}

TEST(OperandHash, DependsOnEveryBitAndOnTheNumberOfFloatsButNotOnPieces) {
    for (const std::size_t count : {1, 63, 64, 65, 200}) {
        std::vector<float> floats = random_floats(count);
        const std::uint64_t hash = operand_hash(floats);
        for (const std::size_t piece : {1, 7, 64, 100}) EXPECT_EQ(operand_hash(floats, piece), hash);
        for (float& value : floats)
            for (std::uint32_t bit = 0; bit < 32; ++bit) {
                const float before = value;
                value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1U << bit);
                EXPECT_NE(operand_hash(floats), hash);
                value = before;
            }
        floats.push_back(0);
        EXPECT_NE(operand_hash(floats), hash);
    }
    EXPECT_EQ(operand_hash({}), 0U);
}

TEST(OperandHash, IsTheSameOnEveryProcessor) {
    // Recordings keep such hashes, and diff compares those of two machines.
    std::vector<float> floats(1000);
    for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i) * 0.25F - 100;
    for (const InstructionSet set : instruction_sets) {
        if (!is_available(set)) continue;
        OperandHash hash(operand_hash_kernel(set));
        hash.add(floats.data(), floats.size());
        EXPECT_EQ(hash.finish(), 15287680085437708710U) << static_cast<int>(set);
    }
}

}  // namespace
}  // namespace fp32shim::blas
