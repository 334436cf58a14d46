// The first step of a cuBLAS call: what it asks for. Looks at values only; matrices and scalars may lie on the
// device.
#pragma once

#include "policy/matmul_call.hpp"
#include "shim/cublas/formats.hpp"
#include "shim/cublas/handles.hpp"
#include "shim/gate.hpp"
#include "shim/site.hpp"

namespace fp32shim::cublas {

enum class Counted : std::uint8_t {
    governed,
    observed,    ///< narrower than float32: counted, never altered
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
    bool pointers_are_in_arrays = false;  ///< operands are arrays of pointers
    HandleRecord* handle = nullptr;       ///< nullptr: unknown
    std::uint64_t key = key_unknown;      ///< what the plan for it depends on, see plan.hpp
    Asked asked;
};

/// libcublas and libcublasLt themselves.
bool is_cublas_library(const LoadedObject* object);

/// 'N', 'T', 'C', 'R' (conjugate); '?' for another value of cublasOperation_t.
char letter_of_operation(std::int32_t value);

/// How the call says what it allows. `settings_count` is settings_change_count as it was before the settings were
/// read: so a plan may be made with newer ones than its key says, never with older.
Product describe(const Site& site, const Frame& frame, std::uint64_t settings_count);

/// The same in the policy's words, sizes included.
void describe_sizes(const Site& site, const Frame& frame, const Product& product, policy::MatmulCall& call);

}  // namespace fp32shim::cublas
