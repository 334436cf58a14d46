// The loops for AVX512_BF16; CMakeLists.txt sets the compiler's options for this file. An instruction of AVX512_BF16
// adds the products of two pairs of numbers to each of 16 sums.
#include "shim/blas/multiply/bf16_loops.hpp"

namespace fp32shim::blas {
namespace {

constexpr int rows = 32;
constexpr int columns = 12;

void sum(const float* left, const float* right, std::int64_t depth, float* tile) {
    __m512 sums[columns][2];
#pragma GCC unroll 16
    for (int j = 0; j < columns; ++j) sums[j][0] = sums[j][1] = _mm512_setzero_ps();
    for (std::int64_t p = 0; p < depth; p += 2, left += rows, right += columns) {
        const auto first = reinterpret_cast<__m512bh>(_mm512_loadu_ps(left));
        const auto second = reinterpret_cast<__m512bh>(_mm512_loadu_ps(left + 16));
#pragma GCC unroll 16
        for (int j = 0; j < columns; ++j) {
            const auto factor = reinterpret_cast<__m512bh>(_mm512_set1_ps(right[j]));
            sums[j][0] = _mm512_dpbf16_ps(sums[j][0], first, factor);
            sums[j][1] = _mm512_dpbf16_ps(sums[j][1], second, factor);
        }
    }
#pragma GCC unroll 16
    for (int j = 0; j < columns; ++j) {
        _mm512_storeu_ps(tile + j * rows, sums[j][0]);
        _mm512_storeu_ps(tile + j * rows + 16, sums[j][1]);
    }
}

}  // namespace

constinit const TileLoops<float> avx512_bf16_loops =
    bf16_loops<rows, columns, 2, sum, convert_to_pairs<columns>, nullptr, nullptr, nullptr>;

}  // namespace fp32shim::blas
