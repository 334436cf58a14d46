// The first step of a cuBLAS call: reads the call's arguments. Matrices and scalars are not read, since they may lie
// on the device.
#pragma once

#include "policy/matmul_call.hpp"
#include "shim/cublas/arguments.hpp"
#include "shim/cublas/handles.hpp"
#include "shim/cublas/plan_request.hpp"
#include "shim/entry/frame.hpp"
#include "shim/entry/site.hpp"

namespace fp32shim::cublas {

/// The treatment and the type of operands that have a given value of cudaDataType.
struct OperandType {
    OperandTreatment treatment;
    policy::Dtype dtype;
};
OperandType operand_type(std::int32_t data_type);

/// The facts about one call that follow from its arguments and its handle.
struct Product {
    OperandTreatment treatment = OperandTreatment::governed;
    policy::Dtype dtype = policy::Dtype::float32;
    bool pointers_are_in_arrays = false;  ///< true if the operands are passed as arrays of pointers
    bool is_guarded = false;              ///< true if the call is made inside PyTorch's NoTF32Guard
    HandleRecord* handle = nullptr;       ///< the record of the handle; nullptr if the handle is unknown
    Device device;                        ///< device of the handle
    std::uint64_t key = key_unknown;      ///< key of the plan that the call site keeps, see plan_key.hpp
    RequestedPrecision asked;
};
bool is_cublas_library(const LoadedObject* object);

/// Fills in the sizes of the group with the most work, and sets call.batch to the number of products in all groups.
/// Returns true if a group multiplies anything. Also returns true for arguments that the library will report as
/// errors: missing arrays, or a negative number of groups.
bool describe_groups(const ArgumentReader& arguments, policy::MatmulCall& call);

/// Reads the type of a call's operands, and its handle. describe_requested_precision() fills in the other facts.
Product describe_product(const Site& site, const Frame& frame);

/// Fills in `product.asked` (math mode, compute type, algorithm) and the plan's key, a part of which is `settings`.
/// Asks the library for the handle's math mode, and sets product.handle to nullptr if the library refuses the handle.
/// Precondition: the handle's lock is held.
void describe_requested_precision(const Site& site, const Frame& frame, std::uint64_t settings, Product& product);

/// Fills in the facts about a call that policy rules use, including the sizes.
void describe_sizes(const Site& site, const Frame& frame, const Product& product, policy::MatmulCall& call);

}  // namespace fp32shim::cublas
