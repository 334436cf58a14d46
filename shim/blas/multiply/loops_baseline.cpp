// The loops that run on every processor of the architecture.
#include <bit>

#include "shim/blas/multiply/tile_loops.hpp"
#include "shim/blas/multiply/vector_sum_loops.hpp"

namespace fp32shim::blas {

float fused_multiply_add_plain(float a, float b, float c) {
    // The product is exact in double precision. Its sum with c is rounded to odd in double precision, so that the
    // second rounding, to single precision, rounds the exact sum (Boldo, Melquiond: "Emulation of FMA and correctly
    // rounded sums", 2008). If the processor rounds up, down or to zero, rounding twice is right anyway, and the sign
    // of `error` is exact.
    const double product = static_cast<double>(a) * b;
    const double addend = c;
    const double sum = product + addend;
    const auto bits = std::bit_cast<std::uint64_t>(sum);
    constexpr std::uint64_t exponent = std::uint64_t{0x7ff} << 52;
    if ((bits & exponent) == exponent) return static_cast<float>(sum);  // infinity or NaN, which have no error
    const double part = sum - product;
    const double error = (product - (sum - part)) + (addend - part);  // this is the exact rounding error of `sum`
                                                                      // (Knuth)
    if (error == 0 || (bits & 1) != 0) return static_cast<float>(sum);
    const bool grows = (error > 0) == (sum > 0);
    return static_cast<float>(std::bit_cast<double>(grows ? bits + 1 : bits - 1));
}

#if defined(__aarch64__)
constinit const LoopsOfInstructionSet baseline_loops = all_loops<4, 6, 4, 4, 8>;
#else
constinit const LoopsOfInstructionSet baseline_loops = all_loops<4, 4, 4, 4, 4>;
#endif

}  // namespace fp32shim::blas
