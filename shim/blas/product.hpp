// The first step of a call: its arguments by role instead of by position.
#pragma once

#include <cstdint>

#include "policy/matmul_call.hpp"
#include "shim/entry/frame.hpp"
#include "shim/entry/site.hpp"
#include "shim/level3/level3.hpp"

namespace fp32shim::blas {

/// One intercepted call. Lives on the stack of that call and points into the program's arguments. Not to be
/// copied, since `level3` may point at `alpha_value` and `beta_value`.
struct Product {
    policy::MatmulCall call;  ///< the call in policy terms; of a batch of groups, the sizes of the one with most work

    /// The product; of a strided batch the first one. Of a batch of groups only operation, layout and dtype are set:
    /// for_each_product() reads the rest.
    Level3 level3;
    float alpha_value = 0;
    float beta_value = 0;

    bool readable = false;         ///< false: null pointers, or unknown integer width
    std::int64_t group_count = 1;  ///< groups in one call of a `_batch` function, each with its own sizes; else 1
    std::int64_t stride_a = 0;     ///< in elements, for strided batches
    std::int64_t stride_b = 0;
    std::int64_t stride_c = 0;
};

/// Reads the arguments of a call into `product`. Null pointers leave product.readable false, so that nothing faults
/// here that would not in the library.
void describe(const Site& site, const Frame& frame, Product& product);

/// Returns true if every argument could be a pointer. If not, a function with a name that any library may use
/// (`sgemm`) is not treated as BLAS.
bool arguments_look_like_pointers(const Function& function, const Frame& frame);

/// Calls `visit` with each single product of a call. Stops and returns false as soon as `visit` returns false.
/// Precondition: product.readable.
bool for_each_product(const Site& site, const Frame& frame, const Product& product,
                      bool (*visit)(void* context, const Level3& single), void* context);

}  // namespace fp32shim::blas
