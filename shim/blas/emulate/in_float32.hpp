// Multiplies float64 operands by a routine of float32, as the program would if it were rewritten for float32.
#pragma once

#include <cstddef>

#include "shim/blas/emulate/emulate.hpp"

namespace fp32shim::blas {

/// A routine of float32 in place of one of float64. Operands, scalars and C are rounded to float32, and the result
/// is widened. One call at a time uses the object, which must not move during the call.
struct Float32Routine {
    Routine single;  ///< the routine of float32 that takes the same arguments
    char* memory;    ///< float32_copy_bytes() bytes, aligned to 64
};

/// The limit, in bytes, for the copies of one product; larger products run as called.
inline constexpr std::size_t float32_copy_limit = std::size_t{1} << 30;

/// Returns the memory for float32 copies of a float64 product's operands and result, in bytes; SIZE_MAX on overflow.
std::size_t float32_copy_bytes(const Level3& product);

/// Calls the Float32Routine at `context`. Has the type of Routine::call. `product` may be a whole product or a block
/// of it.
void call_in_float32(void* context, const Level3& product);

}  // namespace fp32shim::blas
