// Classifies function names: those of functions that the shim intercepts, and those of LAPACK routines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/binaries/elf_file.hpp"

namespace fp32shim::cli {

/// The kinds of functions that multiply and that the shim intercepts. `vector` stands for BLAS functions that
/// multiply by a vector, which many programs contain without having a BLAS. `none` stands for all other functions.
enum class FunctionKind : std::uint8_t { none, blas, vector, cublas };

/// Returns the kind of the function named `name`. Returns `none` for bare names such as `sgemm` and `SGEMM`, because
/// unrelated functions may have such names.
FunctionKind function_kind(std::string_view name);
inline bool is_intercepted(std::string_view name) { return function_kind(name) != FunctionKind::none; }
/// Returns true for functions of BLAS and cuBLAS that multiply matrices, but not for those that multiply by a vector.
inline bool multiplies_matrices(std::string_view name) {
    return is_intercepted(name) && function_kind(name) != FunctionKind::vector;
}
bool has_function_of_kind(const std::vector<ElfSymbol>& symbols, FunctionKind kind);

/// Returns true for a BLAS or cuBLAS function whose operands are narrower than float32, such as `cblas_sbgemm` or
/// `hgemm`.
bool has_narrow_operands(std::string_view name);

/// Returns true for sgemm in any form of its name: `sgemm_`, `cblas_sgemm64_`, `cublasSgemm_v2`.
bool is_sgemm(std::string_view name);

/// Returns true for a LAPACK routine that multiplies matrices in float32 or complex64. The name may have any form,
/// such as `sgetrf_` or `scipy_cheevd_64_`.
bool is_float32_lapack_routine(std::string_view name);

/// Returns true for the LAPACK routines that OpenBLAS implements with its own kernels instead of calls of BLAS
/// functions.
bool is_openblas_optimized_lapack(std::string_view name);

/// The name of a function that only the shim exports.
inline constexpr std::string_view shim_mark = "fp32shim_abi_version";

/// Returns true if the file is the library of the shim.
bool is_shim_library(const std::string& path);

}  // namespace fp32shim::cli
