// fp32shim check: reports all errors in policy files.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "policy/decide.hpp"
#include "policy/exceptions.hpp"
#include "policy/load.hpp"
#include "policy/messages.hpp"
#include "policy/shadowed_rules.hpp"

namespace fp32shim::cli {
namespace {

struct CheckOptions {
    std::vector<std::string> files;
    bool is_json = false;
};

/// Returns the user who must own `file`: root if `file` is the policy of the whole machine; nullopt for all other
/// files, which any user may own.
std::optional<uid_t> required_owner(const std::string& file) {
    const policy::PolicyLoadOptions site;
    std::error_code error;
    if (!std::filesystem::equivalent(file, site.site_policy, error)) return std::nullopt;
    return site.site_owner;
}

/// Returns true if `rule` has no effect because it always asks for a format below the floor, even where an exception
/// in `file` lowers the floor.
bool is_defeated(policy::Rule rule, const policy::Policy& file) {
    policy::Policy loosest;
    loosest.floor = file.floor;
    loosest.allow_bf16x9 = file.allow_bf16x9;
    loosest.cpu_mode = policy::CpuMode::emulate;  // a CPU then emulates every format, so only the floor decides
    for (const policy::FloorException& exception : file.exceptions) {
        loosest.floor = std::min(loosest.floor, exception.floor);
        loosest.allow_bf16x9 |= exception.allow_bf16x9.value_or(false);
    }
    policy::MatmulCall call;
    call.dtype = rule.when.dtype.empty() ? policy::Dtype::float32 : rule.when.dtype.front();
    // `auto` has an effect even if the floor forbids TF32: where TF32 is not available, products run as the program
    // asks.
    if (rule.precision == policy::Precision::automatic) return false;
    // With a tolerance, audits may choose TF32 instead of BF16, so the rule has no effect only if the floor forbids
    // TF32 too.
    if (rule.tolerance) rule.precision = policy::Precision::high;
    rule.when = {};
    rule.when.dtype = {call.dtype};
    rule.unless = {};
    loosest.rules.push_back(std::move(rule));
    return policy::decide(call, {}, loosest, {}).reason == policy::Reason::floor;
}

/// Returns warnings about a valid policy: rules that never decide a call, and settings without effect.
std::vector<policy::Diagnostic> warnings_about(const policy::Policy& policy, const std::string& file) {
    std::vector<policy::Diagnostic> warnings;
    for (const policy::ShadowedRule& shadowed : policy::find_shadowed_rules(policy.rules)) {
        const policy::Rule &rule = policy.rules[shadowed.rule], &by = policy.rules[shadowed.by];
        warnings.push_back({fmt::format("{}:{}", file, rule.line),
                            fmt::format("rule {} is never reached, because rule {} on line {} applies to all of its "
                                        "calls; put the narrower rule first, or remove it",
                                        policy::in_quotes(rule.name), policy::in_quotes(by.name), by.line)});
    }
    for (const policy::Rule& rule : policy.rules)
        if (is_defeated(rule, policy))
            warnings.push_back({fmt::format("{}:{}", file, rule.line),
                                fmt::format("rule {} asks for {}, which the floor {} never allows; remove "
                                            "it, or lower the floor by [[limits.except]]",
                                            policy::in_quotes(rule.name), policy::to_string(rule.precision),
                                            policy::to_string(policy.floor))});
    for (const policy::FloorException& exception : policy.exceptions) {
        const std::string where = fmt::format("{}:{}", file, exception.line);
        const bool allows_more = exception.allow_bf16x9.value_or(false) && !policy.allow_bf16x9;
        if (exception.floor >= policy.floor && !allows_more)
            warnings.push_back(
                {where, fmt::format("exception {} has no effect: its floor {} is not below [limits] "
                                    "floor, which is {}",
                                    policy::in_quotes(exception.name), policy::to_string(exception.floor),
                                    policy::to_string(policy.floor))});
        for (std::string& unknown : policy::unknown_name_warnings(exception))
            warnings.push_back({where, std::move(unknown)});
    }
    return warnings;
}

Json to_json(const std::vector<policy::Diagnostic>& diagnostics) {
    return json_list(diagnostics, [](const policy::Diagnostic& diagnostic) -> Json {
        return {{"where", diagnostic.where}, {"message", diagnostic.message}};
    });
}

Json to_json(const std::string& file, const policy::LoadedPolicy& loaded) {
    const bool is_valid = loaded.errors.empty();
    return {{"file", file},
            {"valid", is_valid},
            {"name", text_or_null(loaded.policy.name)},
            {"revision", text_or_null(loaded.policy.revision)},
            {"sha256", text_or_null(loaded.policy.sha256)},
            {"rules", is_valid ? Json(loaded.policy.rules.size()) : Json()},
            {"needs_scopes", is_valid ? Json(loaded.policy.needs().looks_at_scopes) : Json()},
            {"errors", to_json(loaded.errors)},
            {"warnings", to_json(loaded.warnings)}};
}

void print_lines(const std::string& file, const policy::LoadedPolicy& loaded) {
    for (const auto& error : loaded.errors)
        print(wrapped(fmt::format("{} {}\n", coloured("error:", Colour::red), printable(error.text()))));
    for (const auto& warning : loaded.warnings)
        print(wrapped(fmt::format("{} {}\n", coloured("warning:", Colour::yellow), printable(warning.text()))));
    if (!loaded.errors.empty()) return;
    const std::size_t rules = loaded.policy.rules.size();
    print(wrapped(fmt::format("{}: {}, {}{}\n", printable(file), coloured("valid", Colour::green),
                              counted(rules, "rule"),
                              rules == 0 ? "" : ". fp32shim run and report name rules that decide no call.")));
    for (const policy::FloorException& exception : loaded.policy.exceptions) {
        if (!policy::unknown_name_warnings(exception).empty())
            continue;  // a warning already says that the exception may hold for nobody
        const std::string_view how = policy::spoofing_risk(exception);
        print(wrapped(fmt::format(
            "{}: exception {}, floor {}: {}{}.\n", printable(file), policy::in_quotes(exception.name),
            policy::to_string(exception.floor),
            how.empty() ? "settings alone cannot imitate what it asks for" : "any user can imitate it, since ",
            how)));
    }
    if (loaded.policy.needs().looks_at_scopes)
        print(wrapped(
            fmt::format("{}: under fp32shim run, rules by scope match PyTorch modules and NVTX ranges. With a plain "
                        "preload they match only C API scopes, and ranges of programs with NVTX of CUDA 13.\n",
                        printable(file))));
}

int check(const CheckOptions& options) {
    int status = exit_code::ok;
    Json files = Json::array();
    for (const std::string& file : options.files) {
        policy::LoadedPolicy loaded = policy::read_policy_file(file, required_owner(file));
        if (!loaded.is_readable)
            status = exit_code::usage;
        else if (!loaded.errors.empty())
            status = status == exit_code::usage ? status : exit_code::finding;
        else
            loaded.warnings = warnings_about(loaded.policy, file);
        if (file.ends_with(".fp32rec") && !loaded.errors.empty())
            say("check",
                printable(file) + " is named like a recording, not like a policy; fp32shim report reads recordings");
        if (options.is_json)
            files.push_back(to_json(file, loaded));
        else
            print_lines(file, loaded);
    }
    if (options.is_json) print(json_text({{"schema", 1}, {"files", files}}));
    return status;
}

}  // namespace

Action define_check(CLI::App& app) {
    auto options = std::make_shared<CheckOptions>();
    app.add_option("FILE", options->files, "Policy files")->type_name("FILE")->required();
    add_table_or_json(app, options->is_json);
    return [options] { return check(*options); };
}

}  // namespace fp32shim::cli
