// Decides to which format cuBLAS may round 32-bit operands. No other code decides this.
#pragma once

#include <optional>

#include "products/gemm.hpp"
#include "products/rounding.hpp"
#include "products/types.hpp"
#include "semantics.hpp"

namespace stand_in {

struct Request {
    Row family = Row::sgemm_honours_math_mode;        // row for functions without a compute type
    std::optional<cublasComputeType_t> compute_type;  // compute type of functions that have one
    int math_mode = CUBLAS_DEFAULT_MATH;
    cublasEmulationStrategy_t strategy = CUBLAS_EMULATION_STRATEGY_DEFAULT;
    bool tensor_op_algorithm = false;
    bool complex = false;
    bool lt = false;              // true: through cublasLt, where no handle's mode counts
    bool mode_was_lower = false;  // the handle has had a mode that allows less than FP32
    int compute_capability = 90;
};

// Returns the permitted format; nullopt: cuBLAS refuses the call, such as BF16x9 on a device without it.
std::optional<Format> permitted_format(const Request& request);

// Returns true if a float64 product may be emulated by products of fixed-point numbers.
bool emulates_float64(const Request& request);

// Settings of a handle or descriptor for the emulation of float64 products.
struct MantissaSettings {
    int control = CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC;
    int most_bits = 0;
    int offset = 0;
};

// Returns how a float64 product is emulated under these settings; nullopt: they are invalid.
std::optional<Emulation> emulation_of(const MantissaSettings& settings);

}  // namespace stand_in
