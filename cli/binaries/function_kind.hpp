// Classifies function names: functions that the shim intercepts, and routines of LAPACK.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/binaries/elf_file.hpp"

namespace fp32shim::cli {

/// Kind of a function that multiplies and is intercepted; `none` for all others. `vector`: of BLAS, for products with
/// a vector; many programs contain such functions without having a BLAS.
enum class FunctionKind : std::uint8_t { none, blas, vector, cublas };

/// Returns the kind of a function by its name. Also returns `none` for bare names (`sgemm`, `SGEMM`), which any
/// function may have.
FunctionKind function_kind(std::string_view name);
inline bool is_intercepted(std::string_view name) { return function_kind(name) != FunctionKind::none; }
/// Returns true for functions of BLAS and cuBLAS that are not for products with a vector.
inline bool multiplies_matrices(std::string_view name) {
    return is_intercepted(name) && function_kind(name) != FunctionKind::vector;
}
bool has_function_of_kind(const std::vector<ElfSymbol>& symbols, FunctionKind kind);

/// Returns true for a product of BLAS or cuBLAS whose operands are narrower than float32: `cblas_sbgemm`, `hgemm`.
bool has_narrow_operands(std::string_view name);

/// Returns true for sgemm in any name form: `sgemm_`, `cblas_sgemm64_`, `cublasSgemm_v2`.
bool is_sgemm(std::string_view name);

/// Returns true for a LAPACK routine that multiplies matrices in float32 or complex64, in any name form: `sgetrf_`,
/// `scipy_cheevd_64_`.
bool is_float32_lapack_routine(std::string_view name);

/// Returns true for LAPACK routines that OpenBLAS implements with its own kernels instead of BLAS functions.
bool is_openblas_optimized_lapack(std::string_view name);

/// Name of a function that only the shim exports.
inline constexpr std::string_view shim_mark = "fp32shim_abi_version";

/// Returns true if the file is the shim's library.
bool is_shim_library(const std::string& path);

}  // namespace fp32shim::cli
