// The first step of a cuBLAS call: what it asks for. Looks at values only; matrices and scalars may lie on the
// device.
#pragma once

#include "policy/matmul_call.hpp"
#include "shim/cublas/handles.hpp"
#include "shim/cublas/make_plan.hpp"
#include "shim/entry/frame.hpp"
#include "shim/site.hpp"

namespace fp32shim::cublas {

/// What a cudaDataType is to the shim.
struct OperandType {
    Counted counted;
    policy::Dtype dtype;
};
OperandType operand_type(std::int32_t data_type);

struct Product {
    Counted counted = Counted::governed;
    policy::Dtype dtype = policy::Dtype::float32;
    bool pointers_are_in_arrays = false;  ///< operands are arrays of pointers
    HandleRecord* handle = nullptr;       ///< nullptr: unknown
    Device device;                        ///< of the handle
    std::uint64_t key = key_unknown;      ///< what the plan for it depends on, see plan_key.hpp
    Asked asked;
};

/// libcublas and libcublasLt themselves.
bool is_cublas_library(const LoadedObject* object);

/// 'N', 'T', 'C', 'R' (conjugate); '?' for another value of cublasOperation_t.
char letter_of_operation(std::int32_t value);

/// What is multiplied, and on which handle.
Product describe(const Site& site, const Frame& frame);

/// How the call says what it allows; `settings` is the settings' part of the key. The handle's math mode is asked of
/// the library, which may know better than we whether it is a handle. Precondition: the handle's lock is held.
void describe_request(const Site& site, const Frame& frame, std::uint64_t settings, Product& product);

/// The same in the policy's words, sizes included.
void describe_sizes(const Site& site, const Frame& frame, const Product& product, policy::MatmulCall& call);

}  // namespace fp32shim::cublas
