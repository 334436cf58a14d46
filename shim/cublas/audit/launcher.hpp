// Multiplies again on the handle of the program's call, by the function that the program called or an equivalent one.
#pragma once

#include <cstdint>

#include "shim/audit/packed.hpp"
#include "shim/cublas/lt_arguments.hpp"
#include "shim/cublas/product.hpp"
#include "shim/entry/frame.hpp"

namespace fp32shim::cublas {

/// Multiplies the program's operands again, in memory of an audit.
struct AuditLauncher {
    /// Launches a product in a format, on the program's stream. If `is_bound` is true, it is a product of absolute
    /// values, and everything except the plain product is left out. Returns the library's status.
    using Launch = std::int32_t (*)(const AuditLauncher& launcher, const blas::Level3& single, Format format,
                                    bool is_bound);

    const Site& site;
    const Frame& frame;
    const Product& product;
    void (*set_up)(AuditLauncher& launcher);
    Launch launch;
    bool is_ready = false;
    Stream stream = nullptr;
    bool scalars_on_device = false;     ///< alpha and beta lie on the device
    bool adds_epilogue = false;         ///< cublasLt: the stored result is not only the product
    MatmulDescription parts{};          ///< cublasLt only
    std::int32_t* kept_bits = nullptr;  ///< cublasLt: where the product is to tell the bits that emulation kept
};

/// Gathers the facts about the call from the library or from cublasLt's descriptor. Sets is_ready to false if they do
/// not suffice.
void set_up_cublas_launcher(AuditLauncher& launcher);
void set_up_lt_launcher(AuditLauncher& launcher);

/// Values of AuditLauncher::launch, for cuBLAS's own functions and for cublasLt.
std::int32_t launch_by_cublas(const AuditLauncher& launcher, const blas::Level3& single, Format format,
                              bool is_bound);
std::int32_t launch_by_lt(const AuditLauncher& launcher, const blas::Level3& single, Format format, bool is_bound);

/// Returns true if this function of the library can multiply in a format.
bool can_multiply_in(Format format, const Site& site, const Product& product);

}  // namespace fp32shim::cublas
