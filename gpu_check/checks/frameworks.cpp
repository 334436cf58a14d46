#include "gpu_check/checks/other_programs.hpp"

#include <algorithm>
#include <filesystem>

#include "gpu_check/workers/variant_run.hpp"
#include "record/kernels/judge.hpp"

namespace gpu {
namespace {

using nlohmann::json;

/// One run of a framework's products: the format that the program asks for, the settings of the library, and the
/// format that must result.
struct FrameworkRun {
    const char* name;
    const char* own;  // format that the program itself asks for
    const char* variables;
    const char* expected;
};
#define UNDER "LD_PRELOAD=SHIM FP32_MATMUL_LOG=FOLDER/log.jsonl "
constexpr FrameworkRun runs[] = {{"high", "fp32", UNDER "FP32_MATMUL_PRECISION=high", "tf32"},
                                 {"floor", "tf32", UNDER "FP32_MATMUL_FLOOR=fp32", "fp32"}};
#undef UNDER

/// A framework that takes longer than this time counts as hanging. If it is stopped earlier, it may just have been
/// loading on a slow machine.
constexpr auto enough_time = std::chrono::seconds(60);

/// Returns the folder with products.py: `frameworks` beside this program, or share/fp32shim/gpu-check. Empty if there
/// is none.
std::string scripts_folder() {
    for (const char* const folder : {"/frameworks", "/../../share/fp32shim/gpu-check"})
        if (const std::string path = program_folder() + folder; std::filesystem::exists(path + "/products.py"))
            return path;
    return {};
}

/// Returns the format in which a kernel multiplies, judged by its name. Returns "unknown" if the name does not tell
/// the format, and "none" if the kernel multiplies nothing.
std::string format_of_kernel(const std::string& name) {
    using fp32shim::policy::Dtype;
    const auto judgement = fp32shim::record::judge_kernel({name, std::nullopt});
    if (!judgement.multiplies) return "none";
    if (judgement.dtype == Dtype::bfloat16) return "bf16";
    if (judgement.dtype == Dtype::float16) return "fp16";
    const bool is_known = judgement.applied != fp32shim::policy::AppliedFormat::unchanged;
    return is_known ? std::string(to_string(judgement.applied)) : "unknown";
}

std::string reason_in(const std::string& errors) {
    const std::string last = last_line(errors);
    constexpr std::string_view own = "products.py: ";
    return last.starts_with(own) ? last.substr(own.size()) : last;
}

struct FrameworkResult {
    Verdict verdict = Verdict::shown;  ///< if it is not_tried or failed, `problem` has the reason
    std::string problem;
    json operations = json::array();
    std::string version;
};

/// Runs products.py once, and returns the results that it reported.
FrameworkResult run_products(const std::string& framework, const FrameworkRun& run, const std::string& python,
                             const MeasurementSettings& settings, bool expects_tf32, bool with_kernels) {
    const std::string scripts = scripts_folder();
    if (scripts.empty()) return {Verdict::failed, "products.py is not beside this program", {}, {}};
    const VariantEnvironment variant({run.name, run.variables}, settings.environment, settings.shim);
    const std::string log = variant.folder() + "/log.jsonl";
    Environment environment = variant.environment();
    // Without this option, XLA multiplies with kernels of its own, which the shim does not see.
    if (framework == "jax") environment["XLA_FLAGS"] = "--xla_gpu_enable_triton_gemm=false";
    std::vector<std::string> words = {
        python, "-B",     scripts + "/products.py", framework, "--own", run.own, "--log",
        log,    "--json", "--must-be-seen"};
    words.insert(words.end(), {"--expect", expects_tf32 ? run.expected : "fp32"});
    words.insert(words.end(), {"--size", std::to_string(settings.sizes.back())});
    if (with_kernels) words.emplace_back("--kernels");
    FrameworkResult answer;
    const auto begun = Clock::now();
    if (begun >= settings.until) return {Verdict::not_tried, no_time_left, {}, {}};
    const ProcessOutcome ended = run_process(words, environment, settings.until, [&](const std::string& text) {
        json line = json::parse(text, nullptr, false);
        if (line.is_discarded()) return;
        if (line.contains("version")) answer.version = line["version"];
        if (!line.contains("operation")) return;
        if (line.contains("kernels"))
            for (json& kernel : line["kernels"]) kernel = {{"name", kernel}, {"format", format_of_kernel(kernel)}};
        answer.operations.push_back(std::move(line));
    });
    if (ended.exit_status() == exit_skipped || ended.exit_status() == 127)
        return {Verdict::not_tried, reason_in(ended.errors), {}, {}};
    if (ended.timed_out) {
        const auto used = Clock::now() - begun;
        const std::string text = describe_failure(ended, used);
        if (used < enough_time) return {Verdict::not_tried, text + ": --seconds may give it more", {}, {}};
        return {Verdict::failed, text, answer.operations, answer.version};
    }
    if (ended.exit_status() != 0 && answer.operations.empty())
        return {Verdict::failed, reason_in(ended.errors), answer.operations, answer.version};
    return answer;
}

/// Returns a text such as "4 of 4 products tf32", or the first fault. If there is a fault, or nothing ran, changes
/// `verdict`. Operations that the framework cannot run on this machine are not counted as run.
std::string summary_of(const json& operations, const char* expected, Verdict& verdict) {
    int ran = 0;
    for (const json& operation : operations) {
        if (operation["measured"].is_null()) continue;
        ++ran;
        if (!operation["fails"].get<bool>()) continue;
        verdict = Verdict::wrong;
        return operation["operation"].get<std::string>() + ": " + operation["verdict"].get<std::string>();
    }
    if (ran == 0) {
        if (verdict == Verdict::shown) verdict = Verdict::failed;
        return operations.empty() ? "nothing ran" : operations[0]["verdict"].get<std::string>();
    }
    return std::to_string(ran) + " of " + std::to_string(operations.size()) + " products " + expected;
}

}  // namespace

VerdictLine check_framework(const char* framework, const char* title, const std::string& python,
                            const MeasurementSettings& settings, bool expects_tf32, json& evidence) {
    std::string text;
    Verdict verdict = Verdict::shown;
    for (const FrameworkRun& run : runs) {
        const FrameworkResult answer = run_products(framework, run, python, settings, expects_tf32, false);
        if (answer.verdict != Verdict::shown)
            return {title, answer.verdict, (text.empty() ? "" : text + "; ") + answer.problem};
        evidence[run.name] = answer.operations;
        evidence["version"] = answer.version;
        if (text.empty()) text = answer.version;
        text += std::string("; ") + run.name + ": " +
                summary_of(answer.operations, expects_tf32 ? run.expected : "fp32", verdict);
    }
    return {title, verdict, text};
}

VerdictLine check_kernels(const std::string& python, const MeasurementSettings& settings, bool expects_tf32,
                          json& evidence) {
    constexpr const char* name = "kernels";
    std::string text = "by torch.profiler";
    Verdict verdict = Verdict::shown;
    for (const FrameworkRun& run : runs) {
        const std::string expected = expects_tf32 ? run.expected : "fp32";
        const FrameworkResult answer = run_products("torch", run, python, settings, expects_tf32, true);
        if (answer.verdict != Verdict::shown) return {name, answer.verdict, answer.problem};
        evidence[run.name] = answer.operations;
        int named = 0;
        std::string example;
        for (const json& operation : answer.operations) {
            for (const json& kernel : operation.value("kernels", json::array())) {
                const std::string format = kernel["format"];
                if (format == "none" || format == "unknown") continue;
                ++named;
                example = kernel["name"];
                if (format != expected)
                    return {name, Verdict::wrong,
                            std::string("at ") + run.name + " the kernel " + example + " is one for " + format};
            }
        }
        if (named == 0) verdict = Verdict::measured;
        text += std::string("; ") + run.name + ": " + std::to_string(named) + " kernels of " +
                std::to_string(answer.operations.size()) + " products say " + expected +
                (example.empty() ? "" : " (" + example.substr(0, 60) + ")");
    }
    return {name, verdict, text};
}

}  // namespace gpu
