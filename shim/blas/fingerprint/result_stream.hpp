// A fingerprint in the making: the floats of a result, in pieces and groups. Only the groups count, not the pieces,
// so a result has the same fingerprint whatever its leading dimension is.
//
//     matrix    | column | column | … | column | column | … |       as stored: columns, or rows in row-major order
//               | group of 1/32 of them        | group      |
//
// Lane i of a group adds to sum (i + rotation) mod 32 of the sketch, and each group has another rotation. Otherwise a
// row of a matrix, one element of each column, could fall into one and the same sum, and its estimate would be bad.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "record/fingerprint.hpp"
#include "shim/blas/fingerprint/absorb.hpp"

namespace fp32shim::blas {

/// Used by fingerprint_of(). The arithmetic is that of double precision, rounded to nearest, whatever the program has
/// set; callers see to that (audit/float_environment.hpp).
class ResultStream {
  public:
    explicit ResultStream(AbsorbKernel kernel);

    /// Returns the number of columns of each group of a matrix; the last group takes the rest, too. `length`: floats
    /// of a column, at least 1. A group has a block of floats at least: fewer cost as much as a block.
    static std::int64_t columns_of_group(std::int64_t columns, std::int64_t length) {
        constexpr auto block = static_cast<std::int64_t>(lane_count);
        return std::max(columns / block, (block + length - 1) / length);
    }

    void add(const float* floats, std::size_t count);
    void end_group();
    /// Returns the number of floats so far.
    std::uint64_t count() const { return count_; }

    /// Returns the fingerprint of all floats; of one that is not finite, only the hash counts. To be called once.
    record::Fingerprint finish();

  private:
    void absorb(const float* floats, std::size_t blocks);

    AbsorbKernel kernel_;
    Lanes lanes_;
    alignas(64) double sums_[2 * lane_count] = {};  ///< sum i is at i and at i + lane_count: no group wraps around
    alignas(64) float rest_[lane_count];            ///< the last floats of the group, fewer than a block
    std::size_t rest_count_ = 0;
    std::uint64_t groups_ = 0;
    std::uint64_t count_ = 0;
};

/// Returns the fingerprint of the floats that `add(stream)` adds to a stream. If some are NaN or infinite, `add` is
/// called twice.
template <class Add>
record::Fingerprint fingerprint_of(const Add& add, const AbsorbKernels& kernels = best_absorb_kernels()) {
    ResultStream all(kernels.all);
    add(all);
    const record::Fingerprint fingerprint = all.finish();
    if (fingerprint.is_finite()) return fingerprint;
    ResultStream finite_only(kernels.finite_only);
    add(finite_only);
    record::Fingerprint of_rest = finite_only.finish();
    of_rest.flags = record::fingerprint_nonfinite;
    return of_rest;
}

}  // namespace fp32shim::blas
