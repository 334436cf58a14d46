// The registry of intercepted functions: table/functions.def as data. A function consists of a family and a name
// form.
#pragma once

#include <cstdint>
#include <string_view>

#include "shim/table/families.hpp"

namespace fp32shim {

enum class CallingConvention : std::uint8_t {
    fortran,  ///< all arguments by reference
    cblas,    ///< options and sizes by value, layout first
    bare,     ///< fortran, under a name that any library may use for something else
    cublas,   ///< options (cuBLAS's enums) and sizes by value, scalars by pointer, handle first; cublasXt and Lt too
    legacy,   ///< cuBLAS before version 2: no handle, options as characters, scalars by value, no status
    driver,   ///< the CUDA driver: integers and pointers
};

constexpr bool is_of_cublas(CallingConvention convention) {
    return convention == CallingConvention::cublas || convention == CallingConvention::legacy;
}

constexpr bool is_of_cpu(CallingConvention convention) {
    return !is_of_cublas(convention) && convention != CallingConvention::driver;
}

/// Width of integer arguments. `probe`: the name does not tell the width, so the shim tests the library.
enum class Width : std::uint8_t { probe, lp64, ilp64 };

/// The forms of a name, such as `sgemm_` and `cblas_sgemm64_`. See table/functions.def.
enum class NameForm : std::uint8_t {
#define FORM(form, convention, width) form,
#include "shim/table/functions.def"
};

struct Function {
    std::string_view name;
    const FunctionFamily* family;
    NameForm form;
    CallingConvention convention;
    Width width;

    const ArgumentPositions& positions() const {
        return convention == CallingConvention::cblas ? family->cblas : family->fortran;
    }

    /// Returns true if calls return a number, in vector registers: a dot product or a norm.
    bool returns_number() const {
        return multiplies() && blas::computes_number(product().operation) && positions().of(Role::c) < 0;
    }
    /// Returns true for functions of Fortran that return a complex number. Some compilers let the caller pass the
    /// address for it, as a first argument that is not in the table.
    bool returns_complex() const {
        const auto is_dot = [](blas::Operation operation) {
            return operation == blas::Operation::dot || operation == blas::Operation::dotc;
        };
        return returns_number() && is_complex(product().dtype) && is_dot(product().operation) &&
               convention != CallingConvention::cblas;
    }

    bool multiplies() const { return family->treatment != Treatment::state; }
    /// Returns the family of a function that multiplies. Precondition: multiplies().
    const ProductFamily& product() const { return static_cast<const ProductFamily&>(*family); }
    /// Returns the family of a function that reports or changes state. Precondition: !multiplies().
    const StateFamily& state() const { return static_cast<const StateFamily&>(*family); }
};

/// An index into `functions`, the table of intercepted functions. The function's entry point has the same index.
using FunctionIndex = std::int32_t;

enum : FunctionIndex {
#define ROW(symbol, family, form) row_##symbol,
#include "shim/table/functions.def"
    function_count
};

extern const Function functions[function_count];

/// Returns the index of the row with this symbol name, or -1. Calls nothing outside this library, since the shim's
/// dlsym uses it before the libraries of a sanitizer or allocator are ready.
FunctionIndex find_function(const char* symbol);

/// Returns the index of the first row with this family and name form, or -1. Example: the family cgemm and the form
/// of `scipy_cblas_csyrk64_` give `scipy_cblas_cgemm64_`.
FunctionIndex find_function(const FunctionFamily& family, NameForm form);

}  // namespace fp32shim
