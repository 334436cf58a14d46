// A fingerprint of the result of a call. The fingerprints of a call in two runs tell if its results are equal, and if
// not, how far they are apart.
#pragma once

#include <cmath>
#include <cstdint>

namespace fp32shim::record {

/// Number of sums in a sketch. Once in 200,000 times, a distance that is estimated from 32 sums is wrong by more than
/// a factor of 2.
inline constexpr int sketch_size = 32;

/// Bits of Fingerprint::flags.
inline constexpr std::uint32_t fingerprint_nonfinite =
    1;  ///< some elements are NaN or infinite; the norm and the sketch leave such elements out

/// Parts of Fingerprint::rows. Its highest two bits say what is hashed as a row of the result. Its low 30 bits are
/// the sum of the hashes of all rows, modulo 2^30. In recordings of older versions, Fingerprint::rows is 0, which
/// means that nothing is known.
inline constexpr std::uint32_t rows_none = 1U << 30;  ///< no rows are hashed, because the result has none or the
                                                      ///< products of a batch have several sizes
inline constexpr std::uint32_t rows_are_columns = 2U << 30;  ///< each column of C, or the resulting vector, is hashed
                                                             ///< as a row
inline constexpr std::uint32_t rows_are_rows = 3U << 30;     ///< C is row-major, and each row of C is hashed as a row
inline constexpr std::uint32_t rows_sum = rows_none - 1;     ///< mask of the low 30 bits, which hold the sum

/// Hash and sketch of the result of one call. The result is all floats that the routine wrote, in the order of their
/// addresses.
struct Fingerprint {
    std::uint32_t flags = 0;
    std::uint64_t hash = 0;  ///< hash of the bits of all floats; the chance that two different results have the same
                             ///< hash is 1 in 10^19
    double norm = 0;         ///< Frobenius norm of the result
    double sketch[sketch_size] = {};  ///< sketch[i] is the sum of the floats number i, i + 32, i + 64 and so on, each
                                      ///< with a random sign
    std::uint32_t rows = 0;           ///< which rows are hashed, and the sum of their hashes (see rows_none)

    bool is_finite() const { return (flags & fingerprint_nonfinite) == 0; }
};

/// Hashes of the operands of one call, taken before it ran. A matrix is hashed as it is stored, without elements that
/// the routine does not read. A hash is 0 if the routine does not read the operand.
struct OperandHashes {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::uint64_t c = 0;        ///< also 0 if beta is 0, or for trmm and trsm, which overwrite their operand B
    std::uint64_t scalars = 0;  ///< hash of alpha and beta

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
