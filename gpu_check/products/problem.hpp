// Matrices for one level-3 product, on the device and on the host. Judges the result.
#pragma once

#include <complex>
#include <cstddef>
#include <string>
#include <vector>

#include "gpu_check/cuda/libraries.hpp"
#include "gpu_check/products/format.hpp"

namespace gpu {

/// The kind of product. Triangles are lower, matrices stand on the left side, and nothing is transposed unless the
/// formula says so.
enum class Shape {
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

/// Matrices of a product: n×n, column-major, leading dimension n.
class Problem {
  public:
    /// Makes matrices with elements uniform in [-scale_a, scale_a] for A and [-1, 1] for the others. A batch has
    /// `copies` of the three matrices, all equal. Matrices begin `offset` bytes after the memory that the driver
    /// allocated, which is aligned to 256 bytes.
    Problem(const Device& device, int n, bool complex, double scale_a, std::size_t offset = 0);

    /// Puts NaN into C. For trsm, which solves in place, puts B there instead.
    void prepare(Shape shape);
    /// Judges product number `copy` of a batch, from 0.
    Measured judge(Shape shape, int copy = 0) const;
    /// Returns a hash of the bits of the first product's result.
    std::string hash_of_result() const;

    static constexpr int copies = 2;
    int n;
    bool complex;
    std::size_t matrix_bytes;
    std::size_t offset;
    std::vector<std::complex<float>> host_a, host_b;
    Buffer a, b, c;                             // matrices, `copies` of each in a row; the first begins at `offset`
    Buffer a_pointers, b_pointers, c_pointers;  // addresses of the matrices

  private:
    void upload(Buffer& target, const std::vector<std::complex<float>>& matrix) const;
    Complex entry(Shape shape, int row, int column, Rounding rounding) const;
    std::vector<Complex> solved_column(int column, Rounding rounding) const;
};

/// Scale of operands that tells FP16 from TF32: FP16 has too few bits for numbers this small.
inline constexpr double small_scale = 1.0 / (1 << 18);

}  // namespace gpu
