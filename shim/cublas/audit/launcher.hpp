// Multiplies again on the handle of the program's call, by the function that the program called or by an equivalent
// one.
#pragma once

#include <cstdint>

#include "shim/audit/packed.hpp"
#include "shim/cublas/lt_arguments.hpp"
#include "shim/cublas/product.hpp"
#include "shim/entry/frame.hpp"

namespace fp32shim::cublas {

/// Multiplies the program's operands again, in memory of an audit.
struct AuditLauncher {
    /// Launches a product in `format` on the program's stream. If `is_bound` is true, the operands are absolute
    /// values, and everything except the plain product, such as an epilogue, is left out. Returns the library's
    /// status.
    using Launch = std::int32_t (*)(const AuditLauncher& launcher, const blas::Level3& single, Format format,
                                    bool is_bound);

    const Site& site;
    const Frame& frame;
    const Product& product;
    void (*set_up)(AuditLauncher& launcher);
    Launch launch;
    bool is_ready = false;
    Stream stream = nullptr;
    bool scalars_on_device = false;     ///< true if alpha and beta lie on the device
    bool adds_epilogue = false;         ///< true if the product of cublasLt has an epilogue, so that the stored
                                        ///< result is not only the product
    MatmulDescription parts{};          ///< the descriptor and layouts of a product of cublasLt; not set for other
                                        ///< calls
    std::int32_t* kept_bits = nullptr;  ///< for cublasLt: the address to which the product writes the number of bits
                                        ///< that emulation kept
};

/// These functions get the facts about the call from the library or from cublasLt's descriptor, and set is_ready.
/// They set it to false if the call cannot be repeated.
void set_up_cublas_launcher(AuditLauncher& launcher);
void set_up_lt_launcher(AuditLauncher& launcher);

/// These functions are the values of AuditLauncher::launch: the first one for cuBLAS's own functions, and the second
/// one for cublasLt.
std::int32_t launch_by_cublas(const AuditLauncher& launcher, const blas::Level3& single, Format format,
                              bool is_bound);
std::int32_t launch_by_lt(const AuditLauncher& launcher, const blas::Level3& single, Format format, bool is_bound);

/// Returns true if the function that the call site calls can compute `product` in `format`.
bool can_multiply_in(Format format, const Site& site, const Product& product);

}  // namespace fp32shim::cublas
