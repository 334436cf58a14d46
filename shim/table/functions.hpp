// The table of intercepted functions (table/functions.def) as data. A function consists of a family and a name form.
#pragma once

#include <cstdint>
#include <string_view>

#include "shim/table/families.hpp"

namespace fp32shim {

enum class CallingConvention : std::uint8_t {
    fortran,  ///< Fortran: all arguments are passed by reference
    cblas,    ///< CBLAS: options and sizes are passed by value, and the layout comes first
    bare,     ///< like `fortran`, but under a name that other libraries may use for something else
    cublas,   ///< cuBLAS, cublasXt, cublasLt: enums and sizes are passed by value, scalars by pointer; the handle
              ///< comes first
    legacy,   ///< cuBLAS before version 2: no handle, options as characters, scalars by value, no status
    driver,   ///< the CUDA driver: the arguments are integers and pointers
};

constexpr bool is_of_cublas(CallingConvention convention) {
    return convention == CallingConvention::cublas || convention == CallingConvention::legacy;
}

constexpr bool is_of_cpu(CallingConvention convention) {
    return !is_of_cublas(convention) && convention != CallingConvention::driver;
}

/// The width of integer arguments. `probe` means that the name does not tell the width, so the shim tests the
/// library.
enum class Width : std::uint8_t { probe, lp64, ilp64 };

/// The forms of a name, such as `sgemm_` and `cblas_sgemm64_`. table/functions.def lists them.
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

    /// Returns true if calls return a number in a vector register, as dot products and norms do.
    bool returns_number() const {
        return multiplies() && blas::computes_number(product().operation) && positions().of(Role::c) < 0;
    }
    /// Returns true for Fortran functions that return a complex number. Some compilers let the caller pass an address
    /// for the result, as a first argument that is not in the table.
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

/// Returns the index in `functions` of the function with this symbol name, or -1. Calls nothing outside this library,
/// because the shim's dlsym uses it before the libraries of a sanitizer or allocator are ready.
FunctionIndex find_function(const char* symbol);

/// Returns the index in `functions` of the first function with this family and name form, or -1. Example: the family
/// cgemm and the form of `scipy_cblas_csyrk64_` give `scipy_cblas_cgemm64_`.
FunctionIndex find_function(const FunctionFamily& family, NameForm form);

}  // namespace fp32shim
