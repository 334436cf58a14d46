// Names of functions as their author wrote them, made from the names in symbol tables: `physics::solve` of
// `_ZN7physics5solveIfEEvRKNS_4GridE`, `__physics_MOD_solve` or `solve_`. Rules and reports use the same names. Pure:
// no allocation, no recursion without a bound, and time in proportion to the length of the name.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace fp32shim::where {

/// Longest name in a symbol table that is read. Longer ones are unknown.
inline constexpr std::size_t symbol_limit = 2048;

/// Returns the name of the function that a symbol stands for. C++: without template arguments, parameters and return
/// type. Fortran: `module::procedure`, in lower case as the compilers keep it, without a trailing underscore. Parts
/// that a compiler split off (`solve.cold`) have the function's name. A name of another kind is returned unchanged,
/// and so is one that `buffer` has no room for. The result lies in `buffer` or in `symbol`.
std::string_view function_name(std::string_view symbol, std::span<char> buffer);

/// Returns the part of a mangled C++ name that names the function: without parameters, return type and the compiler's
/// additions. It is a mangled name itself. Empty: the name is not C++'s, or is of an unknown kind.
std::string_view mangled_function(std::string_view symbol);

/// Returns what a compiler added to the name of a part of a function (`.cold`, `.part.0`); empty: nothing.
std::string_view clone_suffix(std::string_view symbol);

}  // namespace fp32shim::where
