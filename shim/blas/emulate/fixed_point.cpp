// Rounds the operands of a float64 product as libraries do that emulate float64 by products of integers (the scheme
// of Ozaki et al., "Error-free transformations of matrix multiplication by using fast routines of matrix
// multiplication and its applications", 2012; cuBLAS's `CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT`). Each line (a row of
// the left factor, or a column of the right factor) becomes fixed-point numbers with one common unit.
#include "shim/blas/emulate/operand.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace fp32shim::blas {
namespace {

constexpr int fraction_bits = 52;
constexpr std::uint64_t sign = std::uint64_t{1} << 63;
constexpr std::uint64_t implicit_bit = std::uint64_t{1} << fraction_bits;
constexpr std::uint64_t infinity = std::uint64_t{0x7ff} << fraction_bits;
constexpr std::uint64_t bits_of_one = std::uint64_t{1023} << fraction_bits;

std::uint64_t load(const float* at) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, at, sizeof bits);
    return bits;
}

/// Returns the exponent of the unit of a row or column whose largest number is `largest`. The exponent is counted
/// from that of the smallest subnormal number: the unit is 2^(result - 1074).
int unit_of_line(std::uint64_t largest, int bits) {
    const int field = static_cast<int>(largest >> fraction_bits);
    const int lead = field > 0 ? field - 1 + fraction_bits : 63 - __builtin_clzll(largest | 1);
    return lead + 1 - bits;
}

std::uint64_t rounded(std::uint64_t number, int unit) {
    const std::uint64_t size = number & ~sign;
    const int field = static_cast<int>(size >> fraction_bits);
    const int cut = unit - std::max(field - 1, 0);  // number of bits of the significand below the unit
    if (cut <= 0) return number;
    if (cut > fraction_bits + 1) return number & sign;  // the magnitude is less than half a unit
    const std::uint64_t significand = field > 0 ? (size & (implicit_bit - 1)) | implicit_bit : size;
    const std::uint64_t half = (std::uint64_t{1} << (cut - 1)) - 1 + (significand >> cut & 1);
    const std::uint64_t kept = (significand + half) >> cut << cut;
    if (kept == 0) return number & sign;
    // A normal number's `kept` still has the implicit bit, which adds 1 to the field of the exponent. So the field
    // begins at `field - 1` below. A carry adds 1 more, which is right as well.
    const std::uint64_t exponent = field > 0 ? static_cast<std::uint64_t>(field - 1) << fraction_bits : 0;
    return (number & sign) | (exponent + kept);
}

/// The number of rows or columns that are rounded at once.
constexpr std::int64_t lines_at_once = 256;

}  // namespace

void round_to_fixed_point(const Matrix& matrix, Part part, bool lines_are_rows, bool counts_ones, int bits) {
    // A line along the inner dimension lies in one piece of memory.
    const bool along_inner = lines_are_rows == matrix.row_major;
    // Calls `visit(line, address)` with each number of the lines from `first` up to, but not including, `end`, in the
    // order of memory.
    const auto for_each_number = [&](std::int64_t first, std::int64_t end, const auto& visit) {
        const IndexRange outers = along_inner ? IndexRange{first, end} : IndexRange{0, matrix.outer()};
        for (std::int64_t outer = outers.begin; outer < outers.end; ++outer) {
            IndexRange inners = stored_range(matrix, part, outer);
            if (!along_inner) inners = {std::max(inners.begin, first), std::min(inners.end, end)};
            for (std::int64_t inner = inners.begin; inner < inners.end; ++inner) {
                if (counts_ones && inner == outer) continue;
                auto* at = const_cast<float*>(matrix.data) + (inner + outer * matrix.ld) * matrix.width;
                const std::int64_t line = along_inner ? outer : inner;
                visit(line, at);
                if (matrix.is_complex) visit(line, at + 2);
            }
        }
    };
    const std::int64_t count = along_inner ? matrix.outer() : matrix.inner();
    for (std::int64_t first = 0; first < count; first += lines_at_once) {
        const std::int64_t end = std::min(first + lines_at_once, count);
        std::uint64_t largest[lines_at_once] = {};
        for_each_number(first, end, [&](std::int64_t line, float* at) {
            std::uint64_t& so_far = largest[line - first];
            so_far = std::max(so_far, load(at) & ~sign);  // the bits of NaN and infinity are larger than those of all
                                                          // numbers
        });
        int units[lines_at_once];
        for (std::int64_t line = 0; line < end - first; ++line) {
            const std::uint64_t of_line = std::max(largest[line], counts_ones ? bits_of_one : 0);
            units[line] = of_line >= infinity ? -1 : unit_of_line(of_line, bits);
        }
        for_each_number(first, end, [&](std::int64_t line, float* at) {
            const std::uint64_t result = rounded(load(at), units[line - first]);
            std::memcpy(at, &result, sizeof result);
        });
    }
}

}  // namespace fp32shim::blas
