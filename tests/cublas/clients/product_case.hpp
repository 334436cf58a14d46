// The rows of products.def as values: what a function computes, how its operands are passed, and how to call it.
#pragma once

#include <library_types.h>

#include <string>
#include <vector>

#include "call.hpp"

namespace clients {

enum class Operation { gemm, symm, hemm, syrk, herk, syr2k, her2k, syrkx, herkx, trmm, trsm };
enum class Dtype { float32, complex64, float16, bfloat16, float64 };
enum class Batching { single, strided, arrays, groups };
enum class Form { plain, legacy, xt };

/// Returns CUDA's constant for a type.
inline cudaDataType_t data_type(Dtype dtype) {
    switch (dtype) {
        case Dtype::complex64:
            return CUDA_C_32F;
        case Dtype::float16:
            return CUDA_R_16F;
        case Dtype::bfloat16:
            return CUDA_R_16BF;
        case Dtype::float64:
            return CUDA_R_64F;
        case Dtype::float32:
            break;
    }
    return CUDA_R_32F;
}

/// Ways in which the shim can govern a function.
enum class Road {
    compute_type,    ///< governable by the compute type of each call
    math_mode,       ///< governable by the handle's math mode only
    not_governable,  ///< not governable; calls are recognised and counted
    observed,        ///< not governable; operands are narrower than float32, and calls are counted
    as_called,       ///< never changed; operands are float64, and calls are counted
};

struct ProductCase {
    std::string function;
    Operation operation;
    Dtype dtype;
    Batching batching;
    Road road;
    Form form;
    bool exists;  ///< the loaded library has the function
    cublasStatus_t (*call)(const Call&);

    bool has_status() const { return form != Form::legacy; }
    /// Returns true for trmm of cublas.h and for every trsm, which write the result over B.
    bool is_in_place() const {
        return operation == Operation::trsm || (operation == Operation::trmm && form == Form::legacy);
    }
};

std::vector<ProductCase> plain_cases();
std::vector<ProductCase> legacy_cases();
std::vector<ProductCase> xt_cases();

/// Calls cublasInit, once per process: the functions of cublas.h use a global handle.
void start_legacy();

}  // namespace clients
