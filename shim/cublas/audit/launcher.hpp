// The ways to multiply again: by the function that the program called, or one that does the same, on its handle.
#pragma once

#include <cstdint>

#include "shim/audit/packed.hpp"
#include "shim/cublas/lt_arguments.hpp"
#include "shim/cublas/product.hpp"
#include "shim/entry/frame.hpp"

namespace fp32shim::cublas {

/// Multiplies the program's operands once more, in memory of an audit's.
struct Launcher {
    /// Launches a product in a format, on the program's stream. `is_bound`: a product of absolute values, of which
    /// nothing but the product is wanted. Returns the library's status.
    using Launch = std::int32_t (*)(const Launcher& launcher, const blas::Level3& single, Format format,
                                    bool is_bound);

    const Site& site;
    const Frame& frame;
    const Product& product;
    void (*set_up)(Launcher& launcher);
    Launch launch;
    bool is_ready = false;
    Stream stream = nullptr;
    bool scalars_on_device = false;  ///< alpha and beta lie on the device
    bool adds_epilogue = false;      ///< cublasLt: what is stored is not the product alone
    Parts parts{};                   ///< cublasLt only

    /// Returns true if the library can multiply so in a format.
    bool can_multiply_in(Format format) const;
};

/// Finds out what the library, or cublasLt's descriptor, tells of the call: is_ready is false if that is not enough.
void set_up_cublas(Launcher& launcher);
void set_up_lt(Launcher& launcher);

std::int32_t launch_by_cublas(const Launcher& launcher, const blas::Level3& single, Format format, bool is_bound);
std::int32_t launch_by_lt(const Launcher& launcher, const blas::Level3& single, Format format, bool is_bound);

/// Returns true if this function of the library can multiply in a format.
bool can_multiply_in(Format format, const Site& site, const Product& product);

}  // namespace fp32shim::cublas
