// Finds an algorithm of cublasLt that fits a product as the shim runs it, if the program's own does not.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "shim/cublas/formats.hpp"
#include "shim/cublas/lt_algorithms.hpp"
#include "shim/cublas/lt_arguments.hpp"
#include "shim/entry/frame.hpp"

namespace fp32shim::cublas {

Algorithm64 algorithm_at(const void* address);

/// Returns the format to which an algorithm for a compute type rounds operands, by its capability flags; nullopt if
/// they do not tell. BF16x9 consists of BF16 products, so its algorithms have the flag of BF16; BF16x9 compute types
/// do not permit plain BF16.
std::optional<Format> format_of_algorithm(const Library& library, const void* algorithm, std::int32_t compute_type);

/// A product that needs an algorithm.
struct FittingRequest {
    const Library& library;
    const MatmulDescription& parts;  ///< with the changed descriptor
    const ChangedDescriptor& desc;
    const Frame& frame;
    std::int32_t device_index;
    std::int32_t compute_type;
    Format format;  ///< the lowest to which the algorithm may round
    policy::AlgorithmLimits limits;
    std::int32_t mantissa_bits;  ///< bits that emulation is to keep, as the descriptor in `parts` says; 0: any
};

/// Sets `algorithm` to one that runs the product. That is the program's own, if it has one and that fits. Returns
/// false if none fits. Remembers the library's answers.
bool find_fitting_algorithm(const FittingRequest& wanted, const void* own, Algorithm64& algorithm);

}  // namespace fp32shim::cublas
