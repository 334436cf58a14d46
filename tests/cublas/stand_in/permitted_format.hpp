// The one place that decides which format cuBLAS may round 32-bit operands to.
#pragma once

#include <optional>

#include "products/rounding.hpp"
#include "products/types.hpp"
#include "semantics.hpp"

namespace stand_in {

struct Request {
    Row family = Row::sgemm_honours_math_mode;        // functions without a compute type
    std::optional<cublasComputeType_t> compute_type;  // functions with one
    int math_mode = CUBLAS_DEFAULT_MATH;
    cublasEmulationStrategy_t strategy = CUBLAS_EMULATION_STRATEGY_DEFAULT;
    bool tensor_op_algorithm = false;
    bool lt = false;              // through cublasLt: no handle's mode
    bool mode_was_lower = false;  // the handle once had a mode that allows less than FP32
    int compute_capability = 90;
};

// Nothing: cuBLAS refuses (BF16x9 where there is none).
std::optional<Format> permitted_format(const Request& request);

}  // namespace stand_in
