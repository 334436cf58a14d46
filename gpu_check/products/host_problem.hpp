// Makes matrices on the host for one level-3 product, and judges its result. Needs no device.
//
// The elements make results in different formats differ clearly. An eighth of them are ties of TF32 and FP16, halfway
// between two numbers of the format, and an eighth are ties of BF16, so that a result tells how ties are rounded.
// TF32 and FP16 keep equally many bits of mantissa. To tell them apart, a third of the rows is too large for FP16,
// and a third is smaller than FP16's smallest number. Powers of two scale the rows of the operand, and thus the rows
// of the result; judge_result() divides by the same powers.
#pragma once

#include <complex>
#include <vector>

#include "gpu_check/products/format.hpp"

namespace gpu {

/// The kind of product. Triangular matrices are lower, symmetric and triangular matrices are the left factor, and no
/// matrix is transposed unless the formula says so.
enum class ProductKind {
    gemm,   // A B
    symm,   // A B with a symmetric A
    hemm,   // A B with a hermitian A
    syrk,   // A A^T; also syrkx with B = A
    herk,   // A A^H; also herkx with B = A
    syr2k,  // A B^T + B A^T
    her2k,  // A B^H + B A^H
    trmm,   // A B with a triangular A
    trsm,   // A^-1 B with a triangular A that has a diagonal of ones
};

/// The use of the operands. A solve (trsm) needs operands of its own, because its solution would otherwise grow
/// beyond float32's range.
enum class OperandUse { product, solve };

/// The operands A and B of a product. They are n×n matrices, column-major, with the leading dimension n.
class HostProblem {
  public:
    HostProblem(int n, bool complex, OperandUse use);

    /// Judges a result, which is an n×n matrix, column-major. If `complex` is true, its elements are pairs of a real
    /// and an imaginary part.
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
