// Finds an algorithm of cublasLt for a product as the shim runs it. A new algorithm is needed if the program's own
// does not fit.
#pragma once

#include <cstdint>
#include <optional>

#include "shim/cublas/formats.hpp"
#include "shim/cublas/lt_algorithms.hpp"
#include "shim/cublas/lt_arguments.hpp"
#include "shim/entry/frame.hpp"

namespace fp32shim::cublas {

Algorithm64 algorithm_at(const void* address);

/// Returns the format to which an algorithm for a compute type rounds operands, by the algorithm's capability flags.
/// Returns nullopt if the flags do not tell the format. BF16x9 consists of BF16 products, so its algorithms have the
/// flag of BF16; compute types of BF16x9 do not permit plain BF16.
std::optional<Format> format_of_algorithm(const Library& library, const void* algorithm, std::int32_t compute_type);

/// A product that needs an algorithm.
struct FittingRequest {
    const Library& library;
    const MatmulDescription& parts;  ///< the handle, descriptor and layouts of the product, with the changed
                                     ///< descriptor
    const ChangedDescriptor& desc;
    const Frame& frame;
    std::int32_t device_index;
    std::int32_t compute_type;
    Format format;  ///< the lowest format to which the algorithm may round
    policy::AlgorithmLimits limits;
    std::int32_t mantissa_bits;  ///< number of bits that emulation is to keep, as the descriptor in `parts` says; 0:
                                 ///< any number
};

/// Sets `algorithm` to an algorithm that runs the product. Keeps the program's own algorithm `own` if it is not null
/// and fits. Returns false if no algorithm fits. Remembers the library's answers.
bool find_fitting_algorithm(const FittingRequest& wanted, const void* own, Algorithm64& algorithm);

}  // namespace fp32shim::cublas
