// The first step of a cuBLAS call: what it asks for. Looks at values only; matrices and scalars may lie on the device.
#pragma once

#include "policy/matmul_call.hpp"
#include "shim/cublas/formats.hpp"
#include "shim/cublas/handles.hpp"
#include "shim/gate.hpp"
#include "shim/site.hpp"

namespace fp32shim::cublas {

enum class Counted : std::uint8_t {
    governed,
    observed,  ///< narrower than float32: counted, never altered
    not_at_all,  ///< float64 or integers
};

/// What a cudaDataType is to the shim.
struct OperandType {
    Counted counted;
    policy::Dtype dtype;
};
OperandType operand_type(std::int32_t data_type);

struct Product {
    Counted counted = Counted::governed;
    policy::Dtype dtype = policy::Dtype::float32;
    HandleRecord* handle = nullptr;  ///< nullptr: unknown
    Asked asked;
};

/// 'N', 'T', 'C', 'R' (conjugate); '?' for another value of cublasOperation_t.
char letter_of_operation(std::int32_t value);

/// How the call says what it allows.
Product describe(const Site& site, const Frame& frame);

/// The same in the policy's words, sizes included.
void describe_sizes(const Site& site, const Frame& frame, const Product& product, policy::MatmulCall& call);

/// Whether something is multiplied: no size, and not the batch count, is zero.
bool multiplies(const Site& site, const Frame& frame);

}  // namespace fp32shim::cublas
