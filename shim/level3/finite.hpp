// Searches matrices for NaN and infinity. Pure. Reads numbers only as bits, so it raises no floating-point
// exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "shim/level3/matrix.hpp"

namespace fp32shim::blas {

/// Returns true if none of the numbers is NaN or infinite. `count` counts floats; a float64 takes two of them.
bool all_finite(const float* numbers, std::size_t count, bool is_double = false);

/// The elements of a matrix that a routine reads or writes.
struct MatrixRegion {
    Matrix matrix;  ///< has no data if there are no elements
    Part part = Part::whole;
    bool skips_diagonal = false;  ///< the diagonal counts as 1, whatever is stored there
};

/// An element that is NaN or infinite.
struct NonfiniteElement {
    std::int64_t row;
    std::int64_t column;
    bool is_nan;  ///< true: NaN; false: infinity
};

/// Returns the first element in memory order that is NaN or infinite, or nullopt if there is none.
std::optional<NonfiniteElement> first_nonfinite(const MatrixRegion& elements);

}  // namespace fp32shim::blas
