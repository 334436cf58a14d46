// Computes a fingerprint (hash, sketch and norm) from the floats of a result, which arrive in pieces. The fingerprint
// depends on the floats and their groups, but not on the pieces. So it does not depend on the leading dimension.
//
//     matrix    | column | column | … | column | column | … |       as stored: columns, or rows in row-major order
//               | group of 1/32 of all columns | group      |
//
// Float i of each block of 32 floats (lane i) adds to sum (i + rotation) mod 32 of the sketch. Successive groups have
// different rotations. Otherwise a row of a matrix (one element of each column) could fall into a single sum, and the
// distance of two results that differ in this row would be estimated badly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "record/fingerprint.hpp"
#include "shim/blas/fingerprint/fingerprint_kernels.hpp"

namespace fp32shim::blas {

/// Builds a fingerprint for fingerprint_of(). The arithmetic is in double precision, rounded to nearest. Callers have
/// to set this rounding mode, since the program may have set another one (audit/float_environment.hpp).
class FingerprintBuilder {
  public:
    explicit FingerprintBuilder(FingerprintKernel kernel);

    /// Returns the number of columns in each group of a matrix; the last group also gets the rest. `length` is the
    /// number of floats in a column, at least 1. A group has at least 32 floats (one block), since a smaller group
    /// would cost as much time.
    static std::int64_t columns_per_group(std::int64_t columns, std::int64_t length) {
        constexpr auto block = static_cast<std::int64_t>(lane_count);
        return std::max(columns / block, (block + length - 1) / length);
    }

    void add(const float* floats, std::size_t count);
    void end_group();
    /// Returns the number of floats that were added so far.
    std::uint64_t float_count() const { return count_; }

    /// Returns the fingerprint of all floats that were added. With the kernel `finite_only`, a float that is not
    /// finite affects only the hash. Must be called only once.
    record::Fingerprint finish();

  private:
    void absorb(const float* floats, std::size_t blocks);

    FingerprintKernel kernel_;
    FingerprintLanes lanes_;
    alignas(64) double sums_[2 * lane_count] = {};  ///< sum i of the sketch is sums_[i] + sums_[i + lane_count]
    BlockSplitter<lane_count> splitter_;
    std::uint64_t groups_ = 0;
    std::uint64_t count_ = 0;
};

/// Returns the fingerprint of the floats that `add(builder)` adds to a FingerprintBuilder. If some of the floats are
/// NaN or infinite, calls `add` a second time, for a fingerprint whose sums leave these floats out.
template <class Add>
record::Fingerprint fingerprint_of(const Add& add, const FingerprintKernelPair& kernels = fingerprint_kernels()) {
    FingerprintBuilder all(kernels.all);
    add(all);
    const record::Fingerprint fingerprint = all.finish();
    if (fingerprint.is_finite()) return fingerprint;
    FingerprintBuilder finite_only(kernels.finite_only);
    add(finite_only);
    record::Fingerprint of_rest = finite_only.finish();
    of_rest.flags = record::fingerprint_nonfinite;
    return of_rest;
}

}  // namespace fp32shim::blas
