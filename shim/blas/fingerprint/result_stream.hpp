// A fingerprint in the making: a result, one piece after the other. A piece is a column, or a row where these are
// stored one after the other; so a result has the same fingerprint whatever its leading dimension is.
//
//     pieces    | 32 or more floats | 32 or more floats | short, short, short … |        each |…| is a group
//
// Lane i of a group adds to sum (i + rotation) mod 32 of the sketch, and each group has another rotation. Otherwise a
// row of a matrix, one element of each column, could fall into one and the same sum, and its estimate would be bad.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/fingerprint.hpp"
#include "shim/blas/fingerprint/absorb.hpp"

namespace fp32shim::blas {

/// The arithmetic is that of double precision, rounded to nearest, whatever the program has set; callers see to that
/// (DefaultFloatEnvironment).
class ResultStream {
  public:
    explicit ResultStream(AbsorbKernel kernel = best_absorb_kernel());

    void add(const float* floats, std::size_t count);
    /// Returns the number of floats so far.
    std::uint64_t count() const { return count_; }

    /// Returns the fingerprint of all floats. To be called once.
    record::Fingerprint finish();

  private:
    void add_group(const float* floats, std::size_t count);
    void absorb(double* sums, const float* floats, std::size_t blocks);
    void renew_signs();

    AbsorbKernel kernel_;
    Lanes lanes_{};
    alignas(64) double sums_[2 * lane_count] = {};  ///< sum i is at i and at i + lane_count: no group wraps around
    alignas(64) float short_[2 * lane_count];       ///< short pieces that are no group yet
    std::size_t short_count_ = 0;
    std::uint64_t blocks_ = 0;
    std::uint64_t groups_ = 0;
    std::uint64_t count_ = 0;
};

}  // namespace fp32shim::blas
