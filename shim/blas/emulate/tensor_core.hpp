// A model of tensor cores, which add products in another way than FP32 arithmetic. A preview can run its products by
// this model. The model is slow, since each sum is formed in integers.
#pragma once

#include <optional>

#include "shim/blas/emulate/emulate.hpp"
#include "shim/blas/emulate/scratch.hpp"
#include "shim/blas/emulate/tensor_core_sum.hpp"

namespace fp32shim::blas {

/// Returns the model of a GPU's tensor cores for operands with this rounding. Returns nullopt if `gpu` is `library`,
/// or if the GPU's tensor cores do not take these operands.
std::optional<TensorCoreModel> tensor_core_model(policy::AccumulationModel gpu, OperandRounding rounding);

/// A tensor core, and the scratch memory of a product. The leading memory of `scratch` has memory_for_tensor_core
/// bytes.
struct TensorCoreRoutine {
    TensorCoreModel core;
    const ProductScratch* scratch = nullptr;
};
inline constexpr std::size_t memory_for_tensor_core = (sizeof(ComplexBlockFactors) + 63) / 64 * 64;

/// Computes a level-3 product as a tensor core would. Has the type of Routine::call. `routine` points to a
/// TensorCoreRoutine whose scratch memory has been taken. The sum of an element's products begins at 0; then alpha,
/// beta and C are applied in FP32. A product of complex numbers adds a block of products of real parts, then a block
/// of products of imaginary parts, and so on. syr2k and her2k are computed as two products, one after the other.
/// Allocates nothing. Precondition: the elements of A and B are numbers of the format, and the operation is not trsm.
void multiply_on_tensor_core(void* routine, const Level3& product);

}  // namespace fp32shim::blas
