// Computes a product in double precision, by loops of the shim's own, as the reference for FP32 results. Products of
// two floats are exact in double.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/audit/errors.hpp"
#include "shim/level3/level3.hpp"

namespace fp32shim::blas {

/// Returns the number of bytes that multiply_in_fp64() needs; SIZE_MAX on overflow.
std::size_t bytes_for_fp64_product(const Level3& product);

/// Computes `product`. `start` has the values that C (or B of an in-place trmm) had before the call. Returns the
/// result in the layout of `start`. The result lies in `memory`, which needs bytes_for_fp64_product() bytes, aligned
/// to 8. Takes some 2·m·n·k / 2e9 seconds. Precondition: multiplies(product), and the operation is not trsm.
Fp64Matrix multiply_in_fp64(const Level3& product, const Matrix& start, char* memory);

/// A row or column of a result.
struct Line {
    bool is_row;
    std::int64_t index;
};

/// Two results of one product in FP32 and below, and the elements that the product writes.
struct Results {
    Matrix tested;
    Matrix fp32;
    Written written;
};

/// Sums of squares over lines of a result: of the differences from float64, and of the values in float64.
struct LineSums {
    double tested = 0;
    double fp32 = 0;
    double reference = 0;
};

/// Returns the number of bytes that add_line() needs.
std::size_t bytes_for_line(const Matrix& result);

/// Computes one line of `product` in double precision and adds the differences of both results to `sums`. `start`,
/// `memory` and the precondition: as for multiply_in_fp64().
void add_line(const Level3& product, const Matrix& start, const Results& results, Line line, char* memory,
              LineSums& sums);

}  // namespace fp32shim::blas
