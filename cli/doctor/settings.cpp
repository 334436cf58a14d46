#include "cli/doctor/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/binaries/elf_file.hpp"
#include "cli/binaries/function_kind.hpp"
#include "cli/doctor/blas.hpp"
#include "cli/run/log_destination.hpp"
#include "cli/run/process_environment.hpp"
#include "cli/run/program_variables.hpp"
#include "policy/decide.hpp"
#include "policy/messages.hpp"
#include "policy/words.hpp"
#include "record/pinned_variables.hpp"
#include "record/process_facts.hpp"
#include "shim/blas/multiply/multiply.hpp"

namespace fp32shim::cli {
namespace {

std::string value_of_variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : value;
}

/// Returns true if the settings may lower a product below float32.
bool may_lower(const policy::Policy& policy) {
    const auto lowers = [](policy::Precision precision) {
        return precision != policy::Precision::native && precision != policy::Precision::highest;
    };
    return policy.floor != policy::Floor::fp32 &&
           (lowers(policy.default_precision) || std::ranges::any_of(policy.rules, lowers, &policy::Rule::precision));
}

/// Reports a default precision that has no effect, either because the floor forbids it, or because there is no GPU
/// that supports it and the CPU mode is off.
void judge_default_precision(const policy::Policy& policy, const GpuInventory& gpus, std::vector<Finding>& findings) {
    policy::Policy default_only = policy;
    default_only.rules.clear();
    const auto reason_for = [&](const policy::MatmulCall& call) {
        return policy::decide(call, {}, default_only, {}).reason;
    };
    const std::string about = fmt::format("precision {} ({})", policy::to_string(policy.default_precision),
                                          policy::to_string(policy.default_source));
    const policy::Reason on_cpu = reason_for({});
    if (on_cpu == policy::Reason::floor) {
        findings.push_back(
            {about, fmt::format("the floor {} applies: nothing runs below it", policy::to_string(policy.floor)),
             "lower the floor, or ask for at least that precision"});
        return;
    }
    if (on_cpu != policy::Reason::cpu_mode_off) return;
    const bool has_fitting_gpu = std::ranges::any_of(gpus.devices, [&](const Gpu& gpu) {
        policy::MatmulCall call;
        call.device = policy::Device::cuda;
        call.compute_capability =
            static_cast<std::int32_t>(std::lround(std::atof(gpu.compute_capability.c_str()) * 10));
        return reason_for(call) == policy::Reason::as_requested;
    });
    if (has_fitting_gpu) return;
    findings.push_back({about,
                        fmt::format("nothing on this machine runs at it, because there is no GPU of compute "
                                    "capability {}.{} or newer and the CPU mode is off; products run as called",
                                    policy.min_compute_capability / 10, policy.min_compute_capability % 10),
                        "FP32_MATMUL_CPU=emulate previews it on the CPU"});
}

void judge_log(const policy::Policy& policy, const ProcessEnvironment& environment, std::vector<Finding>& findings) {
    if (policy.log_path.empty()) return;
    const std::string problem =
        problem_with_log_destination(policy.log_path, record::gather_process_facts(environment.entry_views()));
    if (problem.empty()) return;
    const bool is_from_policy = environment.get("FP32_MATMUL_LOG").empty();
    findings.push_back({is_from_policy ? "[log] path of the policy" : "FP32_MATMUL_LOG=" + policy.log_path,
                        problem + "; nothing is logged", ""});
}

void judge_cuda_variables(const policy::Policy& policy, std::vector<Finding>& findings) {
    const bool is_pinned =
        policy.floor == policy::Floor::fp32 || policy.default_precision == policy::Precision::highest;
    if (const std::string value = value_of_variable("NVIDIA_TF32_OVERRIDE"); value == "0" && may_lower(policy))
        findings.push_back({"NVIDIA_TF32_OVERRIDE=0",
                            "cuBLAS, cuDNN, cuTENSOR and TensorRT use no TF32, whatever the settings here ask for",
                            "unset NVIDIA_TF32_OVERRIDE"});
    else if (!value.empty() && value != "0")
        findings.push_back(
            {"NVIDIA_TF32_OVERRIDE=" + value,
             "NVIDIA documents only the value 0, which switches TF32 off; an H200 took 1 as permission to "
             "use TF32 for products that do not ask for it",
             "unset it, and choose TF32 with FP32_MATMUL_PRECISION=high"});
    if (const std::string value = value_of_variable("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE");
        value == "1" && !is_pinned) {  // torch ignores all other values
        findings.push_back({"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=" + value,
                            "torch itself asks cuBLAS for TF32, and the settings here do not undo that",
                            "unset it, or set FP32_MATMUL_FLOOR=fp32"});
    }
    if (const std::string value = value_of_variable("CUBLAS_EMULATE_SINGLE_PRECISION");
        !value.empty() && value != "0" && !policy.allow_bf16x9)
        findings.push_back(
            {"CUBLAS_EMULATE_SINGLE_PRECISION=" + value,
             "cuBLAS may compute float32 products from nine BF16 ones, which count as `bf16x9`, not as fp32",
             "CUBLAS_EMULATE_SINGLE_PRECISION=0, or allow_bf16x9 = true in [limits] of the policy"});
}

/// Reports variables that may make Triton, CuPy, JAX or MLX run products below float32. The shim does not control
/// these products.
void judge_kernel_variables(std::vector<Finding>& findings) {
    constexpr std::uint16_t judged = record::pin_triton | record::pin_cupy | record::pin_jax | record::pin_mlx;
    for (const record::PinnedVariable& pin : record::all_pins) {
        if ((pin.bit & judged) == 0) continue;
        const std::size_t equals = pin.entry.find('=');
        const std::string name(pin.entry.substr(0, equals));
        const std::string value = value_of_variable(name.c_str());
        const bool is_another_word = pin.bit == record::pin_jax && policy::equal_ignoring_case(value, "FLOAT32");
        if (value.empty() || is_another_word || policy::equal_ignoring_case(value, pin.entry.substr(equals + 1)))
            continue;
        findings.push_back({fmt::format("{}={}", name, value),
                            "products that the shim does not control may run below float32",
                            fmt::format("{}, which {}", pin.entry, pin.reach)});
    }
}

/// Reports that JAX's compilation cache may hold code that was compiled under other settings. `fp32shim run` gives
/// each policy a cache folder of its own; a plain preload does not.
void judge_compilation_cache(const policy::Policy& policy, const ProcessEnvironment& environment,
                             std::vector<Finding>& findings) {
    const std::string folder = environment.get(cache_variable);
    if (folder.empty()) return;
    const std::uint16_t pins = record::gather_process_facts(environment.entry_views()).pins;
    const std::string own = jax_cache_folder(policy, pins, folder);
    if (own == folder) return;
    findings.push_back({fmt::format("{}={}", cache_variable, folder),
                        "JAX may reuse code that it compiled under other settings, with the kernels and algorithms "
                        "that were fastest then",
                        fmt::format("{}={}, which fp32shim run sets by itself", cache_variable, own)});
}

void judge_onednn_variables(std::vector<Finding>& findings) {
    for (const char* name : {"ONEDNN_DEFAULT_FPMATH_MODE", "DNNL_DEFAULT_FPMATH_MODE"}) {
        const std::string value = value_of_variable(name);
        if (value.empty() || policy::equal_ignoring_case(value, "STRICT")) continue;
        findings.push_back({fmt::format("{}={}", name, value),
                            "oneDNN may multiply below float32, and the shim does not control it",
                            fmt::format("{}=STRICT", name)});
    }
}

/// Splits a list of libraries in the same way as the loader.
std::vector<std::string> entries_of(std::string_view list) { return split_list(list, " :\t\n"); }

bool is_needed_symbol_of_preload(std::string_view name) {
    return name == shim_mark || name == "dlsym" || name == "__asan_init" || is_intercepted(name);
}

/// Returns the file that the loader finds for an entry of LD_PRELOAD or of a similar list; empty if it finds none.
std::string file_of(const std::string& entry) {
    std::error_code error;
    const std::string file = entry.find('/') != std::string::npos ? entry : find_library(entry);
    return std::filesystem::exists(file, error) ? file : std::string();
}

void judge_preload(const PreloadEntry& preload, bool shim_is_behind, std::vector<Finding>& findings) {
    const std::string about = fmt::format("{} in {}", policy::quoted_path(preload.entry), preload.where);
    if (preload.file.empty()) {
        // The loader replaces $LIB, $ORIGIN and $PLATFORM, so an entry that contains `$` may be correct.
        if (preload.entry.find('$') == std::string::npos)
            findings.push_back(
                {about, "the loader does not find it, says so, and continues without it", "correct the path"});
        return;
    }
    const auto elf = read_elf(preload.file, is_needed_symbol_of_preload);
    if (!elf || !elf->is_this_architecture) {
        findings.push_back({about,
                            "it is not a library for this processor: the loader says so, and continues without it",
                            "correct the path"});
        return;
    }
    if (preload.is_shim || !shim_is_behind) return;
    const auto exports = [&](std::string_view name) {
        return std::ranges::count(elf->exports, name, &ElfSymbol::name) > 0;
    };
    // The runtime of a sanitizer must come first. It may come before the shim, because it has no BLAS functions.
    if (exports("__asan_init")) return;
    const std::string remedy = fmt::format("name libfp32shim.so first in {}", preload.where);
    if (std::ranges::any_of(elf->exports, is_intercepted, &ElfSymbol::name))
        findings.push_back(
            {about, "it comes before the shim and has its own BLAS functions, so calls reach it first", remedy});
    else if (exports("dlsym"))
        findings.push_back({about,
                            "it comes before the shim and has its own dlsym, so BLAS functions that a program looks "
                            "up may bypass the shim",
                            remedy});
}

/// Reports that audits are requested without a recording. Only recordings keep the errors that audits measure.
void judge_audit(const policy::Policy& policy, std::vector<Finding>& findings) {
    if (policy.audit_sample == 0 || policy.log_path.ends_with(".fp32rec")) return;
    const std::string value = value_of_variable("FP32_MATMUL_AUDIT");
    findings.push_back({value.empty() ? "[audit] of the policy" : "FP32_MATMUL_AUDIT=" + value,
                        "with a plain preload nothing is audited, because errors are kept only in recordings",
                        policy.log_path.empty() ? "FP32_MATMUL_LOG=NAME.fp32rec, or fp32shim run without --quiet"
                                                : "set FP32_MATMUL_LOG=NAME.fp32rec"});
}

/// Reports libraries in LD_AUDIT that define `…_pltenter`. With such a library, the shim may see the loader as the
/// caller of a function.
void report_libraries_in_ld_audit(std::vector<Finding>& findings) {
    const auto ends_in_pltenter = [](std::string_view name) { return name.ends_with("_pltenter"); };
    for (const std::string& entry : entries_of(value_of_variable("LD_AUDIT"))) {
        const auto elf = read_elf(file_of(entry), ends_in_pltenter);
        if (!elf || elf->exports.empty()) continue;
        findings.push_back(
            {fmt::format("{} in LD_AUDIT", policy::quoted_path(entry)),
             "if it watches functions return, calls go through the loader: the loader is recorded as their caller, "
             "rules that name the real caller do not match, and one of several BLAS libraries serves all calls",
             "run without it"});
    }
}

/// Reports that NVTX_INJECTION64_PATH gives a program's ranges to another library although the settings need the
/// ranges.
void judge_nvtx(const policy::Policy& policy, const ProcessEnvironment& environment, std::vector<Finding>& findings) {
    const std::string library = environment.get(nvtx_variable);
    if (!wants_nvtx_ranges(policy) || library.empty() || is_shim_library(file_of(library))) return;
    findings.push_back(
        {fmt::format("{}={}", nvtx_variable, library),
         "NVTX ranges go to that library, and only one library can receive them, so they are not scopes",
         fmt::format("unset {} to receive them here", nvtx_variable)});
}

/// Reports that the policy has rules by scope although PyTorch modules do not open scopes. `fp32shim run` makes
/// modules open scopes; a plain preload does not.
void judge_scope_rules(const policy::Policy& policy, std::vector<Finding>& findings) {
    if (policy.disabled || !policy.needs().looks_at_scopes || policy.log_where.has(policy::LocationSource::torch))
        return;
    findings.push_back({"rules by scope in the policy",
                        "with a plain preload they match only C API scopes, and ranges of programs with NVTX of CUDA "
                        "13; not PyTorch modules or other NVTX ranges",
                        "start the program with fp32shim run"});
}

void read_preloads(ExaminedSettings& settings) {
    const auto add = [&](std::string_view list, const char* where) {
        for (const std::string& entry : entries_of(list)) {
            const std::string file = file_of(entry);
            settings.preloads.push_back({entry, file, where, !file.empty() && is_shim_library(file)});
        }
    };
    add(value_of_variable("LD_PRELOAD"), "LD_PRELOAD");
    std::ifstream file("/etc/ld.so.preload");
    for (std::string line; std::getline(file, line);) add(line.substr(0, line.find('#')), "/etc/ld.so.preload");
    const auto shims = std::ranges::count(settings.preloads, true, &PreloadEntry::is_shim);
    auto shims_behind = shims;
    for (const PreloadEntry& preload : settings.preloads) {
        if (preload.is_shim) --shims_behind;
        judge_preload(preload, shims_behind > 0, settings.findings);
    }
    if (shims > 1)
        settings.findings.push_back(
            {"LD_PRELOAD", fmt::format("{} copies of the shim are preloaded", shims), "keep one"});
}

}  // namespace

ExaminedSettings examine_settings(const GpuInventory& gpus) {
    ExaminedSettings settings;
    const ProcessEnvironment environment = ProcessEnvironment::of_this_process();
    settings.loaded = policy::load_policy(environment.entry_views(), {});
    for (const auto* diagnostics : {&settings.loaded.errors, &settings.loaded.warnings})
        for (const auto& [where, message] : *diagnostics) settings.findings.push_back({where, message, ""});
    if (settings.loaded.policy.disabled)
        settings.findings.push_back(
            {"FP32_MATMUL_DISABLE=1", "the shim is switched off: it forwards everything", "unset it"});
    else if (settings.loaded.policy.cpu_mode == policy::CpuMode::accelerate &&
             blas::bf16_units() == blas::Bf16Units::none)
        settings.findings.push_back({"CPU mode `accelerate`",
                                     "this processor has no BF16 units that are faster than float32: products run "
                                     "as called",
                                     "a processor with AMX or AVX512_BF16, or `off`"});
    judge_default_precision(settings.loaded.policy, gpus, settings.findings);
    judge_log(settings.loaded.policy, environment, settings.findings);
    judge_audit(settings.loaded.policy, settings.findings);
    judge_cuda_variables(settings.loaded.policy, settings.findings);
    judge_nvtx(settings.loaded.policy, environment, settings.findings);
    judge_scope_rules(settings.loaded.policy, settings.findings);
    judge_onednn_variables(settings.findings);
    judge_kernel_variables(settings.findings);
    judge_compilation_cache(settings.loaded.policy, environment, settings.findings);
    read_preloads(settings);
    report_libraries_in_ld_audit(settings.findings);
    return settings;
}

}  // namespace fp32shim::cli
