// Matrices for one level-3 product, on the device and on the host. Judges the result.
#pragma once

#include <complex>
#include <cstddef>
#include <string>
#include <vector>

#include "gpu_check/cuda/libraries.hpp"
#include "gpu_check/products/host_problem.hpp"

namespace gpu {

/// Matrices of a product: n×n, column-major, leading dimension n. A and B are those of HostProblem.
class Problem {
  public:
    /// A batch has `copies` of the three matrices, all equal. Matrices begin `offset` bytes after the memory that the
    /// driver allocated, which is aligned to 256 bytes.
    Problem(const Device& device, int n, bool complex, Use use = Use::product, std::size_t offset = 0);

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
    Buffer a, b, c;                             // matrices, `copies` of each in a row; the first begins at `offset`
    Buffer a_pointers, b_pointers, c_pointers;  // addresses of the matrices

  private:
    void upload(Buffer& target, const std::vector<std::complex<float>>& matrix) const;

    HostProblem host_;
};

}  // namespace gpu
