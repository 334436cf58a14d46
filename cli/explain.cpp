// fp32shim explain: what the settings would do to a call that is described on the command line.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "cli/process_environment.hpp"
#include "cli/terminal.hpp"
#include "policy/decide.hpp"
#include "policy/explain.hpp"
#include "policy/load.hpp"
#include "policy/quantity.hpp"
#include "record/process_facts.hpp"

namespace fp32shim::cli {
namespace {

struct ExplainOptions {
    std::string function = "cblas_sgemm", caller, scope, device, dtype, compute_capability;
    std::string executable, command, host;
    std::int64_t m = -1, n = -1, k = -1, batch = 1;
    std::string policy, precision, floor, cpu;
    std::string format;
};

/// What happens to the call, once decided.
struct Effect {
    std::string applied;  ///< as in logs; `as asked` where only the program knows
    std::string words;    ///< the same for people
};

/// Whether the letter before the operation's name says complex: `cblas_cgemm`, `cublasCgemm_v2`, `scipy_csyrk_`.
bool names_complex(std::string_view function) {
    for (const std::string_view prefix : {"scipy_", "cublasXt", "cublas", "cblas_"}) {
        if (function.starts_with(prefix)) function.remove_prefix(prefix.size());
    }
    if (function.empty() || (function.front() != 'c' && function.front() != 'C')) return false;
    function.remove_prefix(1);
    const auto operations = {"gemm", "symm", "hemm", "syrk", "herk", "syr2k", "her2k", "trmm", "trsm"};
    return std::any_of(operations.begin(), operations.end(), [&](std::string_view operation) {
        return policy::equal_ignoring_case(function.substr(0, operation.size()), operation);
    });
}

policy::MatmulCall call_of(const ExplainOptions& options) {
    policy::MatmulCall call;
    call.function = options.function;
    call.caller = options.caller;
    call.scope = options.scope;
    call.m = options.m;
    call.n = options.n;
    call.k = options.k;
    call.batch = options.batch;
    const policy::Device by_name =
        options.function.starts_with("cublas") ? policy::Device::cuda : policy::Device::cpu;
    call.device = policy::parse_word(policy::device_words, options.device).value_or(by_name);
    const policy::Dtype dtype_by_name =
        names_complex(options.function) ? policy::Dtype::complex64 : policy::Dtype::float32;
    call.dtype = policy::parse_word(policy::dtype_words, options.dtype).value_or(dtype_by_name);
    if (call.device == policy::Device::cuda) {
        call.device_index = 0;
        call.compute_capability = policy::parse_compute_capability(options.compute_capability).value_or(0);
    }
    return call;
}

/// What is done for a decision. On CUDA the shim chooses what cuBLAS may use, on the CPU what the operands become.
Effect effect_of(const policy::MatmulCall& call, const policy::Decision& decision) {
    if (decision.reason == policy::Reason::observed) return {"unchanged", "counted, and never altered"};
    const bool on_cpu = call.device == policy::Device::cpu;
    switch (decision.precision) {
        case policy::Precision::high:
            return {"tf32", on_cpu ? "operands are rounded to TF32 first" : "cuBLAS may use TF32"};
        case policy::Precision::medium:
            return {"bf16", on_cpu ? "operands are rounded to BF16 first" : "cuBLAS may use BF16"};
        case policy::Precision::highest:
            return {"fp32", "float32, whatever the program asks for"};
        case policy::Precision::bf16x9:
            return {"bf16x9", "cuBLAS may compute float32 from nine BF16 products"};
        case policy::Precision::native:
        case policy::Precision::automatic:
            break;
    }
    return on_cpu ? Effect{"fp32", "as called, which is float32 on the CPU"}
                  : Effect{"as asked", "as the program asks, but for the floor"};
}

std::string_view meaning_of(policy::Reason reason) {
    switch (reason) {
        case policy::Reason::as_requested:
            return "done as asked";
        case policy::Reason::cpu_mode_off:
            return "the CPU mode is off; --cpu emulate previews it";
        case policy::Reason::cpu_accelerate_not_built:
            return "this version has no accelerated products on the CPU";
        case policy::Reason::compute_capability:
            return "the GPU is older than [cuda] min_compute_capability, or none was named: --compute-capability";
        case policy::Reason::floor:
            return "a floor forbids what was asked for";
        case policy::Reason::observed:
            return "narrower than float32";
        case policy::Reason::bf16x9_unavailable:
            return "BF16x9 is on GPUs of compute capability 10.0 and 10.3 only";
        default:
            return policy::to_string(reason);
    }
}

/// What only the shim can tell, in the process: decide() judges by settings alone.
std::vector<std::string> caveats_of(const policy::MatmulCall& call, const policy::Policy& policy,
                                    const policy::Decision& decision, const ProcessEnvironment& environment) {
    std::vector<std::string> caveats;
    if (call.device == policy::Device::cpu) return caveats;
    const bool lowers =
        decision.precision == policy::Precision::high || decision.precision == policy::Precision::medium;
    const bool has_aligned_rule =
        decision.rule >= 0 && policy.rules[static_cast<std::size_t>(decision.rule)].assume_aligned;
    if (lowers && environment.get("NVIDIA_TF32_OVERRIDE") == "0") {
        caveats.emplace_back(
            "NVIDIA_TF32_OVERRIDE=0 is set: TF32 stays off in all of CUDA's libraries (tf32_override)");
    }
    if (lowers && call.function.find("Batched") != std::string_view::npos &&
        call.function.find("StridedBatched") == std::string_view::npos && !has_aligned_rule) {
        caveats.emplace_back("batches of pointers are lowered only by a rule with assume_aligned = true (alignment)");
    }
    if (lowers && call.caller.starts_with("libcusolver") && decision.source != policy::Source::rule) {
        caveats.emplace_back("calls of cuSOLVER are lowered only by a rule that names that caller (solver)");
    }
    if (decision.precision == policy::Precision::medium) {
        caveats.emplace_back("functions without a compute type (symm, syrk, trmm, ...) know no BF16: TF32 there");
    }
    return caveats;
}

std::string size_text(std::int64_t size) { return size < 0 ? "?" : fmt::format("{}", size); }

std::string call_text(const policy::MatmulCall& call) {
    std::string text =
        fmt::format("{} {}x{}x{}", printable(call.function), size_text(call.m), size_text(call.n), size_text(call.k));
    if (call.batch != 1) text += fmt::format(" batch {}", call.batch);
    text += fmt::format(" {} on {}", policy::to_string(call.dtype), policy::to_string(call.device));
    if (call.compute_capability > 0) {
        text += fmt::format(" {}.{}", call.compute_capability / 10, call.compute_capability % 10);
    }
    if (!call.caller.empty()) text += fmt::format(" from {}", printable(call.caller));
    return text;
}

/// The conditions that decided: those of `when` that fail, or those of an `unless` that holds.
std::string verdict_text(const policy::RuleVerdict& verdict) {
    std::string text;
    const auto list = [&](const std::vector<policy::ConditionVerdict>& conditions, bool holding) {
        std::string result;
        for (const auto& condition : conditions) {
            if (condition.holds != holding) continue;
            result += fmt::format("{}{}: asks for {}, found {}", result.empty() ? "" : "; ", condition.key,
                                  condition.asked, condition.found);
        }
        return result;
    };
    if (std::string failed = list(verdict.when, false); !failed.empty()) return failed;
    return "unless " + list(verdict.unless, true);
}

Json json_of(const std::vector<policy::ConditionVerdict>& conditions) {
    Json list = Json::array();
    for (const auto& condition : conditions) {
        list.push_back({{"key", condition.key},
                        {"asked", condition.asked},
                        {"found", condition.found},
                        {"holds", condition.holds}});
    }
    return list;
}

/// Everything that is shown, whatever the format.
struct Explanation {
    policy::MatmulCall call;
    policy::Policy policy;
    policy::Decision decision;
    std::vector<policy::RuleVerdict> tried;  ///< the first of the policy's rules, up to the one that applies
    Effect effect;
    std::vector<std::string> caveats;
};

Json size_or_null(std::int64_t size) { return size < 0 ? Json() : Json(size); }

std::string json_of(const Explanation& e) {
    Json rules = Json::array();
    for (std::size_t i = 0; i < e.tried.size(); ++i) {
        const policy::Rule& rule = e.policy.rules[i];
        rules.push_back({{"rule", rule.name},
                         {"file", rule.file},
                         {"line", rule.line},
                         {"applies", e.tried[i].applies},
                         {"when", json_of(e.tried[i].when)},
                         {"unless", json_of(e.tried[i].unless)}});
    }
    const std::int32_t rule = e.decision.rule;
    return json_text({{"schema", 1},
                      {"call",
                       {{"function", e.call.function},
                        {"dtype", policy::to_string(e.call.dtype)},
                        {"device", policy::to_string(e.call.device)},
                        {"compute_capability", e.call.compute_capability > 0
                                                   ? Json(fmt::format("{}.{}", e.call.compute_capability / 10,
                                                                      e.call.compute_capability % 10))
                                                   : Json()},
                        {"m", size_or_null(e.call.m)},
                        {"n", size_or_null(e.call.n)},
                        {"k", size_or_null(e.call.k)},
                        {"batch", e.call.batch},
                        {"caller", text_or_null(e.call.caller)},
                        {"scope", text_or_null(e.call.scope)}}},
                      {"rules", rules},
                      {"requested", policy::to_string(e.decision.requested)},
                      {"source", policy::to_string(e.decision.source)},
                      {"rule", rule >= 0 ? Json(e.policy.rules[static_cast<std::size_t>(rule)].name) : Json()},
                      {"floor", policy::to_string(e.policy.floor)},
                      {"cpu_mode", policy::to_string(e.policy.cpu_mode)},
                      {"precision", policy::to_string(e.decision.precision)},
                      {"applied", e.effect.applied},
                      {"reason", policy::to_string(e.decision.reason)},
                      {"detail", e.effect.words},
                      {"caveats", e.caveats}});
}

std::string text_of(const Explanation& e) {
    std::string text = fmt::format("{}\n", call_text(e.call));
    for (std::size_t i = 0; i < e.tried.size(); ++i) {
        const policy::Rule& rule = e.policy.rules[i];
        const std::string verdict = e.tried[i].applies ? coloured("applies", Colour::green)
                                                       : "does not apply: " + printable(verdict_text(e.tried[i]));
        text +=
            fmt::format("  rule \"{}\" ({}:{}) {}\n", printable(rule.name), printable(rule.file), rule.line, verdict);
    }
    if (e.policy.rules.empty()) {
        text += "  no rules\n";
    } else if (e.tried.size() < e.policy.rules.size()) {
        const std::size_t rest = e.policy.rules.size() - e.tried.size();
        text += fmt::format("  {} rule{} behind it not tried\n", rest, rest == 1 ? "" : "s");
    }
    text += fmt::format("  asked for   {} ({})\n", policy::to_string(e.decision.requested),
                        policy::to_string(e.decision.source));
    text += fmt::format("  floor       {}\n", policy::to_string(e.policy.floor));
    if (e.call.device == policy::Device::cpu) {
        text += fmt::format("  CPU mode    {}\n", policy::to_string(e.policy.cpu_mode));
    }
    text += fmt::format("  applied     {}: {}\n", coloured(e.effect.applied, Colour::bold), e.effect.words);
    text +=
        fmt::format("  reason      {}: {}\n", policy::to_string(e.decision.reason), meaning_of(e.decision.reason));
    for (const std::string& caveat : e.caveats) text += fmt::format("  note        {}\n", caveat);
    return text;
}

int explain(const ExplainOptions& options) {
    ProcessEnvironment environment = ProcessEnvironment::of_this_process();
    const std::pair<const char*, const std::string&> variables[] = {{"FP32_MATMUL_POLICY", options.policy},
                                                                    {"FP32_MATMUL_PRECISION", options.precision},
                                                                    {"FP32_MATMUL_FLOOR", options.floor},
                                                                    {"FP32_MATMUL_CPU", options.cpu}};
    for (const auto& [name, value] : variables) {
        if (!value.empty()) environment.set(name, value);
    }
    policy::Loaded loaded = policy::load(environment.views(), {});
    for (const auto& warning : loaded.warnings) say("explain", warning.text());
    for (const auto& error : loaded.errors) say("explain", error.text());
    if (!loaded.errors.empty()) return exit_code::usage;
    if (loaded.policy.disabled) say("explain", "FP32_MATMUL_DISABLE=1 is set: the shim would forward every call");

    const std::string command = options.command.empty() ? options.executable : options.command;
    const std::string host =
        options.host.empty() ? record::gather_process_facts(environment.views()).host : options.host;
    const policy::Process process{record::base_name(options.executable), command, host};

    Explanation explanation;
    explanation.call = call_of(options);
    explanation.policy = std::move(loaded.policy);
    explanation.decision = policy::decide(explanation.call, process, explanation.policy, {});
    if (explanation.decision.reason != policy::Reason::observed) {
        for (const policy::Rule& rule : explanation.policy.rules) {
            explanation.tried.push_back(policy::explain_rule(rule, explanation.call, process));
            if (explanation.tried.back().applies) break;
        }
    }
    explanation.effect = effect_of(explanation.call, explanation.decision);
    explanation.caveats = caveats_of(explanation.call, explanation.policy, explanation.decision, environment);
    print(options.format == "json" ? json_of(explanation) : text_of(explanation));
    return exit_code::ok;
}

}  // namespace

Action define_explain(CLI::App& app) {
    auto options = std::make_shared<ExplainOptions>();
    const auto text = [&](const std::string& name, std::string& value, const std::string& type,
                          const std::string& description) {
        return app.add_option(name, value, description)->type_name(type);
    };
    const auto size = [&](const std::string& name, std::int64_t& value, const std::string& description) {
        app.add_option(name, value, description)->type_name("SIZE")->check(CLI::NonNegativeNumber);
    };
    text("--function", options->function, "NAME", "As the program calls it: cblas_sgemm, cublasSgemm_v2, ...")
        ->required();
    size("--m", options->m, "Rows of C, as the library receives them");
    size("--n", options->n, "Columns of C");
    size("--k", options->k, "The summed dimension");
    size("--batch", options->batch, "The batch count");
    text("--caller", options->caller, "NAME", "File name of the object that makes the call: libtorch_cuda.so");
    text("--scope", options->scope, "LABELS", "The thread's labels, outermost first, joined by /");
    add_word(app, "--device", options->device, policy::device_words, "Where it runs; else by the function's name");
    add_word(app, "--dtype", options->dtype, policy::dtype_words, "Of the operands; else by the function's name");
    text("--compute-capability", options->compute_capability, "MAJOR.MINOR", "The GPU's, such as 9.0")
        ->check([](const std::string& value) {
            return policy::parse_compute_capability(value)
                       ? std::string()
                       : "found " + policy::quoted(value) + "; allowed: major.minor, such as 9.0";
        });
    text("--executable", options->executable, "PROGRAM", "The program that would call");
    text("--command", options->command, "LINE", "Its whole argument line; else the program");
    text("--host", options->host, "NAME", "Where it would run; else this machine");
    text("--policy", options->policy, "FILE", "A policy file; else the environment's FP32_MATMUL_POLICY");
    add_word(app, "--precision", options->precision, policy::default_precision_words,
             "As FP32_MATMUL_PRECISION, which counts where this is not given");
    add_word(app, "--floor", options->floor, policy::floor_words, "As FP32_MATMUL_FLOOR, likewise");
    add_word(app, "--cpu", options->cpu, policy::cpu_mode_words, "As FP32_MATMUL_CPU, likewise");
    add_format(app, options->format, {"table", "json"});
    return [options] { return explain(*options); };
}

}  // namespace fp32shim::cli
