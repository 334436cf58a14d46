// Multiplies float64 operands by a routine of float32, as a program would do it that is rewritten for float32.
#pragma once

#include <cstddef>

#include "shim/blas/emulate/emulate.hpp"

namespace fp32shim::blas {

/// A routine of float32 in place of one of float64. Operands, scalars and C are rounded to float32, and the result is
/// widened. Used by one call at a time; not to be moved during it.
struct InFloat32 {
    Routine single;  ///< the routine of float32 that takes the same arguments
    char* memory;    ///< bytes_in_float32() bytes, aligned to 64
};

/// The limit, in bytes, for the copies of one product; larger products run as called.
inline constexpr std::size_t limit_in_float32 = std::size_t{1} << 30;

/// Returns the memory for float32 copies of a float64 product's operands and result, in bytes; SIZE_MAX on overflow.
std::size_t bytes_in_float32(const Level3& product);

/// Multiplies by the InFloat32 at `context`. For Routine::call. `product` may be the whole one or a block of it.
void call_in_float32(void* context, const Level3& product);

}  // namespace fp32shim::blas
