#include "gpu_check/checks/other_programs.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "gpu_check/sections/findings.hpp"
#include "gpu_check/workers/variant_run.hpp"

namespace gpu {
namespace {

/// Returns the fields of a line of CSV. Inside a quoted field, a doubled quote stands for one quote.
std::vector<std::string> fields_of(const std::string& line) {
    std::vector<std::string> fields(1);
    bool is_quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '"' && is_quoted && i + 1 < line.size() && line[i + 1] == '"')
            fields.back() += line[++i];
        else if (line[i] == '"')
            is_quoted = !is_quoted;
        else if (line[i] == ',' && !is_quoted)
            fields.emplace_back();
        else if (line[i] != '\r')
            fields.back() += line[i];
    }
    return fields;
}

/// Returns the number in a text such as "1234", or "1,234" as ncu writes it; nullopt if the text is not a number.
std::optional<double> number_in(std::string text) {
    std::erase(text, ',');
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || *end != '\0') return std::nullopt;
    return number;
}

/// Returns ncu's first error message in its output; empty if there is none.
std::string problem_in(const std::string& output) {
    constexpr std::string_view mark = "==ERROR== ";
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(mark)) return line.substr(mark.size());
    return {};
}

/// Returns the lowest format that a worker reported in the output; fp32 if the worker reported none. The worker's
/// report may follow text of ncu on the same line.
std::string format_in(const std::string& output) {
    std::string lowest = "fp32";
    const std::string mark = std::string(line::found) + '\t';
    for (auto at = output.find(mark); at != std::string::npos; at = output.find(mark, at + 1)) {
        const auto value = output.find('\t', at + mark.size()) + 1;
        const std::string format = output.substr(value, output.find('\n', value) - value);
        if (is_format_name(format)) lowest = less_precise_format(lowest, format);
    }
    return lowest;
}

/// Returns the names of ncu's counters of tensor-core instructions and of operations on TF32. `listing` is the output
/// of `ncu --query-metrics`, because the names differ between generations of GPUs. Appends the suffix `.sum`, which
/// adds up a kernel's counts.
std::vector<std::string> tensor_metrics(const std::string& listing) {
    std::vector<std::string> result;
    std::istringstream lines(listing);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        const bool is_instructions = name.starts_with("sm__inst_executed_pipe_tensor");
        const bool is_tf32 = name.starts_with("sm__ops_path_tensor_src_tf32");
        const bool is_part = name.find("_sparsity") != std::string::npos || name.find('.') != std::string::npos;
        if ((is_instructions || is_tf32) && !is_part) result.push_back(name + ".sum");
    }
    return result;
}

/// The value of one metric for one kernel, from the output of `ncu --csv`.
struct CountedKernel {
    std::string name;
    std::string metric;
    double value = 0;
};
/// Returns an entry for each kernel and metric in `csv`, the output of ncu. Lines that cannot be read are left out.
std::vector<CountedKernel> counted_kernels(const std::string& csv) {
    std::vector<CountedKernel> result;
    std::istringstream lines(csv);
    std::size_t kernel = 0, metric = 0, value = 0;
    for (std::string line; std::getline(lines, line);) {
        const auto fields = fields_of(line);
        const auto index_of = [&](const char* title) {
            return static_cast<std::size_t>(std::ranges::find(fields, title) - fields.begin());
        };
        if (index_of("Kernel Name") < fields.size() && index_of("Metric Value") < fields.size()) {
            kernel = index_of("Kernel Name"), metric = index_of("Metric Name"), value = index_of("Metric Value");
            continue;
        }
        if (value == 0 || std::max({kernel, metric, value}) >= fields.size()) continue;
        if (const auto number = number_in(fields[value])) result.push_back({fields[kernel], fields[metric], *number});
    }
    return result;
}

/// The counts of tensor-core instructions in the kernels of one run.
struct TensorCounts {
    std::string problem;  ///< reason why nothing was counted; empty if counting succeeded
    CountedKernel most;   ///< the kernel with the highest count
    std::size_t kernels = 0;
};

/// Counts tensor-core instructions of the products of a section under one variant. `expected` is the format that the
/// products must have. If the products have another format, the library had no effect under ncu, and the counters
/// prove nothing.
TensorCounts count_tensor_instructions(const char* section, const Variant& variant, const char* expected,
                                       const std::vector<std::string>& metrics, const MeasurementSettings& settings,
                                       nlohmann::json& evidence) {
    // `--clock-control none` leaves the GPU's clocks as they are, because the device may serve other users too.
    std::vector<std::string> words = {
        "ncu",  "--csv",     "--target-processes", "all", "--clock-control", "none", "--print-units",
        "base", "--metrics", joined(metrics, ",")};
    const auto worker = worker_words(section_named(section), variant, settings);
    words.insert(words.end(), worker.begin(), worker.end());
    const VariantEnvironment run(variant, settings.environment, settings.shim);
    Environment environment = run.environment();
    environment["LC_ALL"] = "C";  // makes ncu print numbers with a decimal point
    if (Clock::now() >= settings.until) return {no_time_left, {}, 0};
    std::string output;
    const ProcessOutcome ended =
        run_process(words, environment, settings.until, [&](const std::string& line) { output += line + "\n"; });
    if (ended.timed_out) return {no_time_left, {}, 0};
    TensorCounts counts;
    std::set<std::string> names;
    for (const CountedKernel& kernel : counted_kernels(output)) {
        names.insert(kernel.name);
        if (names.size() == 1 || kernel.value > counts.most.value) counts.most = kernel;
        evidence.push_back({{"kernel", kernel.name}, {"metric", kernel.metric}, {"value", kernel.value}});
    }
    counts.kernels = names.size();
    if (names.empty()) {
        counts.problem = problem_in(output + ended.errors);
        if (counts.problem.empty()) counts.problem = "ncu counted no kernel";
    } else if (const std::string format = format_in(output); format != expected) {
        counts.problem = "under ncu the products are " + format + ", so the library has no effect there";
    }
    return counts;
}

}  // namespace

VerdictLine check_counters(const MeasurementSettings& settings, bool expects_tf32, nlohmann::json& evidence) {
    constexpr const char* name = "counters";
    std::string listing;
    const ProcessOutcome listed = run_process({"ncu", "--query-metrics"}, settings.environment, settings.until,
                                              [&](const std::string& line) { listing += line + "\n"; });
    if (listed.exit_status() == 127) return {name, Verdict::not_tried, "ncu (Nsight Compute) is not on the path"};
    const auto metrics = tensor_metrics(listing);
    if (metrics.empty()) {
        const std::string problem = problem_in(listing + listed.errors);
        return {name, Verdict::not_tried,
                listed.timed_out   ? no_time_left
                : !problem.empty() ? problem
                                   : "ncu lists no counter of tensor cores for this device"};
    }
    evidence["metrics"] = metrics;
    const char* const lowered = expects_tf32 ? "tf32" : "fp32";
    const TensorCounts high =
        count_tensor_instructions("product", {"high", "LD_PRELOAD=SHIM FP32_MATMUL_PRECISION=high"}, lowered, metrics,
                                  settings, evidence["high"] = nlohmann::json::array());
    if (!high.problem.empty()) return {name, Verdict::not_tried, "high: " + high.problem};
    const TensorCounts floor =
        count_tensor_instructions("opt_ins", {"floor", "LD_PRELOAD=SHIM FP32_MATMUL_FLOOR=fp32"}, "fp32", metrics,
                                  settings, evidence["floor"] = nlohmann::json::array());
    if (!floor.problem.empty()) return {name, Verdict::not_tried, "floor: " + floor.problem};
    if (expects_tf32 && high.most.value == 0)
        return {name, Verdict::wrong, "at high, no tensor core instruction was counted in " + high.most.name};
    if (floor.most.value != 0)
        return {name, Verdict::wrong, "under a floor of fp32, tensor cores were used in " + floor.most.name};
    return {name, expects_tf32 ? Verdict::shown : Verdict::measured,
            "at high " + high.most.metric + " is " + std::to_string(static_cast<long long>(high.most.value)) +
                " in " + high.most.name.substr(0, 60) + "; under the floor all are 0 in " +
                std::to_string(floor.kernels) + " kernels"};
}

}  // namespace gpu
