// What faster products could gain at most (Amdahl), and what TF32 would gain on GPUs by published figures.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// Reasons why the share of products in a process's time is not known.
enum class NoShare : std::uint8_t { none, no_wall_time, incomplete, sampled, on_gpu, count_ };

/// Share of the wall time of processes that products take.
struct ProductShare {
    std::uint64_t processes = 0;             ///< number of processes of which it is known
    double least = 0, most = 0;              ///< shares of single processes; above 1 if products ran at the same time
    std::uint64_t wall_ns = 0, host_ns = 0;  ///< sums over these processes
    std::array<std::uint64_t, static_cast<std::size_t>(NoShare::count_)> unknown =
        {};  ///< number of processes by reason
};
ProductShare product_share(const MergedCalls& calls);

/// Returns the largest factor by which a process could become faster if its products took no time and nothing else
/// changed; infinity if no bound follows.
double largest_gain(double share);

/// Published peak rates of a GPU, dense, in operations and bytes per second.
struct GpuPeaks {
    std::string_view name;
    double fp32, tf32, bandwidth;
};
std::span<const GpuPeaks> gpu_peaks();

/// Factor by which products would be faster at TF32 than at FP32 on a GPU, each product by itself: a range, because
/// it depends on how much of the peaks is reached.
struct GainRange {
    double from = 0, to = 0;
};

/// The products for which TF32 is estimated: those that ran at FP32, could be lowered, and have known sizes.
struct Tf32Worth {
    std::uint64_t calls = 0;       ///< number of their calls
    std::uint64_t fp32_calls = 0;  ///< number of all calls that ran at FP32
    std::vector<GainRange> gains;  ///< for each of gpu_peaks(); empty without such products
};
Tf32Worth tf32_worth(const MergedCalls& calls);

/// Returns the lines of a report; empty if nothing was recorded.
std::string worth_text(const MergedCalls& calls);
/// Returns the member `worth` of docs/cli/report-json.md.
Json worth_json(const MergedCalls& calls);

}  // namespace fp32shim::cli
