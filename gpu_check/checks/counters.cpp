#include "gpu_check/checks/counters.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>

#include "gpu_check/checks/judge.hpp"

namespace gpu {

namespace {

/// Returns the fields of a line of CSV, in which quotes are doubled.
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

/// "1,234" as ncu writes it, or "1234".
std::optional<double> number_in(std::string text) {
    std::erase(text, ',');
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || *end != '\0') return std::nullopt;
    return number;
}

/// What ncu says where it does not count: its own lines begin so.
std::string problem_in(const std::string& output) {
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("==ERROR==")) return line.substr(line.find_first_not_of(' ', 9));
    return {};
}

struct Counted {
    Verdict verdict = Verdict::shown;  ///< not_tried: `problem` says why
    std::string problem;
    double tensor = 0;   ///< instructions and operations of tensor cores
    std::string kernel;  ///< the one with the most
    std::size_t kernels = 0;
};

Counted count(const char* section, const Variant& variant, const std::vector<std::string>& metrics,
              const Asking& asking, nlohmann::json& evidence) {
    std::string wanted;
    for (const std::string& metric : metrics) wanted += (wanted.empty() ? "" : ",") + metric;
    std::vector<std::string> words = {"ncu", "--csv", "--target-processes", "all", "--metrics", wanted};
    const auto worker = worker_words(section_called(section), variant, asking);
    words.insert(words.end(), worker.begin(), worker.end());
    Environment environment = asking.environment;
    environment["LD_PRELOAD"] = asking.shim;
    std::istringstream variables(variant.variables);
    for (std::string variable; variables >> variable;)
        environment[variable.substr(0, variable.find('='))] = variable.substr(variable.find('=') + 1);
    std::string output;
    if (Clock::now() >= asking.until) return {Verdict::not_tried, no_time_left, 0, {}, 0};
    const Ended ended =
        run_process(words, environment, asking.until, [&](const std::string& line) { output += line + "\n"; });
    Counted counted;
    std::map<std::string, double> by_kernel;
    for (const CountedKernel& kernel : counted_kernels(output)) {
        by_kernel[kernel.name] += kernel.value;
        counted.tensor += kernel.value;
        evidence.push_back({{"kernel", kernel.name}, {"metric", kernel.metric}, {"value", kernel.value}});
    }
    counted.kernels = by_kernel.size();
    if (by_kernel.empty()) {
        const std::string problem = problem_in(output + ended.errors);
        return {Verdict::not_tried, problem.empty() ? "ncu counted no kernel" : problem, 0, {}, 0};
    }
    counted.kernel = std::ranges::max_element(by_kernel, {}, [](const auto& each) { return each.second; })->first;
    return counted;
}

}  // namespace

std::vector<std::string> tensor_metrics(const std::string& listing) {
    std::vector<std::string> result;
    std::istringstream lines(listing);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        const bool is_instructions = name.starts_with("sm__inst_executed_pipe_tensor");
        const bool is_tf32 = name.starts_with("sm__ops_path_tensor_src_tf32");
        if ((is_instructions || is_tf32) && name.find('.') == std::string::npos) result.push_back(name + ".sum");
    }
    return result;
}

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

Line check_counters(const Asking& asking, bool expects_tf32, nlohmann::json& evidence) {
    constexpr const char* name = "counters";
    std::string listing;
    const Ended listed = run_process({"ncu", "--query-metrics"}, asking.environment, asking.until,
                                     [&](const std::string& line) { listing += line + "\n"; });
    if (listed.exit_status() == 127) return {name, Verdict::not_tried, "ncu (Nsight Compute) is not on the path"};
    const auto metrics = tensor_metrics(listing);
    if (metrics.empty())
        return {name, Verdict::not_tried,
                listed.timed_out ? no_time_left : "ncu lists no counter of tensor cores for this device"};
    evidence["metrics"] = metrics;
    const Counted high = count("product", {"high", "FP32_MATMUL_PRECISION=high"}, metrics, asking,
                               evidence["high"] = nlohmann::json::array());
    if (high.verdict != Verdict::shown) return {name, high.verdict, "high: " + high.problem};
    const Counted floor = count("opt_ins", {"floor", "FP32_MATMUL_FLOOR=fp32"}, metrics, asking,
                                evidence["floor"] = nlohmann::json::array());
    if (floor.verdict != Verdict::shown) return {name, floor.verdict, "floor: " + floor.problem};
    if (expects_tf32 && high.tensor == 0)
        return {name, Verdict::wrong, "at high no instruction of a tensor core was counted, in " + high.kernel};
    if (floor.tensor != 0)
        return {name, Verdict::wrong, "under a floor of fp32 tensor cores worked, in " + floor.kernel};
    return {name, expects_tf32 ? Verdict::shown : Verdict::measured,
            "tensor cores at high: " + std::to_string(static_cast<long long>(high.tensor)) + " in " +
                high.kernel.substr(0, 60) + "; under the floor 0 in " + std::to_string(floor.kernels) + " kernels"};
}

}  // namespace gpu
