// Algorithms of the stand-in of cublasLt, and the product that its descriptors describe.
//
// An algorithm belongs to a compute type and to data types, as in cublasLt. For 32-bit operands each combination has:
//   id 0  fused multiply-add, no rounding, any alignment
//   id 1  tensor cores in the permitted format, needs 16-byte alignment
//   id 2  tensor cores in the permitted format, any alignment
//   id 3  like id 1, but split along k: needs a workspace. STAND_IN_SPLIT_K gives it other parts and another id
// Their reported numbers of waves are a half, one, one and two.
// Algorithms on tensor cores exist only if a format below FP32 (or BF16x9) is permitted. Other operands have id 0
// and 1.
#pragma once

#include "cublaslt/layouts.hpp"
#include "permitted_format.hpp"
#include "products/gemm.hpp"

struct cublasLtContext {
    stand_in::LibraryHandle head;
};

namespace stand_in {

struct Types {
    cublasComputeType_t compute;
    cudaDataType scale, a, b, c, d;
    bool operator==(const Types&) const = default;
};

// The contents of a cublasLtMatmulAlgo_t. Plain bytes, since programs copy, store and reload it.
struct Algorithm {
    std::uint32_t mark;
    std::int16_t id;
    std::uint8_t compute_type, scale, a, b, c, d;
    std::uint32_t tile, reduction_scheme, swizzling, custom_option, stages;
    std::int32_t split_k;
    std::uint16_t inner_shape, cluster_shape;

    static constexpr std::uint32_t valid = 0x414c474f;

    Types types() const;
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

struct MatmulCall {
    Types types;
    const MatmulDescriptor* descriptor;
    const LayoutDescriptor *a, *b, *c, *d;
};

constexpr int algorithm_count = 4;
constexpr int fma_algorithm = 0;
constexpr int split_algorithm = 3;
// Returns the id by which programs know an algorithm.
int outer_id(int id);

// Returns the contents; NULL if `algorithm` holds none.
Algorithm* open(cublasLtMatmulAlgo_t* algorithm);
const Algorithm* open(const cublasLtMatmulAlgo_t* algorithm);

bool lt_types_supported(const Types& types);
// Returns the format that the types permit on a device; nullopt: the product is refused.
std::optional<Format> lt_format(const Types& types, int compute_capability);
bool exists(int id, const Types& types, int compute_capability);
// Returns the format to which the algorithm rounds 32-bit operands.
Format format_of(int id, const Types& types, int compute_capability);
std::uint32_t alignment_of(int id);
std::uint64_t workspace_of(int id, std::uint64_t rows, std::uint64_t columns);
std::uint64_t numerical_flags(int id, const Types& types, int compute_capability);
Algorithm make_algorithm(int id, const Types& types);

// Checks that sizes, operations and types of descriptors and layouts make a product, and fills `call`.
cublasStatus_t describe(cublasLtMatmulDesc_t descriptor, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                        cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, MatmulCall* call);

inline bool alive(cublasLtHandle_t handle) { return handle != nullptr && alive(&handle->head); }

}  // namespace stand_in
