// Measures products in child processes. If a library crashes in one, this is reported and the others continue.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/replay/engine.hpp"

namespace fp32shim::cli {

/// A measurement of one product with one library in one format.
struct MeasuringTask {
    const ProductKind* kind = nullptr;
    bool on_gpu = false;
    std::string library;  ///< path or name; if empty, open_cuda_engine() chooses one
    policy::Applied format = policy::Applied::fp32;

    // Result of the measurement.
    double ns = 0;           ///< median time of one call in nanoseconds; 0 if there is a problem
    double mean_ns = 0;      ///< mean time of one call, as recordings have it
    std::uint64_t runs = 0;  ///< number of timed calls
    std::string problem{};   ///< reason why there is no time; empty if there is one
};

/// Measures all tasks within about `seconds`, and calls `show(done)` after each. Returns true if no library crashed
/// or failed.
bool measure(std::vector<MeasuringTask>& tasks, double seconds, const std::function<void(std::size_t)>& show);

}  // namespace fp32shim::cli
