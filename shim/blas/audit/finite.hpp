// Searches matrices for NaN and infinity. Pure; reads bits only, so that no floating-point exception is raised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "shim/level3/matrix.hpp"

namespace fp32shim::blas {

/// Returns true if none of these numbers is NaN or infinite.
bool all_finite(const float* numbers, std::size_t count);

/// The elements of a matrix that a routine reads or writes.
struct Elements {
    Matrix matrix;  ///< without data: there are none
    Part part = Part::whole;
    bool skips_diagonal = false;  ///< it is 1, whatever is stored
};

/// The position of an element.
struct ElementPosition {
    std::int64_t row;
    std::int64_t column;
    bool is_nan;  ///< else the element is infinite
};

/// Returns the first element in memory that is NaN or infinite; nullopt: there is none.
std::optional<ElementPosition> first_nonfinite(const Elements& elements);

}  // namespace fp32shim::blas
