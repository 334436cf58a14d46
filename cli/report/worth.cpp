// Estimates the most that faster products could gain (Amdahl's law), and the gain of TF32 on GPUs, by published peak
// rates and by measurements on one GPU.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/report/report_formats.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim::cli {
namespace {

/// The time of a process counts as known if the share of estimated times in it is at most this large.
constexpr double max_sampled = 0.01;

/// The published dense peak rates of a GPU, in operations and bytes per second.
struct GpuPeakRates {
    std::string_view name;
    double fp32, tf32, bandwidth;
};
// The numbers are dense peaks from NVIDIA's data sheets, which docs/worth.md names.
constexpr GpuPeakRates gpu_peaks[] = {
    {"A100", 19.5e12, 156e12, 2.039e12}, {"H100", 67e12, 494.7e12, 3.35e12}, {"B200", 80e12, 1100e12, 8e12}};

// The upper end of a gain's range assumes that operands of up to this many bytes are in a cache of the GPU.
constexpr double largest_cache = 128e6;
// The lower end of a gain's range assumes that each call also costs the launch of a kernel, whatever its format, and
// that TF32 reaches only this part of its peak.
constexpr double launch_seconds = 5e-6;
constexpr double least_of_tf32_peak = 0.5;

/// A reason why the share of products in a process's time is not known: its key in JSON, and its words for people.
struct UnknownShareReason {
    std::string_view key, words;
};
constexpr UnknownShareReason no_share_reasons[] = {
    {"wall_time", "start or end is not recorded (still running, killed, or another recording followed)"},
    {"all_calls", "the recording lacks calls, or is damaged"},
    {"all_times", "not all calls were timed"},
    {"run_times", "products ran on a GPU, and the host times only their launch"}};
enum UnknownShareIndex : std::uint8_t { no_wall_time, incomplete, sampled, on_gpu };

/// The GPU on which measured_gains were measured.
constexpr std::string_view measured_on = "NVIDIA H200";
/// A factor by which TF32 was faster than FP32 on the GPU `measured_on`, for square products whose m, n and k are
/// `size` (docs/gpu-results.md).
struct MeasuredGain {
    double size, factor;
};
constexpr MeasuredGain measured_gains[] = {{512, 2.0}, {2048, 6.3}, {8192, 6.9}};

/// Estimates of the time that products took on GPUs. A GPU counts once for each process that used it.
struct GpuGain {
    std::uint64_t gpus = 0;
    /// The smallest and largest share of a process's wall time that its products took on a GPU.
    double least = 0, most = 0;
    std::uint64_t wall_ns = 0, gpu_ns = 0;  ///< sums over all GPUs that `gpus` counts
    std::uint64_t samples = 0;              ///< number of calls that were measured
    std::uint64_t known_calls = 0;          ///< number of calls whose time is estimated from the measured calls
    std::uint64_t calls = 0;                ///< number of all calls
    std::int32_t device = -1;               ///< number of the GPU that was added last
    bool are_names_known = true;            ///< the names of all GPUs that `gpus` counts are known
    std::set<std::string> names;
    bool is_of_one_process = false;  ///< the report has one process only
    /// The estimated GPU time of the products that could be lowered to TF32, in all processes of the report.
    double fp32_ns = 0;
    double tf32_ns = 0;  ///< estimated GPU time of the same products at TF32, by measured_gains
};

/// An estimate of the time that faster products could gain.
struct PossibleGain {
    std::uint64_t processes = 0;  ///< number of processes whose share of products is known
    /// The smallest and largest share of products in the wall time of a process; above 1 if products ran at the same
    /// time.
    double least = 0, most = 0;
    std::uint64_t wall_ns = 0, host_ns = 0;  ///< sums over the processes whose share of products is known
    /// The numbers of processes whose share is not known, by the reason.
    std::array<std::uint64_t, std::size(no_share_reasons)> unknown = {};
    std::uint64_t fp32_calls = 0;  ///< number of calls that ran at FP32
    std::uint64_t tf32_calls = 0;  ///< number of calls at FP32 that could be lowered and have known sizes
    /// For each GPU of gpu_peaks, the range of factors by which the products of `tf32_calls` would themselves be
    /// faster at TF32. It is a range because the factor depends on how much of the peaks is reached. The list is
    /// empty if there are no such products.
    std::vector<std::pair<double, double>> gains;
    GpuGain gpu;
};

std::optional<UnknownShareIndex> why_no_share(const MergedProcess& process) {
    if (process.facts.wall_ns() <= 0) return no_wall_time;
    if (process.uncounted_calls > 0 || process.is_damaged) return incomplete;
    if (process.has_gpu_calls) return on_gpu;
    const bool is_sampled = process.has_untimed_rows || static_cast<double>(process.sampled_ns) >
                                                            max_sampled * static_cast<double>(process.host_ns);
    return is_sampled ? std::optional(sampled) : std::nullopt;
}

bool is_float32_at_fp32(const MergedRow& row) {
    return !row.is_overflow && !row.is_kernel() && row.is_float32() && row.effective_format() == "fp32";
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

/// Returns the least number of seconds that a call takes, by its operations and by its bytes. `rate` and `bandwidth`
/// are operations and bytes per second. If a call has at most `cache` bytes, reading them takes no time.
double seconds_of_call(const MergedRow& row, double rate, double bandwidth, double cache) {
    const double bytes = bytes_of(row);
    return std::max(row.flops / rate, bytes > cache ? bytes / bandwidth : 0);
}

/// Returns the factor by which TF32 is faster than FP32 for a product, interpolated in the logarithm of m·n·k.
/// Products that are smaller or larger than all measured products are taken to gain as much as the nearest measured
/// product.
double measured_gain(const MergedRow& row) {
    const auto size_of = [](double product) { return std::log(std::max(product, 1.0)) / 3; };
    const double size = size_of(static_cast<double>(row.m) * static_cast<double>(row.n) * static_cast<double>(row.k));
    const MeasuredGain* before = measured_gains;
    for (const MeasuredGain& gain : measured_gains) {
        const double here = std::log(gain.size), from = std::log(before->size);
        if (size <= here)
            return here == from || size <= from
                       ? before->factor
                       : before->factor + (gain.factor - before->factor) * (size - from) / (here - from);
        before = &gain;
    }
    return before->factor;
}

std::string processes_text(std::uint64_t count) {
    return fmt::format("{} process{}", count_text(count), count == 1 ? "" : "es");
}

std::string factor_text(double factor) { return fmt::format("{:.{}f}", factor, factor < 10 ? 1 : 0); }

std::string percent_text(double share) {
    return share > 0 && share < 0.0005 ? "<0.1%" : fmt::format("{:.1f}%", 100 * share);
}

/// Returns the largest factor by which a process could become faster if its products took no time and nothing else
/// changed. `share` is the share of products in its time. From a share of 1 or more no bound follows: infinity.
double largest_gain(double share) { return share < 1 ? 1 / (1 - share) : std::numeric_limits<double>::infinity(); }

std::string share_text(const PossibleGain& worth) {
    const bool is_one = worth.processes == 1;
    const std::string shares = is_one ? percent_text(worth.most)
                                      : fmt::format("{} to {}", percent_text(worth.least), percent_text(worth.most));
    std::string text =
        fmt::format("These products took {} on the host, {} of the wall time of {}",
                    duration_text(static_cast<double>(worth.host_ns)), shares,
                    is_one ? duration_text(static_cast<double>(worth.wall_ns)) : processes_text(worth.processes));
    const double gain = largest_gain(worth.most);
    if (!std::isfinite(gain))
        return text +
               ".\nAdded up over threads they took as long as the process, or longer: no upper bound of a gain "
               "follows.\n";
    return text + fmt::format(
                      ".\nIf they took no time and nothing else changed, {} would be {:.2f} times as fast: no "
                      "precision of these products gives a larger gain.\n",
                      is_one ? "the process" : "the process with the largest share", gain);
}

std::string tf32_text(const PossibleGain& worth) {
    std::string text;
    for (std::size_t i = 0; i < worth.gains.size(); ++i)
        text += fmt::format("{}{} {} to {} times", i == 0 ? "" : ", ", gpu_peaks[i].name,
                            factor_text(worth.gains[i].first), factor_text(worth.gains[i].second));
    return fmt::format(
        "By published peaks, TF32 in place of FP32 on a GPU would make these products themselves faster: "
        "{}\n({} of {} of float32 at FP32; docs/worth.md has assumptions and sources)\n",
        text, count_text(worth.tf32_calls), counted(worth.fp32_calls, "call"));
}

std::string gpu_name_text(const GpuGain& gpu) {
    if (!gpu.are_names_known || gpu.names.empty()) return "which GPU ran these is not known";
    const bool is_same =
        std::ranges::all_of(gpu.names, [](const std::string& name) { return name.starts_with(measured_on); });
    if (is_same) return "these ran on such a GPU";
    return fmt::format("these ran on another GPU ({})", printable(fmt::format("{}", fmt::join(gpu.names, ", "))));
}

std::string gpu_text(const GpuGain& gpu) {
    const bool is_one = gpu.gpus == 1, is_all = gpu.samples == gpu.calls;
    const auto time = [](double nanoseconds) { return duration_text(nanoseconds, true); };
    std::string text = fmt::format(
        "These products took {} on {}, {} of the wall time {}: {}.\nIt is no share of the time in which a GPU was "
        "busy.\n",
        duration_text(static_cast<double>(gpu.gpu_ns), !is_all),
        is_one ? fmt::format("GPU {}", gpu.device)
               : fmt::format("{} GPUs, where a GPU counts once for each process", count_text(gpu.gpus)),
        is_one ? percent_text(gpu.most) : fmt::format("{} to {}", percent_text(gpu.least), percent_text(gpu.most)),
        is_one ? "of " + duration_text(static_cast<double>(gpu.wall_ns)) : "of their processes",
        is_all ? "measured, not estimated, in " + counted(gpu.calls, "call")
               : fmt::format("an estimate from {} for {} of {}", counted(gpu.samples, "measured call"),
                             count_text(gpu.known_calls), counted(gpu.calls, "call")));
    const auto wall = static_cast<double>(gpu.wall_ns);
    const auto times_as_fast = [&](double saved_ns) { return wall / (wall - saved_ns); };
    const bool can_be_faster = gpu.is_of_one_process && is_one && gpu.most < 1;
    if (can_be_faster)
        text += fmt::format(
            "If they took no time and nothing else changed, the process would be about {:.2f} times as "
            "fast, at most.\n",
            times_as_fast(static_cast<double>(gpu.gpu_ns)));
    if (gpu.fp32_ns <= 0) return text;
    text += fmt::format("TF32 in place of FP32 would make {} {} about {}", time(gpu.fp32_ns),
                        gpu.is_of_one_process ? "of it" : "of the GPU time of all processes", time(gpu.tf32_ns));
    if (can_be_faster)
        text +=
            fmt::format(", and the process {:.2f} times as fast at most", times_as_fast(gpu.fp32_ns - gpu.tf32_ns));
    std::string gains;
    for (const MeasuredGain& gain : measured_gains)
        gains += fmt::format("{}{:.1f} times at {}", gains.empty() ? "" : ", ", gain.factor, gain.size);
    return text + fmt::format(",\nby what square products gained on an {} ({}); {}.\n", measured_on, gains,
                              gpu_name_text(gpu));
}

/// Adds the GPUs of a process that ran for `wall_ns` to `worth`. Returns false if the time of no call was measured on
/// any of them; then only the number of calls is added.
bool add_gpus(GpuGain& worth, const MergedProcess& process, std::uint64_t wall_ns) {
    bool is_measured = false;
    for (const auto& [device, counters] : process.gpus) {
        worth.calls += counters.calls;
        if (counters.gpu_samples == 0) continue;
        is_measured = true;
        const double part = static_cast<double>(counters.gpu_ns) / static_cast<double>(wall_ns);
        worth.least = worth.gpus == 0 ? part : std::min(worth.least, part);
        worth.most = std::max(worth.most, part);
        worth.wall_ns += wall_ns;
        worth.gpu_ns += counters.gpu_ns;
        worth.samples += counters.gpu_samples;
        worth.known_calls += counters.gpu_calls;
        worth.device = device;
        ++worth.gpus;
        const std::set<std::string> names = process.environment.names_of_gpu(device);
        worth.are_names_known &= !names.empty();
        worth.names.insert(names.begin(), names.end());
    }
    return is_measured;
}

void add_shares(PossibleGain& worth, const MergedCalls& calls) {
    for (const MergedProcess& process : calls.processes()) {
        if (process.is_children_file()) continue;
        if (const auto why = why_no_share(process)) {
            const bool is_measured =
                *why == on_gpu && add_gpus(worth.gpu, process, static_cast<std::uint64_t>(process.facts.wall_ns()));
            if (!is_measured) ++worth.unknown[*why];
            continue;
        }
        const auto wall = static_cast<std::uint64_t>(process.facts.wall_ns());
        const double part = static_cast<double>(process.host_ns) / static_cast<double>(wall);
        worth.least = worth.processes == 0 ? part : std::min(worth.least, part);
        worth.most = std::max(worth.most, part);
        worth.wall_ns += wall;
        worth.host_ns += process.host_ns;
        ++worth.processes;
    }
}

void add_gains(PossibleGain& worth, const MergedCalls& calls) {
    worth.gpu.is_of_one_process = calls.processes().size() == 1;
    std::vector<const MergedRow*> lowered;
    for (const MergedRow& row : calls.rows()) {
        if (!is_float32_at_fp32(row)) continue;
        worth.fp32_calls += row.counters.calls;
        if (!can_be_lowered(row)) continue;
        worth.tf32_calls += row.counters.calls;
        lowered.push_back(&row);
        if (row.counters.gpu_samples == 0 || row.dtype != "float32") continue;
        worth.gpu.fp32_ns += static_cast<double>(row.counters.gpu_ns);
        worth.gpu.tf32_ns += static_cast<double>(row.counters.gpu_ns) / measured_gain(row);
    }
    if (worth.tf32_calls == 0) return;
    for (const GpuPeakRates& gpu : gpu_peaks) {
        double fp32 = 0, tf32 = 0, slow_fp32 = 0, slow_tf32 = 0;  // seconds
        for (const MergedRow* row : lowered) {
            const auto number = static_cast<double>(row->counters.calls);
            fp32 += number * seconds_of_call(*row, gpu.fp32, gpu.bandwidth, largest_cache);
            tf32 += number * seconds_of_call(*row, gpu.tf32, gpu.bandwidth, largest_cache);
            slow_fp32 += number * (launch_seconds + seconds_of_call(*row, gpu.fp32, gpu.bandwidth, 0));
            slow_tf32 +=
                number * (launch_seconds + seconds_of_call(*row, gpu.tf32 * least_of_tf32_peak, gpu.bandwidth, 0));
        }
        worth.gains.emplace_back(slow_fp32 / slow_tf32, fp32 / tf32);
    }
}

Json gpu_json(const GpuGain& gpu) {
    const auto known = [&](double value) { return gpu.gpus > 0 ? number_or_null(value) : Json(); };
    return {{"gpus", gpu.gpus},
            {"samples", gpu.samples},
            {"gpu_calls", gpu.known_calls},
            {"gpu_ns", known(static_cast<double>(gpu.gpu_ns))},
            {"share", {{"from", known(gpu.least)}, {"to", known(gpu.most)}}},
            {"fp32_ns", known(gpu.fp32_ns)},
            {"tf32_ns", known(gpu.tf32_ns)},
            {"measured_on", measured_on}};
}

PossibleGain possible_gain_of(const MergedCalls& calls) {
    PossibleGain worth;
    add_shares(worth, calls);
    add_gains(worth, calls);
    return worth;
}

}  // namespace

std::string possible_gain_text(const MergedCalls& calls) {
    const PossibleGain worth = possible_gain_of(calls);
    std::string text;
    if (worth.processes > 0) text += share_text(worth);
    if (worth.gpu.gpus > 0) text += gpu_text(worth.gpu);
    for (std::size_t i = 0; i < std::size(no_share_reasons); ++i)
        if (worth.unknown[i] > 0)
            text += fmt::format("The share of products in {} is not known: {}.\n", processes_text(worth.unknown[i]),
                                no_share_reasons[i].words);
    return worth.gains.empty() ? text : text + tf32_text(worth);
}

Json possible_gain_json(const MergedCalls& calls) {
    const PossibleGain worth = possible_gain_of(calls);
    const auto known = [&](double value) { return worth.processes > 0 ? number_or_null(value) : Json(); };
    Json json = {{"processes", worth.processes},
                 {"share", {{"from", known(worth.least)}, {"to", known(worth.most)}}},
                 {"most_gain", {{"from", known(largest_gain(worth.least))}, {"to", known(largest_gain(worth.most))}}},
                 {"without", Json::object()},
                 {"fp32_calls", worth.fp32_calls},
                 {"tf32_calls", worth.tf32_calls},
                 {"tf32", Json::array()},
                 {"gpu", gpu_json(worth.gpu)}};
    for (std::size_t i = 0; i < std::size(no_share_reasons); ++i)
        json["without"][std::string(no_share_reasons[i].key)] = worth.unknown[i];
    for (std::size_t i = 0; i < worth.gains.size(); ++i)
        json["tf32"].push_back(
            {{"gpu", gpu_peaks[i].name}, {"from", worth.gains[i].first}, {"to", worth.gains[i].second}});
    return json;
}

}  // namespace fp32shim::cli
