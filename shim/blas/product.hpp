// The first step of a call: its arguments by role instead of by position.
#pragma once

#include <cstdint>

#include "policy/matmul_call.hpp"
#include "shim/blas/emulate/level3.hpp"
#include "shim/entry/frame.hpp"
#include "shim/site.hpp"

namespace fp32shim::blas {

/// One intercepted call. Lives on the stack of that call and points into the program's arguments. Not to be
/// copied, since `level3` may point at `alpha_value` and `beta_value`.
struct Product {
    policy::MatmulCall call;  ///< for a batch of groups: the sizes of the group with the most work

    /// The product; of a strided batch the first one; of a batch of groups operation, layout and dtype only, since
    /// for_each_product() has its products.
    Level3 level3;
    float alpha_value = 0;
    float beta_value = 0;

    bool readable = false;         ///< false: null pointers, or unknown integer width
    std::int64_t group_count = 1;  ///< number of groups of pointer arrays; 1 for other calls
    std::int64_t stride_a = 0;     ///< in elements, for strided batches
    std::int64_t stride_b = 0;
    std::int64_t stride_c = 0;
};

/// Reads the arguments of a call. Null pointers make it unreadable, so this never faults where the provider would
/// not.
void describe(const Site& site, const Frame& frame, Product& product);

/// Returns true if every argument could be a pointer. A function under a bare name, which may be anybody's, is
/// taken for BLAS only then.
bool arguments_look_like_pointers(const Function& function, const Frame& frame);

/// Calls `visit` with every single product of a call. Stops at the first `false` and returns it. Precondition:
/// product.readable.
bool for_each_product(const Site& site, const Frame& frame, const Product& product,
                      bool (*visit)(void* context, const Level3& single), void* context);

}  // namespace fp32shim::blas
