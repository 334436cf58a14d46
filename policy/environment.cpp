// Reads the FP32_MATMUL_* variables.
#include <algorithm>
#include <string>

#include "policy/quantity.hpp"
#include "policy/settings.hpp"
#include "policy/words.hpp"
#include "system/cpu_features.hpp"
#include "system/small_files.hpp"

namespace fp32shim::policy {
namespace {

constexpr std::string_view prefix = "FP32_MATMUL_";
/// The prefix of the project's variables that are not settings. None of them has the name of a setting behind its
/// prefix, so FP32SHIM_CPU, for example, is a mistyped FP32_MATMUL_CPU.
constexpr std::string_view mistaken_prefix = "FP32SHIM_";

/// The message about an error in a variable's value, or an empty text if the value is valid.
using Problem = std::string;

/// Calls `handle` with each word of a comma-separated list, until it returns a problem (a text that is not empty).
/// Returns this problem or an empty text.
template <class Handle>
Problem for_each_word(std::string_view list, Handle handle) {
    for (std::string_view rest = list; !rest.empty();) {
        const std::size_t end = std::min(rest.find(','), rest.size());
        if (Problem problem = handle(system::trimmed(rest.substr(0, end), " \t")); !problem.empty()) return problem;
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return {};
}

/// Sets `target` to the value that `text` names in the table `words`. Returns an error if `text` is not in the table.
template <class T>
Problem read_word(std::string_view text, const auto& words, T& target) {
    const auto value = parse_word(words, text);
    if (!value) return unknown_word_error(text, texts_of(words));
    target = *value;
    return {};
}

Problem read_precision(std::string_view text, PolicyDraft& policy) {
    const auto precision = parse_word(default_precision_words, text);
    if (!precision) return default_precision_error(text);
    policy.default_precision = *precision;
    policy.default_source = Source::environment;
    return {};
}

Problem read_floor(std::string_view text, PolicyDraft& policy) {
    Floor floor = Floor::none;
    Problem problem = read_word(text, floor_words, floor);
    policy.floor = std::max(policy.floor, floor);
    policy.floor_is_broken = !problem.empty();
    return problem;
}

Problem read_policy(std::string_view text, PolicyDraft& policy) {
    policy.policy_path = text;
    return {};
}

Problem read_log(std::string_view text, PolicyDraft& policy) {
    if (auto problem = problem_with_log_path(text)) return *std::move(problem);
    policy.log_path = text;
    return {};
}

Problem read_where(std::string_view text, PolicyDraft& policy) {
    LocationSourceSet where;
    Problem problem = parse_location_sources(text, where);
    if (problem.empty()) policy.log_where = where;
    return problem;
}

Problem read_audit_word(std::string_view word, PolicyDraft& policy) {
    if (const auto fraction = parse_fraction(word))
        policy.audit_sample = *fraction;
    else if (equal_ignoring_case(word, "fingerprint"))
        policy.audit_fingerprint = true;
    else if (equal_ignoring_case(word, "nonfinite"))
        policy.audit_nonfinite = true;
    else if (equal_ignoring_case(word, "float64"))
        policy.audit_float64 = AuditFormat::fp32;
    else
        return "found " + in_quotes(word) +
               "; allowed: fingerprint, nonfinite, float64, or a fraction of calls from 0 to 1 (0.001); separate "
               "several with "
               "commas";
    return {};
}

Problem read_audit(std::string_view text, PolicyDraft& policy) {
    PolicyDraft changed = policy;
    Problem problem = for_each_word(text, [&](std::string_view word) { return read_audit_word(word, changed); });
    if (problem.empty()) policy = std::move(changed);
    return problem;
}

Problem read_stochastic_seed(std::string_view text, PolicyDraft& policy) {
    policy.stochastic_seed = parse_whole_number(text);
    return policy.stochastic_seed ? "" : "found " + in_quotes(text) + "; allowed: a whole number from 0";
}

template <auto setting, std::uint32_t least, std::uint32_t most>
Problem read_number(std::string_view text, PolicyDraft& policy) {
    const auto number = parse_whole_number(text);
    if (!number || *number < least || *number > most)
        return "found " + in_quotes(text) + "; allowed: a whole number from " + std::to_string(least) + " to " +
               std::to_string(most);
    policy.*setting = static_cast<std::remove_reference_t<decltype(policy.*setting)>>(*number);
    return {};
}

/// Checks the value of FP32_MATMUL_INSTRUCTIONS. Only system/cpu_features.cpp uses the value; it reads the variable
/// when the library is loaded.
Problem check_instructions(std::string_view text, PolicyDraft& /*policy*/) {
    std::vector<std::string_view> words;
    for (const system::InstructionLevel& level : system::instruction_levels) {
        if (equal_ignoring_case(text, level.word)) return {};
        words.emplace_back(level.word);
    }
    return unknown_word_error(text, words);
}

template <auto setting>
Problem read_switch(std::string_view text, PolicyDraft& policy) {
    if (text != "0" && text != "1") return unknown_word_error(text, {"0", "1"});
    policy.*setting = text == "1";
    return {};
}

struct SettingVariable {
    std::string_view name;  ///< the name without the prefix FP32_MATMUL_
    Problem (*read)(std::string_view text, PolicyDraft& policy);
};

constexpr SettingVariable variables[] = {
    {"PRECISION", read_precision},
    {"FLOOR", read_floor},
    {"POLICY", read_policy},
    {"CPU",
     [](std::string_view text, PolicyDraft& policy) { return read_word(text, cpu_mode_words, policy.cpu_mode); }},
    {"THREADS", read_number<&Policy::threads, 1, 256>},
    {"STOCHASTIC_SEED", read_stochastic_seed},
    {"LOG", read_log},
    {"LOG_LEVEL",
     [](std::string_view text, PolicyDraft& policy) { return read_word(text, log_level_words, policy.log_level); }},
    {"WHERE", read_where},
    {"ONEDNN", read_switch<&Policy::log_onednn>},
    {"KERNELS", read_switch<&Policy::log_kernels>},
    {"VECTORS", read_switch<&Policy::log_vectors>},
    {"GPU_TIMES", read_number<&Policy::log_gpu_times, 0, max_gpu_times>},
    {"AUDIT", read_audit},
    {"ON_ERROR", [](std::string_view text,
                    PolicyDraft& policy) { return read_word(text, on_error_words, policy.asked_on_error); }},
    {"INSTRUCTIONS", check_instructions},
    {"DISABLE", read_switch<&Policy::disabled>},
};

Diagnostic unknown_variable(std::string_view begin, std::string_view name) {
    std::vector<std::string_view> known;
    for (const SettingVariable& variable : variables) known.push_back(variable.name);
    std::string message = "unknown variable, ignored";
    if (const auto near = nearest_name(name, known))
        message += "; did you mean " + std::string(prefix) + std::string(*near) + '?';
    else
        message += "; known variables: FP32_MATMUL_ followed by " + joined(known);
    return {std::string(begin) + printable(name), message};
}

}  // namespace

std::string add_location_source(std::string_view word, LocationSourceSet& where) {
    constexpr std::string_view counted = "native:";
    constexpr unsigned fewest = 2;
    if (word.size() > counted.size() && equal_ignoring_case(word.substr(0, counted.size()), counted)) {
        const auto count = parse_whole_number(word.substr(counted.size()));
        if (!count || *count < fewest || *count > max_native_frames)
            return "found " + in_quotes(word) + "; allowed: native:" + std::to_string(fewest) +
                   " to native:" + std::to_string(max_native_frames) + ", a number of callers";
        where.bits |= static_cast<std::uint8_t>(LocationSource::native);
        where.native_frames = static_cast<std::uint8_t>(*count);
        return {};
    }
    const auto source = parse_word(where_words, word);
    if (!source) {
        auto allowed = texts_of(where_words);
        allowed.push_back("native:N");
        return unknown_word_error(word, allowed);
    }
    if (*source == LocationSource::none) where = {};
    where.bits |= static_cast<std::uint8_t>(*source);
    return {};
}

std::string parse_location_sources(std::string_view list, LocationSourceSet& where) {
    return for_each_word(list, [&](std::string_view word) { return add_location_source(word, where); });
}

void read_environment(const Environment& environment, PolicyDraft& policy, std::vector<Diagnostic>& errors,
                      std::vector<Diagnostic>& warnings) {
    std::vector<std::string_view> seen;
    for (std::string_view entry : environment) {
        const std::size_t equals = entry.find('=');
        const bool is_setting = entry.starts_with(prefix);
        if (!(is_setting || entry.starts_with(mistaken_prefix)) || equals == std::string_view::npos) continue;
        const std::string_view begin = is_setting ? prefix : mistaken_prefix;
        const std::string_view name = entry.substr(begin.size(), equals - begin.size());
        const std::string_view value = entry.substr(equals + 1);
        // If a name occurs twice, the first entry counts, as for getenv().
        const std::string_view whole = entry.substr(0, equals);
        if (std::find(seen.begin(), seen.end(), whole) != seen.end()) continue;
        seen.push_back(whole);
        if (value.empty()) continue;

        const auto* variable = std::find_if(std::begin(variables), std::end(variables),
                                            [&](const SettingVariable& candidate) { return candidate.name == name; });
        if (is_setting != (variable != std::end(variables)))
            warnings.push_back(unknown_variable(begin, name));
        else if (!is_setting)
            continue;
        else if (Problem problem = variable->read(value, policy); !problem.empty())
            errors.push_back({std::string(prefix) + std::string(name), std::move(problem)});
    }
}

}  // namespace fp32shim::policy
