// Measures products in child processes: one that a library crashes in is told, and the others go on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/replay/engine.hpp"

namespace fp32shim::cli {

/// One product to measure, by one library in one format.
struct MeasuringTask {
    const ProductKind* kind = nullptr;
    bool on_gpu = false;
    std::string library;  ///< path or name; empty: see open_cuda_engine()
    policy::Applied format = policy::Applied::fp32;

    // The result.
    double ns = 0;           ///< median time of one call; 0: there is a problem
    std::uint64_t runs = 0;  ///< calls that were timed
    std::string problem{};   ///< reason why there is no time; empty: there is one
};

/// Measures all tasks within about `seconds`. `show(done)` is called after each. Returns true if no library crashed
/// or failed.
bool measure(std::vector<MeasuringTask>& tasks, double seconds, const std::function<void(std::size_t)>& show);

}  // namespace fp32shim::cli
