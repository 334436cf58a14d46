// A fingerprint: by it two runs tell if a call gave the same result, and else how far the results are apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

namespace fp32shim::record {

/// Number of sums of a sketch. An estimate from 32 sums is off by more than a factor of 2 once in 200,000 times.
inline constexpr int sketch_size = 32;

/// Bits of Fingerprint::flags.
inline constexpr std::uint32_t fingerprint_nonfinite =
    1;  ///< elements with NaN or infinity: norm and sketch lack them

/// Hash and sketch of the result of one call: of all floats that the routine wrote, in the order of memory.
struct Fingerprint {
    std::uint32_t flags = 0;
    std::uint64_t hash = 0;           ///< of the bits of all floats: a change of any one of them changes it
    double norm = 0;                  ///< Frobenius norm
    double sketch[sketch_size] = {};  ///< sum i is that of the floats i, i + 32, i + 64, …, each with a random sign

    bool is_finite() const { return (flags & fingerprint_nonfinite) == 0; }
};

/// Returns true if two results have the same bits: hashes of different results are equal once in 10^19 times, and
/// even then norm and sketch would tell them apart.
inline bool same_bits(const Fingerprint& a, const Fingerprint& b) {
    return a.hash == b.hash && a.flags == b.flags && a.norm == b.norm &&
           std::equal(std::begin(a.sketch), std::end(a.sketch), std::begin(b.sketch));
}

/// Returns an estimate of the Frobenius norm of the difference of two results.
inline double distance(const Fingerprint& a, const Fingerprint& b) {
    double squares = 0;
    for (int i = 0; i < sketch_size; ++i) {
        const double difference = a.sketch[i] - b.sketch[i];
        squares += difference * difference;
    }
    return std::sqrt(squares);
}

}  // namespace fp32shim::record
