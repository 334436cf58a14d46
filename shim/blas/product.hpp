// The first step of a call: what it asks for, by role instead of by position.
#pragma once

#include <cstdint>

#include "policy/matmul_call.hpp"
#include "shim/blas/emulate/level3.hpp"
#include "shim/entry/frame.hpp"
#include "shim/site.hpp"

namespace fp32shim::blas {

/// One intercepted call. Lives on the stack of that call and points into the program's arguments; not to be copied,
/// since `level3` may point at `alpha_value` and `beta_value`.
struct Product {
    policy::MatmulCall call;  ///< for a batch of groups: the sizes of the group with the most work

    /// single: the product. strided: the first of the batch. groups: operation, layout and dtype only; the products
    /// are for_each_product()'s.
    Level3 level3;
    float alpha_value = 0;
    float beta_value = 0;

    bool readable = false;         ///< false: the arguments could not be read (null pointers, unknown integer width)
    std::int64_t group_count = 1;  ///< groups of pointer arrays; 1 otherwise
    std::int64_t stride_a = 0;     ///< strided batches, in elements
    std::int64_t stride_b = 0;
    std::int64_t stride_c = 0;
};

/// Reads the arguments of a call. Never faults where the provider would not: null pointers make it unreadable.
void describe(const Site& site, const Frame& frame, Product& product);

/// Whether every argument could be a pointer: what a function under a bare name, which may be anybody's, must show
/// before it is taken for BLAS.
bool arguments_look_like_pointers(const Function& function, const Frame& frame);

/// Calls `visit(Level3)` for every single product of a call; stops at the first `false` and returns it.
/// Precondition: product.readable.
bool for_each_product(const Site& site, const Frame& frame, const Product& product,
                      bool (*visit)(void* context, const Level3& single), void* context);

}  // namespace fp32shim::blas
