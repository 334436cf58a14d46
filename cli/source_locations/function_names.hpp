// Turns names in symbol tables into the names that the author of the code wrote. For example, `physics::solve` is the
// name for `_ZN7physics5solveIfEEvRKNS_4GridE` and for `__physics_MOD_solve`, and `solve` is the name for `solve_`.
#pragma once

#include <string>
#include <string_view>

namespace fp32shim::cli {

/// Returns the name of the function that a symbol stands for. The name of a C++ function has no template arguments,
/// parameters and return type. The name of a Fortran procedure is `module::procedure`, in lower case as in the
/// symbol, without a trailing underscore. A part that the compiler has split off, such as `solve.cold`, has the name
/// of its function. Other symbols are returned unchanged, and so are symbols with types that this machine's C++
/// library does not know.
std::string function_name(std::string_view symbol);

/// Returns the name of a function as function_name() does, but including the template arguments of a C++ function.
std::string full_function_name(std::string_view symbol);

/// Returns the suffix that a compiler has given to a part of a function, such as `.cold` or `.part.0`, or an empty
/// text if there is none.
std::string_view clone_suffix(std::string_view symbol);

}  // namespace fp32shim::cli
