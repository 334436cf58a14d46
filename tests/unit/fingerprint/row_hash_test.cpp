// Tests the sum of the hashes of rows: it depends on every bit and on places in rows, but not on batches, and all
// instruction sets agree.
#include "shim/blas/fingerprint/row_hash.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace fp32shim::blas {
namespace {

std::vector<float> random_floats(std::size_t count) {
    std::mt19937 generator(1);
    std::normal_distribution<float> distribution;
    std::vector<float> floats(count);
    for (float& value : floats) value = distribution(generator);
    return floats;
}

std::uint32_t hash_of(const std::vector<float>& row) { return row_hash_kernel()(row.data(), row.size(), 1, 0); }

void flip(float& value, std::uint32_t bit) {
    value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1U << bit);
}

TEST(RowHash, OfManyRowsIsTheSumOfThoseOfEachInWhateverOrderAndDistance) {
    constexpr std::size_t rows = 33, stride = 50;
    const std::vector<float> floats = random_floats(rows * stride);
    for (const std::size_t length : {1, 4, 7, 50}) {
        std::uint32_t sum = 0;
        for (std::size_t row = rows; row-- > 0;) {
            const float* const begin = floats.data() + row * stride;
            const std::uint32_t alone = hash_of({begin, begin + length});
            std::vector<float> apart(3 * length);
            for (std::size_t i = 0; i < length; ++i) apart[3 * i] = begin[i];
            EXPECT_EQ(strided_row_hash(apart.data(), length, 1, 3), alone);
            EXPECT_EQ(strided_row_hash(begin, (length + 1) / 2, 2, 2),
                      hash_of({begin, begin + (length + 1) / 2 * 2}));
            sum += alone;
        }
        EXPECT_EQ(row_hash_kernel()(floats.data(), length, rows, stride), sum) << length;
        EXPECT_EQ(row_hash_kernel()(floats.data() + (rows - 1) * stride, length, rows, -std::ptrdiff_t{stride}), sum);
    }
}

TEST(RowHash, DependsOnEveryBitAndOnPlaces) {
    for (std::size_t length = 1; length < 70; ++length) {
        std::vector<float> row = random_floats(length);
        std::set<std::uint32_t> hashes = {hash_of(row)};
        for (float& value : row)
            for (std::uint32_t bit = 0; bit < 32; ++bit) {
                flip(value, bit);
                hashes.insert(hash_of(row));
                flip(value, bit);
            }
        for (std::size_t i = 1; i < length; ++i) {
            std::swap(row[0], row[i]);
            hashes.insert(hash_of(row));
            std::swap(row[0], row[i]);
            flip(row[0], 31);  // two signs
            flip(row[i], 31);
            hashes.insert(hash_of(row));
            flip(row[0], 31);
            flip(row[i], 31);
        }
        EXPECT_EQ(hashes.size(), 1 + 32 * length + 2 * (length - 1)) << length;
    }
}

TEST(RowHash, TellsApartRowsThatHaveExchangedElements) {
    constexpr std::size_t length = 40;
    std::vector<float> rows = random_floats(2 * length);
    const std::uint32_t before = row_hash_kernel()(rows.data(), length, 2, length);
    // Neighbours are multiplied with each other, so the products of the rows stay the same.
    const auto exchange = [&](std::size_t i) {
        for (const std::size_t j : {i, i + 1}) std::swap(rows[j], rows[length + j]);
    };
    for (std::size_t i = 0; i < length; i += 2) {
        exchange(i);
        EXPECT_NE(row_hash_kernel()(rows.data(), length, 2, length) << 2, before << 2)
            << i;  // recordings keep 30 bits
        exchange(i);
    }
}

TEST(RowHash, IsTheSameOnEveryProcessor) {
    // Recordings keep such hashes, and diff compares those of two machines.
    std::vector<float> floats(1000);
    for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i) * 0.25F - 100;
    for (const InstructionSet set : instruction_sets) {
        if (!is_available(set)) continue;
        std::uint32_t sum = 0;
        for (const std::size_t length : {1, 3, 15, 16, 37, 100})
            sum += row_hash_kernel(set)(floats.data(), length, 10, 99);
        EXPECT_EQ(sum, 1380311921U) << static_cast<int>(set);
    }
}

}  // namespace
}  // namespace fp32shim::blas
