// Calls one function with one combination of options. Checks the status, the result, memory that must not be written,
// the handle's state, and the one decision that was logged.
#pragma once

#include <string>

#include "device.hpp"
#include "product_case.hpp"

namespace clients {

/// Options and sizes of one call. Options that the function does not have are ignored.
struct Variant {
    char trans_a = 'N', trans_b = 'N', side = 'L', uplo = 'U', diag = 'N';
    std::int64_t m = 19, n = 15, k = 29;
    std::int64_t batch = 1;
    bool device_scalars = false;
    bool zero_beta = false;  ///< beta is 0, and C is full of NaN before the call
    bool small_a = false;    ///< A is so small that the last of three BFloat16 parts underflows

    std::string text() const;
    bool multiplies(Operation operation) const;  ///< true: no size that the operation uses is zero
};

/// Runs the call, and reports failures to GoogleTest.
void run_product(const Device& device, cublasHandle_t handle, const ProductCase& product, const Variant& variant);

}  // namespace clients
