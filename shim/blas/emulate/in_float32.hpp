// Multiplies float64 operands by a float32 routine, as the program would if it were rewritten for float32.
#pragma once

#include <cstddef>

#include "shim/blas/emulate/emulate.hpp"

namespace fp32shim::blas {

/// A float32 routine that replaces a float64 routine. Operands, scalars and C are rounded to float32, and the result
/// is widened to float64. Only one call at a time may use the object, which must not move during the call.
struct Float32Routine {
    Routine single;  ///< the float32 routine that takes the same arguments
    char* memory;    ///< memory of float32_copy_bytes() bytes, aligned to 64
};

/// The limit, in bytes, for the float32 copies of one product. Larger products run in float64.
inline constexpr std::size_t float32_copy_limit = std::size_t{1} << 30;

/// Returns the size in bytes of float32 copies of a float64 product's operands and result; SIZE_MAX on overflow.
std::size_t float32_copy_bytes(const Level3& product);

/// Calls the Float32Routine at `context` for `product`, which may be a whole product or a block of one. Has the type
/// of Routine::call.
void call_in_float32(void* context, const Level3& product);

}  // namespace fp32shim::blas
