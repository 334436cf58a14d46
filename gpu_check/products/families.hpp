// One call of each function family without a compute type: those that only a handle's math mode can lower.
#pragma once

#include <optional>
#include <span>

#include "gpu_check/products/problem.hpp"

namespace gpu {

struct Family {
    const char* name;  // as the rows of tests/cublas/stand_in/semantics.def say it
    const char* function;
    Shape shape;
    bool complex;
    /// Result: none where the library lacks the function.
    std::optional<cublasStatus_t> (*call)(const Cublas& cublas, const Problem& problem);
};

std::span<const Family> families();

}  // namespace gpu
