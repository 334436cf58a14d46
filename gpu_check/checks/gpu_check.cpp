#include "gpu_check/checks/gpu_check.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "gpu_check/checks/counters.hpp"
#include "gpu_check/checks/cuda_folders.hpp"
#include "gpu_check/checks/frameworks.hpp"
#include "gpu_check/checks/judge.hpp"
#include "gpu_check/checks/report.hpp"
#include "gpu_check/workers/variant_run.hpp"

namespace gpu {

namespace {

using nlohmann::json;
using std::chrono::duration;

struct Options {
    double seconds = 120;
    std::string python = "python3";
    std::string output;
    std::string libraries;
    std::string shim;
    int largest = 8192;  ///< largest order of matrices
    bool only_libraries = false;
};

/// State that all steps share.
struct Context {
    Options options;
    Clock::time_point begun = Clock::now();
    Asking asking;
    Environment of_frameworks;  ///< frameworks bring their own CUDA, so they run as in the caller's shell
    Findings machine;
    int compute_capability = 0;
    bool is_floored = false;      ///< see Judging::is_floored
    bool device_is_gone = false;  ///< the device no longer answers, so no further step is tried
    json evidence = json::object();
    std::vector<Line> lines;

    bool expects_tf32() const { return compute_capability >= 80 && !is_floored; }
    Clock::time_point moment_of(double share) const {
        return begun + std::chrono::duration_cast<Clock::duration>(duration<double>(options.seconds * share));
    }
};

// ---- largest affordable products

/// Returns an estimate, in seconds, for one FP32 product of order n on this device. Scales the time of the largest
/// product that was timed.
double estimated_seconds(const Context& context, int n) {
    double seconds = 1e-5;
    for (const int timed : {256, 1024, 4096}) {
        const auto times = context.machine.numbers("ms_of_" + std::to_string(timed));
        const double ratio = static_cast<double>(n) / timed;
        if (!times.empty()) seconds = times.front() / 1000 * ratio * ratio * ratio;
    }
    return seconds;
}

/// Returns the largest of the orders `falling` at which `products` products take at most `share` of the allowed time;
/// if there is none, the smallest order.
int largest_order(const Context& context, std::initializer_list<int> falling, int products, double share) {
    for (const int n : falling)
        if (n <= context.options.largest &&
            products * estimated_seconds(context, n) <= share * context.options.seconds)
            return n;
    return *(falling.end() - 1);
}

int order_of_products(const Context& context) {
    return largest_order(context, {2048, 1024, 512, 256, 128, 64}, 100, 0.15);
}

// ---- the steps

using Judge = std::vector<Line> (*)(const Findings&, const Judging&);

Section first_variants(const char* name, std::size_t count) {
    Section section = section_called(name);
    if (section.variants.size() > count) section.variants.resize(count);
    return section;
}

/// Measures a section and adds its lines to the verdict.
void check_section(Context& context, const Section& section, std::vector<int> sizes, Clock::time_point until,
                   Judge judge) {
    context.asking.sizes = std::move(sizes);
    context.asking.until = until;
    Findings findings;
    ask(section, context.asking, findings, [](const auto&) {});
    context.evidence[section.name] = to_json(findings);
    if (judge == judge_products) context.is_floored = is_floored(findings);
    for (Line& line : judge(findings, {context.compute_capability, context.asking.sizes, context.is_floored}))
        context.lines.push_back(std::move(line));
}

void check_products(Context& context, Clock::time_point until) {
    check_section(context, section_called("product"), {order_of_products(context)}, until, judge_products);
}
void check_opt_ins(Context& context, Clock::time_point until) {
    check_section(context, section_called("opt_ins"), {order_of_products(context)}, until, judge_opt_ins);
}
void check_float64(Context& context, Clock::time_point until) {
    const int n = largest_order(context, {512, 256, 128, 64}, 72, 0.05);
    check_section(context, section_called("float64_rules"), {n}, until, judge_float64);
}
void check_times(Context& context, Clock::time_point until) {
    std::vector<int> sizes;
    std::vector<Line> left_out;
    for (const int n : {512, 2048, 8192}) {
        // Factor 24: both precisions, two turns of two processes, and about 0.2 s each for a product that takes less.
        if (n > context.options.largest) {
            left_out.push_back({"time at " + std::to_string(n), Verdict::not_tried, "larger than --largest"});
            continue;
        }
        const double seconds = 24 * estimated_seconds(context, n);
        if (seconds <= 0.06 * context.options.seconds) {
            sizes.push_back(n);
            continue;
        }
        char text[64];
        std::snprintf(text, sizeof text, "it would take about %.0f s here", seconds);
        left_out.push_back({"time at " + std::to_string(n), Verdict::not_tried, text});
    }
    if (!sizes.empty()) check_section(context, first_variants("times", 4), sizes, until, judge_times);
    for (Line& line : left_out) context.lines.push_back(std::move(line));
}
void check_cost(Context& context, Clock::time_point until) {
    check_section(context, section_called("cost"), {64}, until, judge_cost);
}
void check_graph(Context& context, Clock::time_point until) {
    check_section(context, section_called("graph"), {order_of_products(context)}, until, judge_graph);
}
void check_audits(Context& context, Clock::time_point until) {
    const int n = largest_order(context, {512, 256, 128, 64}, 40, 0.04);
    check_section(context, section_called("audits"), {n}, until, judge_audits);
}

Asking asking_for_tools(Context& context, Clock::time_point until) {
    Asking asking = context.asking;
    asking.sizes = {largest_order(context, {1024, 512, 256, 128}, 60, 0.05)};
    asking.until = until;
    return asking;
}
Asking asking_for_frameworks(Context& context, Clock::time_point until) {
    Asking asking = asking_for_tools(context, until);
    asking.environment = context.of_frameworks;
    return asking;
}

void check_one_framework(Context& context, Clock::time_point until, const Framework& framework) {
    context.lines.push_back(check_framework(framework, context.options.python, asking_for_frameworks(context, until),
                                            context.expects_tf32(), context.evidence[framework.name]));
}
void check_torch(Context& context, Clock::time_point until) { check_one_framework(context, until, torch); }
void check_cupy(Context& context, Clock::time_point until) { check_one_framework(context, until, cupy); }
void check_jax(Context& context, Clock::time_point until) { check_one_framework(context, until, jax); }

void check_names(Context& context, Clock::time_point until) {
    context.lines.push_back(check_kernels(context.options.python, asking_for_frameworks(context, until),
                                          context.expects_tf32(), context.evidence["kernels"]));
}
void check_ncu(Context& context, Clock::time_point until) {
    Asking asking = asking_for_tools(context, until);
    asking.row_seconds = 60;  // ncu repeats each kernel several times
    context.lines.push_back(check_counters(asking, context.expects_tf32(), context.evidence["counters"]));
}

/// A step must end at this share of the allowed time. Time that it does not use is left to later steps.
struct Step {
    const char* name;
    double ends_at;
    void (*check)(Context& context, Clock::time_point until);
};
constexpr double machine_ends_at = 0.3;  // the first process has to load CUDA from the disk
constexpr Step steps[] = {
    {"products", 0.5, check_products}, {"floor", 0.58, check_opt_ins}, {"float64", 0.63, check_float64},
    {"times", 0.7, check_times},       {"cost", 0.74, check_cost},     {"graph", 0.78, check_graph},
    {"audits", 0.82, check_audits},    {"PyTorch", 0.88, check_torch}, {"CuPy", 0.91, check_cupy},
    {"JAX", 0.95, check_jax},          {"kernels", 0.97, check_names}, {"counters", 0.99, check_ncu}};

// ---- the whole check

bool has_no_answer(const Line& line) {
    return line.verdict == Verdict::failed && line.text.find("no answer in") != std::string::npos;
}

/// Returns true if the device still multiplies. Called after a step that got no answer.
bool still_answers(Context& context) {
    Asking probe = context.asking;
    probe.until = std::min(context.moment_of(0.99), Clock::now() + std::chrono::seconds(10));
    Findings findings;
    try {
        ask(section_called("machine"), probe, findings, [](const auto&) {});
    } catch (const NoDevice&) {
        return false;
    }
    return findings.all("failure").empty();
}

bool shows_colours() { return isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr; }

const char* colour_of(Verdict verdict) {
    if (!shows_colours()) return "";
    if (verdict == Verdict::shown) return "\033[32m";
    return verdict == Verdict::wrong || verdict == Verdict::failed ? "\033[1;31m" : "\033[2m";
}

void print_line(const Line& line) {
    std::printf("%s%-9s%s  %-20s %s\n", colour_of(line.verdict), to_string(line.verdict),
                shows_colours() ? "\033[0m" : "", line.name.c_str(), line.text.c_str());
    std::fflush(stdout);
}

/// On a terminal, shows on stderr what is being measured, and erases the line at the end.
class Progress {
  public:
    explicit Progress(const char* step) {
        if (isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "\rmeasuring: %s ...\033[K", step);
    }
    ~Progress() {
        if (isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "\r\033[K");
    }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
};

/// Runs a step, and adds its lines to the verdict.
void measure(Context& context, const Step& step) {
    const Progress progress(step.name);
    if (context.device_is_gone) {
        context.lines.push_back({step.name, Verdict::not_tried, "the device no longer answers"});
        return;
    }
    if (Clock::now() >= context.moment_of(step.ends_at)) {
        context.lines.push_back({step.name, Verdict::not_tried, no_time_left});
        return;
    }
    const std::size_t before = context.lines.size();
    try {
        step.check(context, context.moment_of(step.ends_at));
        if (std::any_of(context.lines.begin() + static_cast<std::ptrdiff_t>(before), context.lines.end(),
                        has_no_answer))
            context.device_is_gone = !still_answers(context);
    } catch (const std::exception& error) {
        context.lines.push_back({step.name, Verdict::failed, error.what()});
    }
}

void run_step(Context& context, const Step& step) {
    const std::size_t before = context.lines.size();
    measure(context, step);
    for (std::size_t i = before; i < context.lines.size(); ++i) print_line(context.lines[i]);
}

std::string machine_text(const Findings& machine) {
    const auto of = [&](const char* name) { return machine.distinct(name); };
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
int finish(Context& context) {
    const auto count = [&](Verdict verdict) { return std::ranges::count(context.lines, verdict, &Line::verdict); };
    const auto faults = count(Verdict::wrong) + count(Verdict::failed);
    const double seconds = duration<double>(Clock::now() - context.begun).count();
    json report = {{"schema", report_schema},
                   {"tool", describe_tool(context.asking)},
                   {"system", describe_system()},
                   {"machine", to_json(context.machine)},
                   {"seconds", {{"allowed", context.options.seconds}, {"used", seconds}}},
                   {"checks", to_json(context.lines)},
                   {"evidence", context.evidence}};
    make_anonymous(report);
    const std::string path = context.options.output.empty() ? default_output() : context.options.output;
    write_report(path, report);
    std::printf("\n%td shown, %td wrong, %td failed, %td measured, %td not tried, in %.0f s. Full report: %s\n",
                count(Verdict::shown), count(Verdict::wrong), count(Verdict::failed), count(Verdict::measured),
                count(Verdict::not_tried), seconds, path.c_str());
    return faults == 0 ? 0 : 1;
}

/// Prints the places of CUDA's libraries for scripts: a name and a value a line, separated by a tab.
int print_libraries(const CudaFolders& folders, const Findings& machine) {
    for (const auto& [name, value] : {std::pair{"driver_at", folders.driver},
                                      {"cublas_at", folders.cublas},
                                      {"lt_at", folders.cublas_lt},
                                      {"cublas_version", std::to_string(folders.major)},
                                      {"search", folders.search}})
        std::printf("%s\t%s\n", name, value.c_str());
    if (!machine.all("instead_of_13").empty())
        std::printf("instead_of_13\t%s\n", machine.distinct("instead_of_13").c_str());
    return 0;
}

/// Hides all devices but the first. Others would cost each process the time to start them, and JAX would use them.
void show_first_device(Context& context) {
    if (context.machine.distinct("devices") == "1") return;
    std::string& visible = context.asking.environment["CUDA_VISIBLE_DEVICES"];
    visible = visible.empty() ? "0" : visible.substr(0, visible.find(','));
}

CudaFolders find_machine(Context& context) {
    const Progress progress("the machine");
    const Options& options = context.options;
    Asking& asking = context.asking;
    asking.sizes = {256};
    asking.row_seconds = static_cast<unsigned>(std::clamp(options.seconds * machine_ends_at - 1, 3.0, 60.0));
    asking.until = context.moment_of(machine_ends_at);
    const Environment before = asking.environment;
    asking.environment["CUDA_MODULE_LOADING"] = "LAZY";  // loading all of cuBLAS would take each process seconds
    CudaFolders folders = find_cuda(options.libraries, options.python, asking, context.machine);
    // Every process needs this time to start, so the limit must be well above it. Otherwise a slow start would look
    // like a hang.
    const double start = context.machine.numbers("seconds_to_start").front();
    asking.row_seconds = static_cast<unsigned>(std::clamp(std::max(options.seconds / 10, 3 * start), 3.0, 60.0));
    show_first_device(context);
    context.of_frameworks = options.libraries.empty() ? before : asking.environment;
    if (const auto& visible = asking.environment.find("CUDA_VISIBLE_DEVICES"); visible != asking.environment.end())
        context.of_frameworks["CUDA_VISIBLE_DEVICES"] = visible->second;
    return folders;
}

/// Lists settings of this machine that govern other programs but are switched off in these measurements.
void tell_what_was_set_aside(Context& context, const std::vector<std::string>& unset) {
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

std::optional<int> parse(const std::vector<std::string>& words, Options& options) {
    CLI::App app("Shows on this machine's GPU that the library does what it says.", "gpu-check");
    app.add_option("--seconds", options.seconds)->check(CLI::Range(10.0, 3600.0));
    app.add_option("--python", options.python);
    app.add_option("-o,--output", options.output);
    app.add_option("--libraries", options.libraries);
    app.add_option("--shim", options.shim);
    app.add_option("--largest", options.largest);
    app.add_flag("--only-libraries", options.only_libraries);
    try {
        app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    return std::nullopt;
}

}  // namespace

int check_gpu(const std::vector<std::string>& words) {
    Context context;
    Options& options = context.options;
    if (const auto status = parse(words, options)) return *status;
    context.asking.shim = options.shim.empty() ? own_folder() + "/libfp32shim.so" : options.shim;
    if (!options.only_libraries && access(context.asking.shim.c_str(), R_OK) != 0)
        throw std::invalid_argument("--shim " + context.asking.shim + ": there is no such file");
    std::vector<std::string> left_out;
    context.asking.environment = neutral_environment(left_out);
    const CudaFolders folders = find_machine(context);
    if (options.only_libraries) return print_libraries(folders, context.machine);
    context.compute_capability = static_cast<int>(context.machine.numbers("compute_capability").front());
    context.lines.push_back({"machine", Verdict::measured, machine_text(context.machine)});
    print_line(context.lines.front());
    tell_what_was_set_aside(context, left_out);
    for (const Step& step : steps) run_step(context, step);
    return finish(context);
}

}  // namespace gpu
