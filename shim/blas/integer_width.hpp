// The width of a provider's integers. Its name does not say: Debian's libopenblas64 exports unsuffixed names with
// 64-bit integers, and MKL's libmkl_rt decides at run time.
#pragma once

#include "shim/loader/loaded_object.hpp"

namespace fp32shim::blas {

/// Asks a library once how wide its integers are, by a level-1 routine that behaves differently for each width.
IntegerWidth integer_width(LoadedObject& library, const Function& function);

}  // namespace fp32shim::blas
