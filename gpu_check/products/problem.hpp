// Matrices for one level-3 product, on the device and on the host, and the judgement of the result.
#pragma once

#include <complex>
#include <cstddef>
#include <string>
#include <vector>

#include "gpu_check/cuda/libraries.hpp"
#include "gpu_check/products/format.hpp"

namespace gpu {

/// The kind of product. Triangles are lower ones, sides left, nothing is transposed unless the formula says so.
enum class Shape {
    gemm,   // A B
    symm,   // A symmetric
    hemm,   // A hermitian
    syrk,   // A A^T; syrkx with B = A is the same
    herk,   // A A^H
    syr2k,  // A B^T + B A^T
    her2k,  // A B^H + B A^H
    trmm,   // A B, A triangular
    trsm,   // A^-1 B, A triangular with a diagonal of ones
};

/// n×n matrices, column-major, leading dimension n.
class Problem {
  public:
    /// Elements are uniform in [-scale_a, scale_a] and [-1, 1]. Batches: `copies` of the three matrices, all the
    /// same. Matrices begin `offset` bytes behind what the driver allocated, whose alignment is 256 bytes.
    Problem(const Device& device, int n, bool complex, double scale_a, std::size_t offset = 0);

    /// Puts NaN into C, or B for trsm, which solves in place.
    void prepare(Shape shape);
    /// Judges the copy-th product of a batch; 0 is the first.
    Measured judge(Shape shape, int copy = 0) const;
    /// Returns a hash of the first product's bits.
    std::string hash_of_result() const;

    static constexpr int copies = 2;
    int n;
    bool complex;
    std::size_t matrix_bytes;
    std::size_t offset;
    std::vector<std::complex<float>> host_a, host_b;
    Buffer a, b, c;                             // from `offset` on: `copies` matrices, one after the other
    Buffer a_pointers, b_pointers, c_pointers;  // their addresses

  private:
    void upload(Buffer& target, const std::vector<std::complex<float>>& matrix) const;
    Complex entry(Shape shape, int row, int column, Rounding rounding) const;
    std::vector<Complex> solved_column(int column, Rounding rounding) const;
};

/// Operands of products are this small: FP16 has too few bits left for them, which tells it from TF32.
inline constexpr double small_scale = 1.0 / (1 << 18);

}  // namespace gpu
