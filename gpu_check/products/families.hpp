// Calls one function of each family without a compute type. Only a handle's math mode can lower such functions.
#pragma once

#include <optional>
#include <span>

#include "gpu_check/products/problem.hpp"

namespace gpu {

struct Family {
    const char* name;  // name as in the rows of tests/cublas/stand_in/semantics.def
    const char* function;
    Shape shape;
    bool complex;
    /// Calls the function. Returns nullopt if the library does not have it.
    std::optional<cublasStatus_t> (*call)(const Cublas& cublas, const Problem& problem);
};

std::span<const Family> families();

}  // namespace gpu
