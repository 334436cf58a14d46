// Reference products, computed in double from operands that are rounded to a format first. By comparison with them, a
// result shows the format that it was computed in.
#pragma once

#include "format.hpp"
#include "matrix.hpp"

namespace clients {

/// One product: op(A) · op(B) and its relatives, in the terms of the BLAS reference.
struct Problem {
    Operation operation;
    Dtype dtype;
    char trans_a = 'N', trans_b = 'N', side = 'L', uplo = 'U', diag = 'N';
    std::int64_t m = 0, n = 0, k = 0;
    Number alpha, beta;
    Matrix a, b, c;  ///< trmm and trsm in place: b is the result too
};

/// Returns true for an element of the result that the product writes: all of them, or those of one triangle.
bool is_written(const Problem& problem, std::int64_t i, std::int64_t j);

struct Measured {
    Format format;
    double error;     ///< against the result in full precision, relative to its Frobenius norm
    double distance;  ///< against the result that `format` gives, likewise
};

/// The format whose rounding explains the result best: for a float32 computation the distance to the right one is
/// about 3e-7, and to the others 1e-4 and more. Where none explains it (a solve in blocks, sums before the rounding),
/// the size of the error decides between fp32, tf32 and bf16.
Measured measure(const Problem& problem, const Dense& result);

}  // namespace clients
