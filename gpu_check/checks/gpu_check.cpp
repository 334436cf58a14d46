// gpu-check tests on a real GPU that the library works as documented. `fp32shim gpu-check` starts this program.
//
//   gpu-check [OPTION...]             prints about twenty verdicts with their evidence, within a time limit
//   gpu-check --worker SECTION ...    makes one of the measurements in sections/, as a child process of the first
//   form

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "gpu_check/checks/cuda_folders.hpp"
#include "gpu_check/checks/judge.hpp"
#include "gpu_check/checks/other_programs.hpp"
#include "gpu_check/checks/report.hpp"
#include "gpu_check/workers/variant_run.hpp"

namespace gpu {
namespace {

using nlohmann::json;
using std::chrono::duration;

struct CommandLineOptions {
    double seconds = 120;
    std::string python = "python3";
    std::string output;
    std::string libraries;
    std::string shim;
    int largest = 8192;  ///< largest order of the matrices
};

/// The state of the whole check, which all steps share.
struct CheckState {
    CommandLineOptions options;
    Clock::time_point begun = Clock::now();
    MeasurementSettings settings;
    Environment framework_environment;  ///< frameworks bring their own CUDA, so they run as in the caller's shell
    FindingMap machine;
    JudgementFacts facts;
    bool device_is_gone = false;  ///< true if the device no longer answers, so that no further step is tried
    json evidence = json::object();
    std::vector<VerdictLine> lines;

    Clock::time_point time_at_share(double share) const {
        return begun + std::chrono::duration_cast<Clock::duration>(duration<double>(options.seconds * share));
    }
};

// ---- The largest products that fit into the allowed time

/// Returns an estimate, in seconds, for one FP32 product of order n on this device. Scales the time of the largest
/// product that was timed.
double estimated_seconds(const CheckState& context, int n) {
    double seconds = 1e-5;
    for (const int timed : {256, 1024, 4096}) {
        const auto times = context.machine.sorted_numbers("ms_of_" + std::to_string(timed));
        const double ratio = static_cast<double>(n) / timed;
        if (!times.empty()) seconds = times.front() / 1000 * ratio * ratio * ratio;
    }
    return seconds;
}

/// Halves the order n, beginning with `largest`, until `products` products of order n take at most `share` of the
/// allowed time. Returns n, or 64 if no larger order fits.
int largest_order(const CheckState& context, int largest, int products, double share) {
    int n = largest;
    while (n > 64 && (n > context.options.largest ||
                      products * estimated_seconds(context, n) > share * context.options.seconds))
        n /= 2;
    return n;
}

// ---- The steps of the check

/// A step of the check. It must end when the share `ends_at` of the allowed time has passed; time that it does not
/// use is left to later steps.
struct CheckStep {
    const char* name;
    double ends_at;
    void (*check)(CheckState& context, const CheckStep& step);
    const char* measures;  ///< name of a section or of a framework
    int largest = 64;      ///< `largest`, `products` and `share` are arguments of largest_order()
    int products = 0;
    double share = 0;
};

/// Measures a section and adds its lines to the verdict.
void check_section_at(CheckState& context, const CheckStep& step, std::vector<int> sizes) {
    const Section& section = section_named(step.measures);
    context.settings.sizes = context.facts.sizes = std::move(sizes);
    context.settings.until = context.time_at_share(step.ends_at);
    FindingMap findings;
    measure_section(section, context.settings, findings);
    context.evidence[section.name] = to_json(findings);
    if (section.measure == measure_default_product) context.facts.has_site_floor = has_site_floor(findings);
    for (VerdictLine& line : judge_section(section.name, findings, context.facts))
        context.lines.push_back(std::move(line));
}

void check_section(CheckState& context, const CheckStep& step) {
    check_section_at(context, step, {largest_order(context, step.largest, step.products, step.share)});
}

void check_times(CheckState& context, const CheckStep& step) {
    std::vector<int> sizes;
    std::vector<VerdictLine> left_out;
    for (const int n : {512, 2048, 8192}) {
        // The factor 24 stands for six measurements of about four calls each: FP32 and TF32 without the shim and one
        // under the shim, each made twice. A measurement of short calls takes about 0.2 s.
        const double seconds = 24 * estimated_seconds(context, n);
        const bool is_too_large = n > context.options.largest;
        if (!is_too_large && seconds <= 0.06 * context.options.seconds)
            sizes.push_back(n);
        else
            left_out.push_back(
                {"time at " + std::to_string(n), Verdict::not_tried,
                 is_too_large ? "larger than --largest" : format_number("it would take about %.0f s here", seconds)});
    }
    if (!sizes.empty()) check_section_at(context, step, sizes);
    for (VerdictLine& line : left_out) context.lines.push_back(std::move(line));
}

MeasurementSettings settings_for_tools(CheckState& context, const CheckStep& step) {
    MeasurementSettings settings = context.settings;
    settings.sizes = {std::max(128, largest_order(context, 1024, 60, 0.05))};
    settings.until = context.time_at_share(step.ends_at);
    return settings;
}
MeasurementSettings settings_for_frameworks(CheckState& context, const CheckStep& step) {
    MeasurementSettings settings = settings_for_tools(context, step);
    settings.environment = context.framework_environment;
    return settings;
}

void check_products_of(CheckState& context, const CheckStep& step) {
    context.lines.push_back(check_framework(step.measures, step.name, context.options.python,
                                            settings_for_frameworks(context, step), context.facts.expects_tf32(),
                                            context.evidence[step.measures]));
}
void check_kernel_names(CheckState& context, const CheckStep& step) {
    context.lines.push_back(check_kernels(context.options.python, settings_for_frameworks(context, step),
                                          context.facts.expects_tf32(), context.evidence["kernels"]));
}
void check_ncu(CheckState& context, const CheckStep& step) {
    MeasurementSettings settings = settings_for_tools(context, step);
    settings.row_seconds = 60;  // ncu repeats each kernel several times
    context.lines.push_back(check_counters(settings, context.facts.expects_tf32(), context.evidence["counters"]));
}

constexpr double machine_ends_at = 0.3;  // the first process has to load CUDA from the disk
constexpr CheckStep steps[] = {
    {"products", 0.5, check_section, "product", 2048, 100, 0.15},
    {"floor", 0.58, check_section, "opt_ins", 2048, 100, 0.15},
    {"float64", 0.63, check_section, "float64_rules", 512, 72, 0.05},
    {"times", 0.7, check_times, "times"},
    {"cost", 0.74, check_section, "cost"},
    {"graph", 0.78, check_section, "graph", 2048, 100, 0.15},
    {"audits", 0.82, check_section, "audits", 512, 40, 0.04},
    {"PyTorch", 0.88, check_products_of, "torch"},
    {"CuPy", 0.91, check_products_of, "cupy"},
    {"JAX", 0.95, check_products_of, "jax"},
    {"kernels", 0.97, check_kernel_names, "torch"},
    {"counters", 0.99, check_ncu, "product"},
};

// ---- The whole check

bool has_no_answer(const VerdictLine& line) {
    return line.verdict == Verdict::failed && line.text.find("no answer in") != std::string::npos;
}

/// Returns true if the device still multiplies. To be called after a step in which a process gave no answer in time.
bool device_still_answers(CheckState& context) {
    MeasurementSettings probe = context.settings;
    probe.until = std::min(context.time_at_share(0.99), Clock::now() + std::chrono::seconds(10));
    FindingMap findings;
    try {
        measure_section(section_named("machine"), probe, findings);
    } catch (const NoDeviceError&) {
        return false;
    }
    return findings.values_of("failure").empty();
}

bool shows_colours() { return isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr; }

const char* colour_of(Verdict verdict) {
    if (!shows_colours()) return "";
    if (verdict == Verdict::shown) return "\033[32m";
    return verdict == Verdict::wrong || verdict == Verdict::failed ? "\033[1;31m" : "\033[2m";
}

void print_line(const VerdictLine& line) {
    std::printf("%s%-9s%s  %-20s %s\n", colour_of(line.verdict), to_string(line.verdict),
                shows_colours() ? "\033[0m" : "", line.name.c_str(), line.text.c_str());
    std::fflush(stdout);
}

/// A line on stderr that shows what is being measured, if stderr is a terminal. The destructor erases the line.
class ProgressLine {
  public:
    explicit ProgressLine(const char* step) {
        if (isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "\rmeasuring: %s ...\033[K", step);
    }
    ~ProgressLine() {
        if (isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "\r\033[K");
    }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;
};

/// Runs a step. Its lines are added to the verdict.
void run_step(CheckState& context, const CheckStep& step) {
    const ProgressLine progress(step.name);
    if (context.device_is_gone) {
        context.lines.push_back({step.name, Verdict::not_tried, "the device no longer answers"});
        return;
    }
    if (Clock::now() >= context.time_at_share(step.ends_at)) {
        context.lines.push_back({step.name, Verdict::not_tried, no_time_left});
        return;
    }
    const std::size_t before = context.lines.size();
    try {
        step.check(context, step);
        if (std::any_of(context.lines.begin() + static_cast<std::ptrdiff_t>(before), context.lines.end(),
                        has_no_answer))
            context.device_is_gone = !device_still_answers(context);
    } catch (const std::exception& error) {
        context.lines.push_back({step.name, Verdict::failed, error.what()});
    }
}

std::string machine_text(const FindingMap& machine) {
    const auto of = [&](const char* name) { return machine.joined_values(name); };
    const std::string capability = of("compute_capability");
    return of("device") + ", compute capability " + capability.substr(0, capability.size() - 1) + "." +
           capability.substr(capability.size() - 1) + ", driver for CUDA " + of("cuda_of_driver") + ", cuBLAS " +
           of("cublas") + (of("devices") == "1" ? "" : "; the first of " + of("devices") + " devices");
}

std::string default_output() {
    const std::time_t now = std::time(nullptr);
    char text[64];
    std::strftime(text, sizeof text, "gpu-check-%Y%m%d-%H%M%S.json", std::gmtime(&now));
    return text;
}

/// Prints the summary, and writes the report. Returns the exit status.
int finish(CheckState& context) {
    const auto count = [&](Verdict verdict) {
        return std::ranges::count(context.lines, verdict, &VerdictLine::verdict);
    };
    const auto faults = count(Verdict::wrong) + count(Verdict::failed);
    const double seconds = duration<double>(Clock::now() - context.begun).count();
    json report = {{"schema", report_schema},
                   {"tool", describe_tool(context.settings)},
                   {"system", describe_system()},
                   {"machine", to_json(context.machine)},
                   {"seconds", {{"allowed", context.options.seconds}, {"used", seconds}}},
                   {"checks", to_json(context.lines)},
                   {"evidence", context.evidence}};
    anonymize(report);
    const std::string path = context.options.output.empty() ? default_output() : context.options.output;
    write_report(path, report);
    std::printf("\n%td shown, %td wrong, %td failed, %td measured, %td not tried, in %.0f s. Full report: %s\n",
                count(Verdict::shown), count(Verdict::wrong), count(Verdict::failed), count(Verdict::measured),
                count(Verdict::not_tried), seconds, path.c_str());
    return faults == 0 ? 0 : 1;
}

/// Hides all devices except the first from the measuring processes. Otherwise each process would spend time on
/// starting the other devices, and JAX would use them.
void hide_other_devices(CheckState& context) {
    if (context.machine.joined_values("devices") == "1") return;
    std::string& visible = context.settings.environment["CUDA_VISIBLE_DEVICES"];
    visible = visible.empty() ? "0" : visible.substr(0, visible.find(','));
}

void find_machine(CheckState& context) {
    const ProgressLine progress("the machine");
    const CommandLineOptions& options = context.options;
    MeasurementSettings& settings = context.settings;
    settings.sizes = {256};
    settings.row_seconds = static_cast<unsigned>(std::clamp(options.seconds * machine_ends_at - 1, 3.0, 60.0));
    settings.until = context.time_at_share(machine_ends_at);
    const Environment before = settings.environment;
    settings.environment["CUDA_MODULE_LOADING"] = "LAZY";  // loading all of cuBLAS would take seconds in each process
    find_working_cublas(options.libraries, options.python, settings, context.machine);
    // Every process takes `start` seconds to start. The limit must be well above this time, because a slow start
    // would otherwise look like a hang.
    const double start = context.machine.sorted_numbers("seconds_to_start").front();
    settings.row_seconds = static_cast<unsigned>(std::clamp(std::max(options.seconds / 10, 3 * start), 3.0, 60.0));
    hide_other_devices(context);
    context.framework_environment = options.libraries.empty() ? before : settings.environment;
    if (const auto& visible = settings.environment.find("CUDA_VISIBLE_DEVICES");
        visible != settings.environment.end())
        context.framework_environment["CUDA_VISIBLE_DEVICES"] = visible->second;
}

/// Prints which settings of this machine are switched off in these measurements, although they govern other programs.
void print_set_aside_settings(CheckState& context, const std::vector<std::string>& unset) {
    for (const std::string& name : unset) std::printf("%-9s  %-20s %s\n", "", "unset", name.c_str());
    if (has_site_policy()) {
        context.machine.add("set_aside", "policy");
        std::printf("%-9s  %-20s rules and default of %s; its floor applies\n", "", "set aside", site_policy);
    }
    if (is_preloaded_everywhere()) {
        context.machine.add("set_aside", "preload");
        std::printf("%-9s  %-20s the library that /etc/ld.so.preload loads: switched off where it is not measured\n",
                    "", "set aside");
    }
}

std::optional<int> parse(const std::vector<std::string>& words, CommandLineOptions& options) {
    CLI::App app("Shows on this machine's GPU that the library does what it says.", "gpu-check");
    app.add_option("--seconds", options.seconds)->check(CLI::Range(10.0, 3600.0));
    app.add_option("--python", options.python);
    app.add_option("-o,--output", options.output);
    app.add_option("--libraries", options.libraries);
    app.add_option("--shim", options.shim);
    app.add_option("--largest", options.largest);
    try {
        app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    return std::nullopt;
}

/// Runs `gpu-check [OPTION...]`. Returns the exit status: 0 if no line of the verdict is wrong or failed, 1 if one
/// is, and 2 if an option is wrong. Throws NoDeviceError if there is no CUDA device or no CUDA.
int check_gpu(const std::vector<std::string>& words) {
    CheckState context;
    CommandLineOptions& options = context.options;
    if (const auto status = parse(words, options)) return *status;
    context.settings.shim = options.shim.empty() ? program_folder() + "/libfp32shim.so" : options.shim;
    if (access(context.settings.shim.c_str(), R_OK) != 0)
        throw std::invalid_argument("--shim " + context.settings.shim + ": there is no such file");
    std::vector<std::string> left_out;
    context.settings.environment = neutral_environment(left_out);
    find_machine(context);
    context.facts.compute_capability = static_cast<int>(context.machine.sorted_numbers("compute_capability").front());
    context.lines.push_back({"machine", Verdict::measured, machine_text(context.machine)});
    print_line(context.lines.front());
    print_set_aside_settings(context, left_out);
    for (const CheckStep& step : steps) {
        const std::size_t before = context.lines.size();
        run_step(context, step);
        std::for_each(context.lines.begin() + static_cast<std::ptrdiff_t>(before), context.lines.end(), print_line);
    }
    return finish(context);
}

}  // namespace
}  // namespace gpu

int main(int argc, char** argv) { return gpu::run_program(argc, argv, gpu::section_named, gpu::check_gpu); }
