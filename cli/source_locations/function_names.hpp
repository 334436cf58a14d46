// Turns names from symbol tables into names as the author wrote them: `_ZN7physics5solveIfEEvRKNS_4GridE` into
// `physics::solve`, and likewise `__physics_MOD_solve` or `solve_`.
#pragma once

#include <string>
#include <string_view>

namespace fp32shim::cli {

/// Returns the name of the function that a symbol stands for. C++: without template arguments, parameters and return
/// type. Fortran: `module::procedure`, in lower case as the compilers keep it, without a trailing underscore. Parts
/// that a compiler split off (`solve.cold`) have the function's name. Other kinds of symbols are returned unchanged,
/// and so are names with types that this machine's C++ library does not know.
std::string function_name(std::string_view symbol);

/// Returns the name of a function as function_name() does, but with the template arguments of a C++ function.
std::string full_function_name(std::string_view symbol);

/// Returns the suffix that a compiler gave to a part of a function (`.cold`, `.part.0`); empty if there is none.
std::string_view clone_suffix(std::string_view symbol);

}  // namespace fp32shim::cli
