// What faster products could gain at most (Amdahl), and what TF32 would gain on GPUs by published figures.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/filter.hpp"
#include "cli/report/report_formats.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim::cli {
namespace {

/// Largest share of estimated times with which a process's time counts as known.
constexpr double most_sampled = 0.01;

/// Published peak rates of a GPU, dense, in operations and bytes per second.
struct GpuPeaks {
    std::string_view name;
    double fp32, tf32, bandwidth;
};
// Dense peaks of NVIDIA's data sheets; docs/worth.md names them.
constexpr GpuPeaks gpu_peaks[] = {
    {"A100", 19.5e12, 156e12, 2.039e12}, {"H100", 67e12, 494.7e12, 3.35e12}, {"B200", 80e12, 1100e12, 8e12}};

// The upper end of a range: more bytes than this are in no cache of these GPUs.
constexpr double largest_cache = 128e6;
// The lower end of a range: each call costs a launch, whatever the format, and TF32 reaches this part of its peak.
constexpr double launch_seconds = 5e-6;
constexpr double least_of_tf32_peak = 0.5;

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

/// Factor by which products would be faster at TF32 than at FP32 on a GPU, each product by itself: a range, because
/// it depends on how much of the peaks is reached.
struct GainRange {
    double from = 0, to = 0;
};

/// The products for which TF32 is estimated: those that ran at FP32, could be lowered, and have known sizes.
struct Tf32Worth {
    std::uint64_t calls = 0;       ///< number of their calls
    std::uint64_t fp32_calls = 0;  ///< number of all calls that ran at FP32
    std::vector<GainRange> gains;  ///< for each of gpu_peaks; empty without such products
};

NoShare why_no_share(const MergedProcess& process) {
    const std::int64_t wall = process.facts.wall_ns();
    if (wall <= 0) return NoShare::no_wall_time;
    if (process.uncounted_calls > 0) return NoShare::incomplete;
    if (process.has_gpu_calls) return NoShare::on_gpu;
    const double sampled = static_cast<double>(process.sampled_ns);
    return sampled > most_sampled * static_cast<double>(process.host_ns) ? NoShare::sampled : NoShare::none;
}

constexpr std::pair<NoShare, std::string_view> reasons[] = {
    {NoShare::no_wall_time, "start or end is not recorded (still running, killed, or another recording followed)"},
    {NoShare::incomplete, "the recording lacks calls"},
    {NoShare::sampled, "not all short calls were timed"},
    {NoShare::on_gpu, "products ran on a GPU, and the host times only their launch"}};

bool is_float32_at_fp32(const MergedRow& row) {
    return !row.is_overflow && !row.is_kernel() && row.is_float32() && row.ran_at() == "fp32";
}

bool can_be_lowered(const MergedRow& row) {
    if (row.is_overflow || row.is_folded || row.flops <= 0) return false;
    const FunctionIndex function = find_function(std::string(row.function).c_str());
    return function >= 0 && functions[function].family->treatment == Treatment::governed;
}

/// Returns the bytes of a call's operands and result, each counted once.
double bytes_of(const MergedRow& row) {
    const double element = row.dtype == "complex64" ? 8 : 4;
    const auto m = static_cast<double>(row.m), n = static_cast<double>(row.n), k = static_cast<double>(row.k);
    return element * static_cast<double>(row.batch) * (m * k + k * n + m * n);
}

/// Returns the seconds that a call takes at least, by its operations and by its bytes. `cache`: bytes that are read
/// at no cost.
double seconds(const MergedRow& row, double rate, double bandwidth, double cache) {
    const double bytes = bytes_of(row);
    return std::max(row.flops / rate, bytes > cache ? bytes / bandwidth : 0);
}

std::string processes_text(std::uint64_t count) {
    return fmt::format("{} process{}", count_text(count), count == 1 ? "" : "es");
}

std::string factor_text(double factor) { return fmt::format("{:.{}f}", factor, factor < 10 ? 1 : 0); }

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

/// Returns the largest factor by which a process could become faster if its products took no time and nothing else
/// changed; infinity if no bound follows.
double largest_gain(double share) { return share < 1 ? 1 / (1 - share) : std::numeric_limits<double>::infinity(); }

std::string share_text(const ProductShare& share, std::string_view products) {
    const bool is_one = share.processes == 1;
    const std::string shares =
        is_one ? percent(share.most) : fmt::format("{} to {}", percent(share.least), percent(share.most));
    std::string text =
        fmt::format("{} took {} on the host, {} of the wall time of {}", products,
                    duration_text(static_cast<double>(share.host_ns)), shares,
                    is_one ? duration_text(static_cast<double>(share.wall_ns)) : processes_text(share.processes));
    const double gain = largest_gain(share.most);
    if (!std::isfinite(gain))
        return text +
               ".\nAdded up over threads they took as long as the process, or longer: no upper bound of a gain "
               "follows.\n";
    return text + fmt::format(
                      ".\nIf they took no time and nothing else changed, {} would be {} times as fast: no "
                      "precision of these products gives a larger gain.\n",
                      is_one ? "the process" : "the process with the largest share", fmt::format("{:.2f}", gain));
}

std::string tf32_text(const Tf32Worth& worth) {
    std::string text;
    for (std::size_t i = 0; i < worth.gains.size(); ++i)
        text += fmt::format("{}{} {} to {} times", i == 0 ? "" : ", ", gpu_peaks[i].name,
                            factor_text(worth.gains[i].from), factor_text(worth.gains[i].to));
    return fmt::format(
        "By published peaks, TF32 in place of FP32 on a GPU would make these products themselves faster: "
        "{}\n({} of {} of float32 at FP32; docs/worth.md has assumptions and sources)\n",
        text, count_text(worth.calls), counted(worth.fp32_calls, "call"));
}

ProductShare product_share(const MergedCalls& calls) {
    ProductShare share;
    for (const MergedProcess& process : calls.processes()) {
        if (process.is_children_only()) continue;
        if (const NoShare why = why_no_share(process); why != NoShare::none) {
            ++share.unknown[static_cast<std::size_t>(why)];
            continue;
        }
        const auto wall = static_cast<std::uint64_t>(process.facts.wall_ns());
        const double part = static_cast<double>(process.host_ns) / static_cast<double>(wall);
        share.least = share.processes == 0 ? part : std::min(share.least, part);
        share.most = std::max(share.most, part);
        share.wall_ns += wall;
        share.host_ns += process.host_ns;
        ++share.processes;
    }
    return share;
}

Tf32Worth tf32_worth(const MergedCalls& calls) {
    Tf32Worth worth;
    for (const MergedRow& row : calls.rows()) {
        if (!is_float32_at_fp32(row)) continue;
        worth.fp32_calls += row.counters.calls;
        if (can_be_lowered(row)) worth.calls += row.counters.calls;
    }
    if (worth.calls == 0) return worth;
    for (const GpuPeaks& gpu : gpu_peaks) {
        double fp32 = 0, tf32 = 0, slow_fp32 = 0, slow_tf32 = 0;  // seconds
        for (const MergedRow& row : calls.rows()) {
            if (!is_float32_at_fp32(row) || !can_be_lowered(row)) continue;
            const auto number = static_cast<double>(row.counters.calls);
            fp32 += number * seconds(row, gpu.fp32, gpu.bandwidth, largest_cache);
            tf32 += number * seconds(row, gpu.tf32, gpu.bandwidth, largest_cache);
            slow_fp32 += number * (launch_seconds + seconds(row, gpu.fp32, gpu.bandwidth, 0));
            slow_tf32 += number * (launch_seconds + seconds(row, gpu.tf32 * least_of_tf32_peak, gpu.bandwidth, 0));
        }
        worth.gains.push_back({slow_fp32 / slow_tf32, fp32 / tf32});
    }
    return worth;
}

}  // namespace

std::string worth_text(const MergedCalls& calls) {
    const ProductShare share = product_share(calls);
    std::string text;
    const bool is_filtered = calls.filter() != nullptr && !calls.filter()->is_empty();
    if (share.processes > 0) text += share_text(share, is_filtered ? "These calls" : "Products");
    for (const auto& [why, words] : reasons)
        if (const std::uint64_t count = share.unknown[static_cast<std::size_t>(why)]; count > 0)
            text += fmt::format("The share of products is not known of {}: {}.\n", processes_text(count), words);
    const Tf32Worth worth = tf32_worth(calls);
    return worth.gains.empty() ? text : text + tf32_text(worth);
}

Json worth_json(const MergedCalls& calls) {
    const ProductShare share = product_share(calls);
    const Tf32Worth worth = tf32_worth(calls);
    const auto known = [&](double value) { return share.processes > 0 ? number_or_null(value) : Json(); };
    const auto unknown = [&](NoShare why) { return share.unknown[static_cast<std::size_t>(why)]; };
    Json json = {{"processes", share.processes},
                 {"share", {{"from", known(share.least)}, {"to", known(share.most)}}},
                 {"most_gain", {{"from", known(largest_gain(share.least))}, {"to", known(largest_gain(share.most))}}},
                 {"without",
                  {{"wall_time", unknown(NoShare::no_wall_time)},
                   {"all_calls", unknown(NoShare::incomplete)},
                   {"all_times", unknown(NoShare::sampled)},
                   {"run_times", unknown(NoShare::on_gpu)}}},
                 {"fp32_calls", worth.fp32_calls},
                 {"tf32_calls", worth.calls},
                 {"tf32", Json::array()}};
    for (std::size_t i = 0; i < worth.gains.size(); ++i)
        json["tf32"].push_back(
            {{"gpu", gpu_peaks[i].name}, {"from", worth.gains[i].from}, {"to", worth.gains[i].to}});
    return json;
}

}  // namespace fp32shim::cli
