// Searches matrices for NaN and infinity. The functions have no side effects. They read numbers only as bits, so they
// raise no floating-point exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "shim/level3/matrix.hpp"

namespace fp32shim::blas {

/// Returns true if none of the numbers is NaN or infinite. `count` is a number of floats; a float64 counts as two.
bool all_finite(const float* numbers, std::size_t count, bool is_double = false);

/// The elements of a matrix that a routine reads or writes.
struct MatrixRegion {
    Matrix matrix;  ///< its `data` is nullptr if there are no elements
    Part part = Part::whole;
    bool skips_diagonal = false;  ///< true if the diagonal counts as 1, whatever is stored there
};

/// An element that is NaN or infinite.
struct NonfiniteElement {
    std::int64_t row;
    std::int64_t column;
    bool is_nan;  ///< true for NaN, false for infinity
};

/// Returns the first element in memory order that is NaN or infinite, or nullopt if there is none.
std::optional<NonfiniteElement> first_nonfinite(const MatrixRegion& elements);

}  // namespace fp32shim::blas
