// Turns names from symbol tables into names as the author wrote them: `_ZN7physics5solveIfEEvRKNS_4GridE` into
// `physics::solve`, and likewise `__physics_MOD_solve` or `solve_`. Rules and reports use the same names. Pure: no
// allocation, bounded recursion, and time in proportion to the length of the name.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace fp32shim::where {

/// The length of the longest symbol that is read. Longer ones are treated as unknown.
inline constexpr std::size_t symbol_limit = 2048;

/// Returns the name of the function that a symbol stands for. C++: without template arguments, parameters and return
/// type. Fortran: `module::procedure`, in lower case as the compilers keep it, without a trailing underscore. Parts
/// that a compiler split off (`solve.cold`) have the function's name. Other kinds of symbols are returned unchanged,
/// and so are names that do not fit into `buffer`. The result lies in `buffer` or in `symbol`.
std::string_view function_name(std::string_view symbol, std::span<char> buffer);

/// Returns the part of a mangled C++ name that names the function, without parameters, return type and the compiler's
/// additions. The result is a mangled name too. Empty if the name is not C++, or of an unknown kind.
std::string_view mangled_function(std::string_view symbol);

/// Returns the suffix that a compiler gave to a part of a function (`.cold`, `.part.0`); empty if there is none.
std::string_view clone_suffix(std::string_view symbol);

}  // namespace fp32shim::where
