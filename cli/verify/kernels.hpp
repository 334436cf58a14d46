// Sums up the kernels that were launched on GPUs, for a verdict.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/output/json.hpp"
#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// Kinds of kernels by what is known of them, from the best to the worst.
enum class KernelKind : std::uint8_t {
    no_product,  ///< its name says that it multiplies no matrices
    full,        ///< float32 or wider, by its name; or no instruction in its code multiplies in less
    split,       ///< float32 as several products of a lower format, about as accurate as FP32
    narrower,    ///< its operands are narrower than float32
    below,       ///< float32 in a lower format
    unknown,
};
inline constexpr std::size_t kernel_kinds = 6;

/// The kernels of some recordings, without those of cuBLAS products that multiply in a format that the product may
/// use.
struct LaunchedKernels {
    std::array<std::vector<std::string>, kernel_kinds>
        names;                   ///< names by KernelKind; each kernel once, at its worst
    std::uint64_t launches = 0;  ///< number of launches, without replays
    std::uint64_t replays = 0;   ///< number of replays of graphs

    std::size_t kernel_count() const;
    const std::vector<std::string>& names_of(KernelKind kind) const { return names[static_cast<std::size_t>(kind)]; }
};

LaunchedKernels launched_kernels_of(const MergedCalls& calls);

/// Returns `1 launch`, `2 launches`.
std::string launch_count_text(std::uint64_t count);

/// Returns a sentence about the kernels; empty if there are none.
std::string kernels_text(const LaunchedKernels& kernels);
Json to_json(const LaunchedKernels& kernels);

}  // namespace fp32shim::cli
