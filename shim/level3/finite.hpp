// Searches matrices for NaN and infinity. Pure. Reads numbers only as bits, so no floating-point exception is raised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "shim/level3/matrix.hpp"

namespace fp32shim::blas {

/// Returns true if none of these numbers is NaN or infinite. If they are float64, `count` is twice their number.
bool all_finite(const float* numbers, std::size_t count, bool is_double = false);

/// The elements of a matrix that a routine reads or writes.
struct MatrixElements {
    Matrix matrix;  ///< without data if there are no elements
    Part part = Part::whole;
    bool skips_diagonal = false;  ///< the diagonal counts as 1, whatever is stored there
};

/// The position of an element.
struct ElementPosition {
    std::int64_t row;
    std::int64_t column;
    bool is_nan;  ///< true: NaN; false: infinity
};

/// Returns the first element in memory order that is NaN or infinite, or nullopt if there is none.
std::optional<ElementPosition> first_nonfinite(const MatrixElements& elements);

}  // namespace fp32shim::blas
