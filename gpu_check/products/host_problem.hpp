// Matrices on the host for one level-3 product, and the judgement of its result. Needs no device.
//
// The elements make results in different formats differ clearly. An eighth of them are ties of TF32 and FP16, halfway
// between two numbers of the format, and an eighth are ties of BF16, so that a result tells how ties are rounded.
// TF32 and FP16 keep equally many bits. So a third of the rows is too large for FP16, and a third is smaller than its
// smallest number. Powers of two scale these rows, and with them the rows of the result; judge() divides by the same
// powers.
#pragma once

#include <complex>
#include <vector>

#include "gpu_check/products/format.hpp"

namespace gpu {

/// The kind of product. Triangles are lower, matrices stand on the left side, and nothing is transposed unless the
/// formula says so.
enum class ProductKind {
    gemm,   // A B
    symm,   // A symmetric
    hemm,   // A hermitian
    syrk,   // A A^T; also syrkx with B = A
    herk,   // A A^H
    syr2k,  // A B^T + B A^T
    her2k,  // A B^H + B A^H
    trmm,   // A B, A triangular
    trsm,   // A^-1 B, A triangular with a diagonal of ones
};

/// Kind of operands: those for all shapes but trsm, or those for trsm, whose solution would otherwise grow beyond
/// float32's range.
enum class OperandUse { product, solve };

/// A and B of a product: n×n, column-major, leading dimension n.
class HostProblem {
  public:
    HostProblem(int n, bool complex, OperandUse use);

    /// Judges a result: n×n, column-major, real or (real, imaginary) as the operands.
    MeasuredRounding judge_result(ProductKind shape, const float* result) const;

    int n;
    bool complex;
    std::vector<std::complex<float>> a, b;

  private:
    double scale_of_result(ProductKind shape, int row, int column) const;
    Complex reference_element(ProductKind shape, int row, int column, Rounding rounding) const;
    std::vector<Complex> solved_column(int column, Rounding rounding) const;

    std::vector<double> scales_;  // powers of two that scale the rows
};

}  // namespace gpu
