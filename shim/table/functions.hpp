// The registry of intercepted functions: table/functions.def as data.
#pragma once

#include <cstdint>
#include <string_view>

#include "shim/table/families.hpp"

namespace fp32shim {

struct Function {
    std::string_view name;
    const Family* family;
    Convention convention;
    Width width;

    const Positions& positions() const { return convention == Convention::cblas ? family->cblas : family->fortran; }
};

/// An index into the table; also the number of the entry point.
using FunctionIndex = std::int32_t;

enum : FunctionIndex {
#define ROW(symbol, family, convention, width) row_##symbol,
#include "shim/table/functions.def"
#undef ROW
    function_count
};

extern const Function functions[function_count];

/// The row of a symbol name, or -1. Calls nothing outside this library: `dlsym` comes through here before the
/// libraries of a sanitizer or allocator work.
FunctionIndex find_function(const char* symbol);

/// The row of the same family member's name with an underscore (`sgemm_` for `sgemm`, `SGEMM`): the name that a
/// provider of a bare name must also have.
FunctionIndex underscored(FunctionIndex bare);

/// The row of another family's name of the same form (`cgemm` for `scipy_cblas_csyrk64_`: `scipy_cblas_cgemm64_`), or
/// -1.
FunctionIndex row_beside(const Function& function, std::string_view family);

}  // namespace fp32shim
