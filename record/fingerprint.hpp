// A fingerprint of a result. By comparing fingerprints, two runs tell if a call gave the same result, and if not, how
// far the results are apart.
#pragma once

#include <cmath>
#include <cstdint>

namespace fp32shim::record {

/// Number of sums of a sketch. An estimate from 32 sums is off by more than a factor of 2 once in 200,000 times.
inline constexpr int sketch_size = 32;

/// Bits of Fingerprint::flags.
inline constexpr std::uint32_t fingerprint_nonfinite =
    1;  ///< some elements are NaN or infinite; norm and sketch leave them out

/// Values of Fingerprint::rows: the highest two bits say what a row is, and the others have the sum of the rows'
/// hashes, modulo 2^30. 0: unknown, as in recordings of older versions.
inline constexpr std::uint32_t rows_none = 1U << 30;         ///< there are no rows, or products of several sizes
inline constexpr std::uint32_t rows_are_columns = 2U << 30;  ///< the columns of C, or the vector, are the rows
inline constexpr std::uint32_t rows_are_rows = 3U << 30;     ///< C is row-major: a row of C is a row
inline constexpr std::uint32_t rows_sum = rows_none - 1;     ///< mask of the bits with the sum

/// Hash and sketch of one call's result: all floats that the routine wrote, in the order of memory.
struct Fingerprint {
    std::uint32_t flags = 0;
    std::uint64_t hash = 0;  ///< hash of the bits of all floats; two different results share it once in 10^19
    double norm = 0;         ///< Frobenius norm of the result
    double sketch[sketch_size] = {};  ///< sum i adds the floats i, i + 32, i + 64, …, each with a random sign
    std::uint32_t rows = 0;           ///< sum of the rows' hashes, in any order (see rows_none)

    bool is_finite() const { return (flags & fingerprint_nonfinite) == 0; }
};

/// Hashes of the operands of one call, taken before it ran: of matrices as stored, without elements that the routine
/// does not read. 0: the routine reads no such operand.
struct OperandHashes {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::uint64_t c = 0;        ///< 0 too if beta is 0; of trmm and trsm in place, B is hashed as b
    std::uint64_t scalars = 0;  ///< alpha and beta

    bool operator==(const OperandHashes&) const = default;
};

/// Returns an estimate of the Frobenius norm of the difference of two results.
inline double estimated_distance(const Fingerprint& a, const Fingerprint& b) {
    double squares = 0;
    for (int i = 0; i < sketch_size; ++i) {
        const double difference = a.sketch[i] - b.sketch[i];
        squares += difference * difference;
    }
    return std::sqrt(squares);
}

}  // namespace fp32shim::record
