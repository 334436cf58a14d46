// fp32shim explain: explains how the settings treat a call described on the command line.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/explain_plan.hpp"
#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/run/process_environment.hpp"
#include "policy/decide.hpp"
#include "policy/exceptions.hpp"
#include "policy/explain.hpp"
#include "policy/load.hpp"
#include "policy/quantity.hpp"
#include "policy/tensor_cores.hpp"
#include "record/process_facts.hpp"
#include "shim/table/functions.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

struct ExplainOptions {
    std::string function, caller, scope, where, text, call_site, device, dtype, compute_capability;
    std::vector<std::string> stack;
    std::string executable, command, host;
    std::int64_t m = -1, n = -1, k = -1, batch = 1, call_number = -1;
    std::string policy, precision, floor, cpu;
    bool is_json = false;
};

const Function* find_product(const std::string& name) {
    const FunctionIndex row = find_function(name.c_str());
    return row >= 0 && functions[row].multiplies() ? &functions[row] : nullptr;
}

std::string problem_with_function(const std::string& name) {
    if (find_product(name) != nullptr) return {};
    std::string problem = "found " + policy::in_quotes(name);
    if (find_function(name.c_str()) >= 0)
        return problem + ", which multiplies nothing: fp32shim only watches it to learn the state of cuBLAS";
    std::vector<std::string_view> names;
    for (const Function& function : functions)
        if (function.multiplies()) names.push_back(function.name);
    return problem + ", which fp32shim does not intercept: its calls are not seen" +
           policy::did_you_mean(name, names);
}

policy::Device device_of(const Function& function) {
    return is_of_cublas(function.convention) ? policy::Device::cuda : policy::Device::cpu;
}

/// Returns true if `function` has arguments that state the types of its operands; false if its name says the type.
bool has_dtype_argument(const Function& function) {
    return function.product().control == FormatControl::lt_matmul || function.positions().of(Role::a_type) >= 0;
}

/// Returns an error message if `function` does not support the device or the type that `options` give; empty if it
/// supports them.
std::string problem_with_call(const Function& function, const ExplainOptions& options) {
    const auto problem = [&](std::string_view option, const std::string& found, std::string_view allowed) {
        if (found.empty() || policy::equal_ignoring_case(found, allowed)) return std::string();
        return fmt::format("{}: found {}; allowed for {}: {}", option, policy::in_quotes(found), function.name,
                           allowed);
    };
    std::string wrong = problem("--device", options.device, policy::to_string(device_of(function)));
    if (!wrong.empty() || has_dtype_argument(function)) return wrong;
    return problem("--dtype", options.dtype, policy::to_string(function.product().dtype));
}

/// The lines of Python on a call stack, as the option --stack gives them, outermost first.
struct GivenStack : policy::PythonStackLines {
    explicit GivenStack(const std::vector<std::string>& given) : lines(&given) {
        any = [](const PythonStackLines& all, bool (*judge)(void*, std::string_view), void* context) {
            return std::ranges::any_of(*static_cast<const GivenStack&>(all).lines,
                                       [&](const std::string& line) { return judge(context, line); });
        };
    }
    const std::vector<std::string>* lines;
};

/// The source text of the Python line that makes the call, as the option --text gives it.
struct GivenSourceText : policy::SourceLineText {
    explicit GivenSourceText(std::string_view given) : text(given) {
        read_text = [](const SourceLineText& line) {
            return std::optional<std::string_view>(static_cast<const GivenSourceText&>(line).text);
        };
    }
    std::string_view text;
};

/// Returns the call site in compiled code that `text` names, such as `libphysics.so!solve+0x1c4`, in the form in
/// which the shim compares call sites with rules.
policy::CallSiteText call_site_in(std::string_view text) { return {text, text.substr(0, text.rfind("+0x")), text}; }

policy::MatmulCall call_of(const Function& function, const ExplainOptions& options) {
    policy::MatmulCall call;
    call.function = function.name;
    call.caller = options.caller;
    call.scope = options.scope;
    call.where = options.where;
    call.m = options.m;
    call.n = options.n;
    call.k = options.k;
    call.batch = options.batch;
    call.call_number = options.call_number;
    const ArgumentPositions& positions = function.positions();
    const bool makes_square = positions.of(Role::n) >= 0 && positions.of(Role::m) < 0;
    if (makes_square && call.m < 0) call.m = call.n;
    call.device = device_of(function);
    call.dtype = policy::parse_word(policy::dtype_words, options.dtype).value_or(function.product().dtype);
    if (call.device == policy::Device::cuda) {
        call.device_index = 0;
        call.compute_capability = policy::parse_compute_capability(options.compute_capability).value_or(0);
    }
    return call;
}

/// Returns the meaning of a reason, followed by a remedy if there is one.
std::string meaning_of(policy::Reason reason, const policy::MatmulCall& call) {
    if (reason == policy::Reason::compute_capability && call.compute_capability <= 0)
        return "no GPU was named, which counts as too old; name one with --compute-capability";
    const std::string_view remedy = policy::remedy_of(reason);
    return fmt::format("{}{}{}", policy::reason_clause(reason), remedy.empty() ? "" : "; ", remedy);
}

std::string capability_text(const policy::MatmulCall& call) {
    return fmt::format("{}.{}", call.compute_capability / 10, call.compute_capability % 10);
}

std::string size_text(std::int64_t size) { return size < 0 ? "?" : fmt::format("{}", size); }

std::string call_text(const policy::MatmulCall& call) {
    std::string text =
        fmt::format("{} {}x{}x{}", printable(call.function), size_text(call.m), size_text(call.n), size_text(call.k));
    if (call.batch != 1) text += fmt::format(" batch {}", call.batch);
    text += fmt::format(" {} on {}", policy::to_string(call.dtype), policy::to_string(call.device));
    if (call.compute_capability > 0) text += " " + capability_text(call);
    if (!call.caller.empty()) text += fmt::format(" from {}", printable(call.caller));
    return text;
}

/// Returns the option of `fp32shim explain` for the fact that a policy's `key` tests: `--m, --n, --k` for `min_dim`.
std::string option_of(std::string_view key) {
    if (key == "min_dim" || key == "max_dim" || key == "flops") return "--m, --n, --k";
    std::string option = fmt::format("--{}", key);
    std::ranges::replace(option, '_', '-');
    return option;
}

std::string condition_text(const policy::ConditionVerdict& condition) {
    const std::string text = fmt::format("{} must be {}, but is {}", condition.key, condition.asked, condition.found);
    return condition.found == policy::unknown_value ? fmt::format("{} ({})", text, option_of(condition.key)) : text;
}

/// Returns the verdict on a rule as text. If the rule does not apply, the text names the conditions that decided
/// this: the failing conditions of `when`, or all conditions of an `unless` that holds.
std::string verdict_text(const policy::RuleVerdict& verdict) {
    if (verdict.applies) return coloured("applies", Colour::green);
    std::string failed;
    bool is_known = false;
    for (const auto& condition : verdict.when) {
        if (condition.holds) continue;
        failed += (failed.empty() ? "" : "; ") + condition_text(condition);
        is_known = is_known || condition.found != policy::unknown_value;
    }
    if (!failed.empty())
        return printable((is_known ? "does not apply: " : "is not known to apply, so it is skipped: ") + failed);
    std::string met_conditions;
    for (const auto& condition : verdict.unless)
        met_conditions += fmt::format("{}{} is {}, and it is {}", met_conditions.empty() ? "" : "; ", condition.key,
                                      condition.asked, condition.found);
    return printable("does not apply: unless " + met_conditions);
}

Json size_or_null(std::int64_t size) { return size < 0 ? Json() : Json(size); }

Json to_json(const policy::MatmulCall& call) {
    Json lines = Json::array();
    const auto append = [](void* list, std::string_view line) {
        static_cast<Json*>(list)->push_back(text_or_null(line));
        return false;
    };
    if (call.stack != nullptr) call.stack->any(*call.stack, append, &lines);
    return {{"function", call.function},
            {"dtype", policy::to_string(call.dtype)},
            {"device", policy::to_string(call.device)},
            {"compute_capability", call.compute_capability > 0 ? Json(capability_text(call)) : Json()},
            {"m", size_or_null(call.m)},
            {"n", size_or_null(call.n)},
            {"k", size_or_null(call.k)},
            {"batch", call.batch},
            {"call_number", size_or_null(call.call_number)},
            {"caller", text_or_null(call.caller)},
            {"scope", text_or_null(call.scope)},
            {"where", text_or_null(call.where)},
            {"text", call.text == nullptr ? Json() : Json(*call.text->read_text(*call.text))},
            {"call_site", call.call_site == nullptr ? Json() : Json(call.call_site->text)},
            {"stack", lines}};
}

Json to_json(const std::vector<policy::ConditionVerdict>& conditions) {
    return json_list(conditions, [](const policy::ConditionVerdict& condition) -> Json {
        return {{"key", condition.key},
                {"asked", condition.asked},
                {"found", condition.found},
                {"holds", condition.holds}};
    });
}

/// The results that `fp32shim explain` prints as text or as JSON.
struct Explanation {
    policy::MatmulCall call;
    policy::Policy policy;
    policy::Decision decision;
    std::vector<policy::RuleVerdict> tried;  ///< verdicts on the policy's rules, up to the first that applies
    PlannedCall planned;
    policy::JobIdentity judged_process;  ///< the user and job for whom exceptions to the floor were judged
};

/// Returns the JSON value of `tf32_rounding`, the way in which operands are rounded to TF32.
std::string_view rounding_word(const policy::Policy& policy) {
    return policy.stochastic_seed ? std::string_view("random") : policy::to_string(policy.tf32_rounding);
}

Json accumulator_json(policy::Accumulator accumulator) {
    return text_or_null(std::string(policy::to_string(accumulator)));
}

/// Returns the format in which a product of float16 or bfloat16 adds, and the format in which the program's own call
/// would add.
std::string accumulator_text(const PlannedFormat& outcome) {
    const auto adds = policy::to_string(outcome.accumulator);
    const auto as_called = policy::to_string(outcome.accumulator_as_called);
    return adds == as_called ? fmt::format("{}, as called", adds) : fmt::format("{} instead of {}", adds, as_called);
}

std::string to_json(const Explanation& e) {
    Json rules = Json::array();
    for (std::size_t i = 0; i < e.tried.size(); ++i) {
        const policy::Rule& rule = e.policy.rules[i];
        rules.push_back({{"rule", rule.name},
                         {"file", rule.file},
                         {"line", rule.line},
                         {"applies", e.tried[i].applies},
                         {"when", to_json(e.tried[i].when)},
                         {"unless", to_json(e.tried[i].unless)}});
    }
    const Json others = json_list(e.planned.others, [](const PlannedCall::OtherOutcome& other) -> Json {
        return {{"applied", policy::to_string(other.outcome.applied)},
                {"accumulator", accumulator_json(other.outcome.accumulator)},
                {"reason", policy::to_string(other.outcome.reason)},
                {"where", other.where}};
    });
    const std::int32_t rule = e.decision.rule;
    return json_text({{"schema", 1},
                      {"call", to_json(e.call)},
                      {"rules", rules},
                      {"requested", policy::to_string(e.decision.requested)},
                      {"source", policy::to_string(e.decision.source)},
                      {"rule", rule >= 0 ? Json(e.policy.rules[static_cast<std::size_t>(rule)].name) : Json()},
                      {"floor", policy::to_string(e.policy.floor)},
                      {"floor_exception", text_or_null(e.policy.floor_exception)},
                      {"cpu_mode", policy::to_string(e.policy.cpu_mode)},
                      {"tf32_rounding", rounding_word(e.policy)},
                      {"accumulation", policy::to_string(e.policy.accumulation)},
                      {"precision", policy::to_string(e.decision.precision)},
                      {"applied", policy::to_string(e.planned.outcome.applied)},
                      {"reason", policy::to_string(e.planned.outcome.reason)},
                      {"accumulate", policy::name_of(policy::accumulate_words, e.decision.accumulate)},
                      {"accumulator_as_called", accumulator_json(e.planned.outcome.accumulator_as_called)},
                      {"accumulator", accumulator_json(e.planned.outcome.accumulator)},
                      {"detail", e.planned.words},
                      {"supposed", e.planned.supposed},
                      {"others", others},
                      {"notes", e.planned.notes}});
}

std::string_view rounding_words(policy::Tf32Rounding rounding) {
    return rounding == policy::Tf32Rounding::away   ? "to nearest, ties away from zero"
           : rounding == policy::Tf32Rounding::even ? "to nearest, ties to even"
                                                    : "bits are cut off";
}

/// Returns a line about the policy's setting `accumulation`, which imitates how a GPU adds. The line is empty if the
/// BLAS library adds in its own way, or if `dtype` is float64 or complex128.
std::string addition_text(policy::AccumulationModel gpu, policy::Dtype dtype, policy::AppliedFormat format) {
    if (gpu == policy::AccumulationModel::library || policy::is_double(dtype)) return {};
    if (policy::find_tensor_core_step(gpu, policy::factors_of_preview(format)) == nullptr)
        return fmt::format("  addition    by the program's library: tensor cores of {} do not have this format\n",
                           policy::to_string(gpu));
    return fmt::format("  addition    {0}: in blocks with truncation, as tensor cores of {0} add; slow\n",
                       policy::to_string(gpu));
}

std::string text_of(const Explanation& e) {
    std::string text = fmt::format("{}\n", call_text(e.call));
    for (std::size_t i = 0; i < e.tried.size(); ++i) {
        const policy::Rule& rule = e.policy.rules[i];
        text += fmt::format("  rule \"{}\" ({}:{}) {}\n", printable(rule.name), printable(rule.file), rule.line,
                            verdict_text(e.tried[i]));
    }
    if (e.policy.rules.empty()) {
        text += "  no rules\n";
    } else if (e.tried.size() < e.policy.rules.size()) {
        const std::size_t rest = e.policy.rules.size() - e.tried.size();
        text += fmt::format("  {} later rule{} not tried\n", rest, rest == 1 ? "" : "s");
    }
    const bool is_of_half = policy::is_half(e.call.dtype) && e.call.device == policy::Device::cuda;
    text += fmt::format(
        "  asked for   {} ({})\n",
        is_of_half ? fmt::format("accumulate {}", policy::name_of(policy::accumulate_words, e.decision.accumulate))
                   : policy::to_string(e.decision.requested),
        policy::to_string(e.decision.source));
    text += fmt::format("  floor       {}\n", policy::to_string(e.policy.floor));
    for (const policy::FloorException& exception : e.policy.exceptions)
        text += fmt::format("  exception   {} ({}:{}), {} instead of {}: {}\n", policy::in_quotes(exception.name),
                            printable(exception.file), exception.line, policy::to_string(exception.floor),
                            policy::to_string(exception.file_floor), exception.holds ? "applies" : "does not apply");
    const policy::JobIdentity& who = e.judged_process;
    if (!e.policy.exceptions.empty())
        text += fmt::format("  asked by    user {}, groups {}{}, job {}, account {}, command {}\n", who.user,
                            fmt::join(who.groups, " "), who.has_real_user_ids ? "" : " (chosen in a user namespace)",
                            who.job.empty() ? "none" : printable(who.job),
                            who.account.empty() ? "none" : printable(who.account),
                            who.command.empty() ? "not given (--command)" : policy::in_quotes(who.command));
    if (e.call.device == policy::Device::cpu)
        text += fmt::format("  CPU mode    {}\n", policy::to_string(e.policy.cpu_mode));
    const PlannedFormat& outcome = e.planned.outcome;
    const bool is_preview = e.call.device == policy::Device::cpu &&
                            outcome.applied != policy::native_format(e.call.dtype) &&
                            outcome.applied != policy::AppliedFormat::unchanged;
    if (is_preview && e.policy.stochastic_seed)
        text += fmt::format("  rounding    random: up or down, the nearer number is the likelier (seed {})\n",
                            *e.policy.stochastic_seed);
    else if (is_preview && outcome.applied == policy::AppliedFormat::tf32)
        text += fmt::format("  rounding    {}: {}\n", policy::to_string(e.policy.tf32_rounding),
                            rounding_words(e.policy.tf32_rounding));
    if (is_preview) text += addition_text(e.policy.accumulation, e.call.dtype, outcome.applied);
    text += fmt::format("  applied     {}: {}\n", coloured(policy::to_string(outcome.applied), Colour::bold),
                        e.planned.words);
    if (outcome.accumulator != policy::Accumulator::unknown)
        text += fmt::format("  adds in     {}\n", accumulator_text(outcome));
    text +=
        fmt::format("  reason      {}: {}\n", policy::to_string(outcome.reason), meaning_of(outcome.reason, e.call));
    if (!e.planned.supposed.empty()) text += fmt::format("  supposing   {}\n", fmt::join(e.planned.supposed, ", "));
    for (const PlannedCall::OtherOutcome& other : e.planned.others) {
        const bool adds = other.outcome.accumulator != policy::Accumulator::unknown;
        text += fmt::format("  but         {} ({}) with {}\n",
                            adds ? accumulator_text(other.outcome) : policy::to_string(other.outcome.applied),
                            policy::to_string(other.outcome.reason), fmt::join(other.where, ", or "));
    }
    for (const std::string& note : e.planned.notes) text += fmt::format("  note        {}\n", note);
    return text;
}

int explain(const ExplainOptions& options) {
    const Function& function = *find_product(options.function);
    if (const std::string problem = problem_with_call(function, options); !problem.empty())
        return usage_error("explain", problem);
    ProcessEnvironment environment = ProcessEnvironment::of_this_process();
    const std::pair<const char*, const std::string&> variables[] = {{"FP32_MATMUL_POLICY", options.policy},
                                                                    {"FP32_MATMUL_PRECISION", options.precision},
                                                                    {"FP32_MATMUL_FLOOR", options.floor},
                                                                    {"FP32_MATMUL_CPU", options.cpu}};
    for (const auto& [name, value] : variables)
        if (!value.empty()) environment.set(name, value);
    const std::string command = options.command.empty() ? options.executable : options.command;
    Explanation explanation;
    explanation.judged_process = policy::own_job_identity(environment.entry_views());
    explanation.judged_process.command = command;
    policy::LoadedPolicy loaded =
        policy::load_policy(environment.entry_views(), {.process = &explanation.judged_process});
    for (const auto& warning : loaded.warnings) say("explain", warning.text());
    for (const auto& error : loaded.errors) say("explain", error.text());
    if (!loaded.errors.empty()) return exit_code::usage;
    if (loaded.policy.disabled) say("explain", "FP32_MATMUL_DISABLE=1 is set: the shim would forward every call");

    const std::string host =
        options.host.empty() ? record::gather_process_facts(environment.entry_views()).host : options.host;
    const policy::ProcessDescription process{system::base_name(options.executable), command, host};

    explanation.call = call_of(function, options);
    const policy::CallSiteText call_site = call_site_in(options.call_site);
    const GivenStack stack(options.stack);
    const GivenSourceText text(options.text);
    if (!options.text.empty()) explanation.call.text = &text;
    if (!options.call_site.empty()) explanation.call.call_site = &call_site;
    if (!options.stack.empty()) explanation.call.stack = &stack;
    explanation.policy = std::move(loaded.policy);
    const policy::Decision decision = policy::decide(explanation.call, process, explanation.policy, {});
    // In a running program, audits of earlier products may allow a cheaper format within the tolerance of a rule.
    // `explain` runs no audits, so it shows the decision for a call before any audit.
    explanation.decision = policy::decision_before_audits(decision, explanation.policy, explanation.call.dtype);
    const bool may_add_otherwise =
        policy::is_half(explanation.call.dtype) && explanation.call.device == policy::Device::cuda;
    if (explanation.decision.reason != policy::Reason::observed || may_add_otherwise)
        for (const policy::Rule& rule : explanation.policy.rules) {
            explanation.tried.push_back(policy::explain_rule(rule, explanation.call, process));
            if (explanation.tried.back().applies) break;
        }
    explanation.planned =
        plan_described_call(function, explanation.call, explanation.decision, explanation.policy, environment);
    if (has_dtype_argument(function) && options.dtype.empty())
        explanation.planned.notes.emplace_back(
            "each call states the types of its operands; assumed: float32 (--dtype)");
    print(options.is_json ? to_json(explanation) : wrapped(text_of(explanation)));
    return exit_code::ok;
}

}  // namespace

Action define_explain(CLI::App& app) {
    auto options = std::make_shared<ExplainOptions>();
    const auto text = [&](const std::string& name, std::string& value, const std::string& type,
                          const std::string& description) {
        return app.add_option(name, value, description)->type_name(type);
    };
    text("--function", options->function, "NAME", "Function that the program calls: cblas_sgemm, cublasSgemm_v2, ...")
        ->required()
        ->check(problem_with_function);
    add_size(app, "--m", options->m, "Rows of C, as the library receives them");
    add_size(app, "--n", options->n, "Columns of C");
    add_size(app, "--k", options->k, "The summed dimension");
    add_size(app, "--batch", options->batch, "The batch count");
    add_size(app, "--call-number", options->call_number, "The number of the call at its place, from 1");
    text("--caller", options->caller, "NAME", "File name of the object that makes the call: libtorch_cuda.so");
    text("--where", options->where, "LINE", "The line of the program: 'train.py:41 Model.forward'");
    text("--text", options->text, "SOURCE", "The text of that line: 'return a @ b'");
    text("--call-site", options->call_site, "PLACE",
         "Compiled code that makes the call: 'libphysics.so!solve+0x1c4'");
    add_values(app, "--stack", options->stack, "A line of Python that led to the call: 'train.py:90 main'")
        ->type_name("LINE");
    text("--scope", options->scope, "LABELS", "The thread's labels, outermost first, joined by /");
    add_word(app, "--device", options->device, policy::device_words, "Device; must be that of the function");
    add_word(app, "--dtype", options->dtype, policy::dtype_words,
             "Type of the operands, if the function takes several: float64 for cublasGemmEx");
    text("--compute-capability", options->compute_capability, "MAJOR.MINOR",
         "Compute capability of the GPU, such as 9.0")
        ->check([](const std::string& value) {
            return policy::parse_compute_capability(value)
                       ? std::string()
                       : "found " + policy::in_quotes(value) + "; allowed: major.minor, such as 9.0";
        });
    text("--executable", options->executable, "PROGRAM", "Program that makes the call");
    text("--command", options->command, "LINE", "Its whole command line; default: the program");
    text("--host", options->host, "NAME", "Host of the program; default: this machine");
    add_name(app, "--policy", options->policy, "FILE", "Policy file; default: FP32_MATMUL_POLICY");
    add_word(app, "--precision", options->precision, policy::default_precision_words,
             "Precision; default: FP32_MATMUL_PRECISION");
    add_word(app, "--floor", options->floor, policy::floor_words, "Floor; default: FP32_MATMUL_FLOOR");
    add_word(app, "--cpu", options->cpu, policy::cpu_mode_words, "CPU mode; default: FP32_MATMUL_CPU");
    add_table_or_json(app, options->is_json);
    return [options] { return explain(*options); };
}

}  // namespace fp32shim::cli
