// The operands of an operation in memory. Sizes count elements of the operation's dtype. Memory is counted in floats:
// a float64 takes two floats, and a complex128 takes four.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "shim/level3/level3.hpp"

namespace fp32shim::blas {

/// A matrix in memory. The element with inner index i and outer index j is at data + (i + j * ld) * width. Elements
/// with successive inner indices are adjacent: the inner index is the row in column-major order, and the column in
/// row-major order.
struct Matrix {
    const float* data = nullptr;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t ld = 0;
    bool row_major = false;
    int width = 1;  ///< number of floats per element
    bool is_complex = false;
    bool is_double = false;

    std::int64_t inner() const { return row_major ? columns : rows; }
    std::int64_t outer() const { return row_major ? rows : columns; }
    const float* at(std::int64_t row, std::int64_t column) const {
        return data + (row_major ? row * ld + column : row + column * ld) * width;
    }
    Matrix block(std::int64_t row, std::int64_t column, std::int64_t row_count, std::int64_t column_count) const {
        return {at(row, column), row_count, column_count, ld, row_major, width, is_complex, is_double};
    }
    bool operator==(const Matrix&) const = default;
};

/// These functions return A, B or C as stored, before op() is applied. B of syrk and herk is empty, and so is C of an
/// in-place trmm or trsm. A vector is a matrix of one row, whose leading dimension is the increment. A vector that a
/// norm does not read, because its increment is not positive, has no elements.
Matrix operand_a(const Level3& product);
Matrix operand_b(const Level3& product);
Matrix operand_c(const Level3& product);

/// The part of a square matrix that a routine reads or writes: the whole matrix, or one triangle.
enum class Part : std::uint8_t { whole, upper, lower };
Part part_of_a(const Level3& product);
/// Returns the part of the result that the routine writes.
Part written_part(const Level3& product);

constexpr bool contains(Part part, std::int64_t row, std::int64_t column) {
    return part == Part::whole || (part == Part::upper ? row <= column : row >= column);
}

/// The indices from `begin` to `end`, without `end`.
struct IndexRange {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t count() const { return end - begin; }
};

/// Returns the inner indices of the elements that belong to `part` at the outer index `outer`.
IndexRange stored_range(const Matrix& matrix, Part part, std::int64_t outer);

/// Calls `visit(from, to, elements)` with each run of adjacent elements in `part` of two matrices of the same shape.
template <class Visit>
void for_each_contiguous_run(const Matrix& from, const Matrix& to, Part part, const Visit& visit) {
    for (std::int64_t outer = 0; outer < from.outer(); ++outer) {
        const auto [begin, end] = stored_range(from, part, outer);
        visit(const_cast<float*>(from.data) + (begin + outer * from.ld) * from.width,
              const_cast<float*>(to.data) + (begin + outer * to.ld) * to.width, end - begin);
    }
}

/// Calls `visit(floats, count)` with each run of adjacent floats in `part` of a matrix.
template <class Visit>
void for_each_contiguous_run(const Matrix& matrix, Part part, const Visit& visit) {
    for_each_contiguous_run(matrix, matrix, part, [&](const float*, float* floats, std::int64_t elements) {
        visit(floats, static_cast<std::size_t>(elements * matrix.width));
    });
}

/// Copies the elements of `part` between two matrices of the same shape.
void copy_elements(const Matrix& from, Part part, const Matrix& to);

/// Rounds `count` floats. `from` and `to` are equal or do not overlap. Neither needs to be aligned.
using RoundingLoop = void (*)(const float* from, float* to, std::size_t count);
/// The state of the random numbers for one product. One random number is drawn for each float that is rounded.
struct RandomStream {
    std::uint64_t start = 0;  ///< the seed of this stream
    std::uint64_t drawn = 0;
};
/// Rounds floats like RoundingLoop, but chooses at random between the nearest numbers.
using RandomLoop = void (*)(const float* from, float* to, std::size_t count, RandomStream& random);

/// A function that rounds floats, with its random numbers if it needs any.
class RoundingKernel {
  public:
    // This constructor is implicit, since a loop without random numbers is already a kernel.
    constexpr RoundingKernel(RoundingLoop loop = nullptr) : loop_(loop) {}
    /// `random` has to outlive the kernel and the kernel's copies, which all draw from it.
    constexpr RoundingKernel(RandomLoop loop, RandomStream& random) : random_loop_(loop), random_(&random) {}

    /// Returns a kernel that only copies numbers. Its user has to round the copied operand afterwards, row by row or
    /// column by column, to fixed-point numbers of fixed_point_bits() bits (blas/emulate/fixed_point.cpp).
    static RoundingKernel fixed_point(int bits) {
        RoundingKernel kernel([](const float* from, float* to, std::size_t count) {
            if (from != to) std::memcpy(to, from, count * sizeof(float));
        });
        kernel.fixed_point_bits_ = bits;
        return kernel;
    }
    /// Returns the number of bits that was passed to fixed_point(), or 0 for any other kernel.
    int fixed_point_bits() const { return fixed_point_bits_; }

    /// Returns the same kernel for float64 numbers, each of which takes two of the `count` floats. It rounds a number
    /// to float32 first, to nearest with ties to even. NaN stays as it is.
    RoundingKernel for_float64() const {
        RoundingKernel kernel = *this;
        kernel.of_doubles_ = true;
        return kernel;
    }

    void operator()(const float* from, float* to, std::size_t count) const {
        if (of_doubles_)
            round_doubles(from, to, count);
        else
            round_floats(from, to, count);
    }

  private:
    void round_doubles(const float* from, float* to, std::size_t count) const;
    void round_floats(const float* from, float* to, std::size_t count) const {
        if (loop_ != nullptr)
            loop_(from, to, count);
        else
            random_loop_(from, to, count, *random_);
    }

    RoundingLoop loop_ = nullptr;
    RandomLoop random_loop_ = nullptr;
    RandomStream* random_ = nullptr;
    bool of_doubles_ = false;
    int fixed_point_bits_ = 0;
};

/// Returns a hash of the elements in `part` of a matrix. The hash depends on the order of the elements.
std::uint64_t hash_of(const Matrix& matrix, Part part);

/// Rounds each element of a matrix in place.
void round_in_place(const Matrix& matrix, RoundingKernel kernel);

}  // namespace fp32shim::blas
