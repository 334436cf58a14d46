// Which names matter: the table of intercepted functions, and LAPACK's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fp32shim::cli {

enum class FunctionKind : std::uint8_t { none, blas, cublas };

/// `blas` or `cublas` for a name that the shim intercepts. Names that can be anybody's function (`sgemm`, `SGEMM`)
/// are none.
FunctionKind function_kind(std::string_view name);

/// The product that everybody knows, in any name form: `sgemm_`, `cblas_sgemm64_`, `cublasSgemm_v2`.
bool is_sgemm(std::string_view name);

/// A routine of LAPACK in float32 or complex64 that multiplies matrices, in any name form: `sgetrf_`,
/// `scipy_cheevd_64_`.
bool is_lapack(std::string_view name);

/// Those that OpenBLAS wrote itself, on its kernels rather than on BLAS functions.
bool is_lapack_of_openblas(std::string_view name);

/// A function that only the shim exports.
inline constexpr std::string_view shim_mark = "fp32shim_abi_version";

/// Whether a file is the shim's library.
bool is_shim(const std::string& path);

}  // namespace fp32shim::cli
