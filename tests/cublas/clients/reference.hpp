// Reference products, computed in double from operands that are first rounded to a format. The closest reference
// tells the format in which a result was computed.
#pragma once

#include "format.hpp"
#include "matrix.hpp"

namespace clients {

/// One product: op(A) · op(B) or a related operation, in the terms of the BLAS reference.
struct Problem {
    Operation operation;
    Dtype dtype;
    char trans_a = 'N', trans_b = 'N', side = 'L', uplo = 'U', diag = 'N';
    std::int64_t m = 0, n = 0, k = 0;
    Number alpha, beta;
    Matrix a, b, c;  ///< for trmm and trsm in place, b is also the result
};

/// Returns true if the product writes this element of the result. It writes all elements, or those of one triangle.
bool is_written(const Problem& problem, std::int64_t i, std::int64_t j);

struct Measured {
    Format format;
    double error;     ///< relative to the result in full precision, in Frobenius norms
    double distance;  ///< relative to the result in `format`, in Frobenius norms
};

/// Finds the format whose rounding explains the result best. A float32 result is about 3e-7 from the right reference,
/// and 1e-4 or more from the others. If no reference is close (a solve in blocks, sums before the rounding), the size
/// of the error decides between fp32, tf32 and bf16.
Measured measure(const Problem& problem, const Dense& result);

}  // namespace clients
