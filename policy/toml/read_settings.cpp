// Reads the text of a policy file: all keys except those of rules.
#include <algorithm>
#include <string>
#include <utility>

#include "policy/quantity.hpp"
#include "policy/settings.hpp"
#include "policy/sha256.hpp"
#include "policy/toml/fields.hpp"

namespace fp32shim::policy {
namespace {

constexpr std::string_view version = FP32SHIM_VERSION;
constexpr std::size_t largest_policy = 1 << 20;
constexpr std::uint64_t smallest_recording = 1 << 20;  // the size of sixteen segments of a recording
constexpr std::int32_t first_tf32_capability = 80;

void read_default(const TomlEntry& entry, PolicyDraft& policy, ErrorCollector& report) {
    const auto* text = value_as<std::string>(*entry.value);
    if (text && !parse_word(default_precision_words, *text)) {
        report.add_error(position_of(*entry.value), entry.key + ": " + default_precision_error(*text));
        return;
    }
    if (const auto precision = read_word(entry, default_precision_words, report)) {
        policy.default_precision = *precision;
        policy.default_source = Source::file;
    }
}

void read_min_compute_capability(const TomlEntry& entry, PolicyDraft& policy, ErrorCollector& report) {
    const auto* text = value_as<std::string>(*entry.value);
    const auto capability = text ? parse_compute_capability(*text) : std::nullopt;
    if (capability && *capability >= first_tf32_capability)
        policy.min_compute_capability = *capability;
    else
        report_not_allowed(entry, "a string such as \"8.0\", the oldest GPUs with TF32, or higher", report);
}

void read_log_path(const TomlEntry& entry, PolicyDraft& policy, ErrorCollector& report) {
    const auto path = read_string(entry, report);
    if (!path) return;
    if (const auto problem = problem_with_log_path(*path))
        report.add_error(position_of(*entry.value), entry.key + ": " + *problem);
    else
        policy.log_path = *path;
}

void read_log_max_size(const TomlEntry& entry, PolicyDraft& policy, ErrorCollector& report) {
    std::optional<std::uint64_t> bytes;
    if (const auto* text = value_as<std::string>(*entry.value)) bytes = parse_byte_count(*text);
    if (const auto* number = value_as<std::int64_t>(*entry.value)) bytes = std::max<std::int64_t>(*number, 0);
    if (bytes && *bytes >= smallest_recording)
        policy.log_max_size = *bytes;
    else
        report_not_allowed(entry, "bytes, at least 1 MiB, as a number or a string such as \"64MiB\", \"1GiB\"",
                           report);
}

/// Reads the permissions of a log. Only the owner may write the log, since a recording can control the process.
void read_log_mode(const TomlEntry& entry, PolicyDraft& policy, ErrorCollector& report) {
    constexpr std::string_view modes[] = {"0600", "0640", "0604", "0644"};
    const auto* text = value_as<std::string>(*entry.value);
    if (text && std::find(std::begin(modes), std::end(modes), *text) != std::end(modes))
        policy.log_mode = static_cast<std::uint32_t>(std::stoul(*text, nullptr, 8));
    else
        report_not_allowed(entry, "\"0600\", \"0640\", \"0604\", \"0644\"; only the owner may write", report);
}

void read_log_where(const TomlEntry& entry, PolicyDraft& policy, ErrorCollector& report) {
    LocationSourceSet where;
    for (const toml::node* item : items_of_entry(entry, report)) {
        const auto* word = value_as<std::string>(*item);
        if (word == nullptr)
            report_not_allowed(entry, *item, joined(texts_of(where_words)) + ", native:N", report);
        else if (const std::string problem = add_location_source(*word, where); !problem.empty())
            report.add_error(position_of(*item), entry.key + ": " + problem);
    }
    policy.log_where = where;
}

void read_audit_sample(const TomlEntry& entry, PolicyDraft& policy, ErrorCollector& report) {
    assign_if_read(policy.audit_sample, read_number(entry, {0, 1}, "a fraction from 0 to 1", report));
}

constexpr TableKey<FloorException> exception_keys[] = {
    {"name", read_string_into<&FloorException::name>},
    {"floor", read_word_into<&FloorException::floor, floor_words>},
    {"allow_bf16x9", read_boolean_into<&FloorException::allow_bf16x9>},
    {"user", read_names_into<&FloorException::user>},
    {"group", read_names_into<&FloorException::group>},
    {"command", read_globs_into<&FloorException::command>},
    {"job", read_names_into<&FloorException::job>},
    {"account", read_names_into<&FloorException::account>},
};

/// Appends the exceptions in the tables [[limits.except]]. An exception with an error is reported and still appended,
/// because the caller drops a file with errors as a whole.
void read_exceptions(const TomlEntry& entry, PolicyDraft& policy, ErrorCollector& report) {
    constexpr std::size_t most = 100;
    const auto* array = entry.value->as_array();
    if (array == nullptr || array->size() > most || !array->is_homogeneous(toml::node_type::table))
        return report_not_allowed(entry, "at most 100 tables that each begin with [[limits.except]]", report);
    for (const toml::node& item : *array) {
        FloorException& exception = policy.exceptions.emplace_back();
        exception.name = "exception " + std::to_string(policy.exceptions.size());
        exception.file = report.file();
        exception.line = position_of(item).line;
        read_entries(*item.as_table(), "limits.except", exception_keys, exception, report);
        const auto has = [&](std::string_view key) { return item.as_table()->contains(key); };
        if (!has("user") && !has("group") && !has("command") && !has("job") && !has("account"))
            report.add_error(position_of(item), "exception " + in_quotes(exception.name) +
                                                    " has no condition; add user, group, command, job or account");
    }
}

constexpr TableKey<PolicyDraft> limits_keys[] = {
    {"floor", read_word_into<&Policy::floor, floor_words>},
    {"allow_bf16x9", read_boolean_into<&PolicyDraft::file_allows_bf16x9>},
    {"except", read_exceptions},
};
constexpr TableKey<PolicyDraft> cpu_keys[] = {
    {"mode", read_word_into<&Policy::cpu_mode, cpu_mode_words>},
    {"tf32_rounding", read_word_into<&PolicyDraft::asked_tf32_rounding, tf32_rounding_words>},
    {"accumulation", read_word_into<&Policy::accumulation, accumulation_words>},
    {"stochastic_seed", read_whole_number_into<&Policy::stochastic_seed, 0>},
};
constexpr TableKey<PolicyDraft> cuda_keys[] = {
    {"min_compute_capability", read_min_compute_capability},
    {"pedantic", read_boolean_into<&Policy::pedantic>},
    {"accumulate", read_word_into<&Policy::accumulate, accumulate_words>},
    {"split_k", read_split_k_into<&Policy::algorithms>},
    {"reduction", read_reduction_into<&Policy::algorithms>},
    {"avoid_known_wrong",
     [](const TomlEntry& entry, PolicyDraft& policy, ErrorCollector& report) {
         assign_if_read(policy.algorithms.avoids_known_wrong, read_boolean(entry, report));
     }},
};
constexpr TableKey<PolicyDraft> log_keys[] = {
    {"path", read_log_path},
    {"level", read_word_into<&Policy::log_level, log_level_words>},
    {"max_size", read_log_max_size},
    {"on_full", read_word_into<&Policy::log_on_full, on_full_words>},
    {"mode", read_log_mode},
    {"group", read_string_into<&Policy::log_group>},
    {"where", read_log_where},
    {"onednn", read_boolean_into<&Policy::log_onednn>},
    {"kernels", read_boolean_into<&Policy::log_kernels>},
    {"vectors", read_boolean_into<&Policy::log_vectors>},
    {"gpu_times", read_whole_number_into<&Policy::log_gpu_times, 0, max_gpu_times>},
};
constexpr TableKey<PolicyDraft> audit_keys[] = {
    {"sample", read_audit_sample},
    {"seed", read_whole_number_into<&Policy::audit_seed, 0>},
    {"against", read_word_into<&Policy::audit_against, audit_against_words>},
    {"float64", read_word_into<&Policy::audit_float64, audit_float64_words>},
    {"metric", read_word_into<&Policy::audit_metric, metric_words>},
    {"tolerance", read_positive_into<&Policy::audit_tolerance>},
    {"action", read_word_into<&Policy::audit_action, audit_action_words>},
    {"fingerprint", read_boolean_into<&Policy::audit_fingerprint>},
    {"nonfinite", read_boolean_into<&Policy::audit_nonfinite>},
};
constexpr TableKey<PolicyDraft> root_keys[] = {
    {"schema",
     [](const TomlEntry&, PolicyDraft&, ErrorCollector&) { /* is_for_this_version() has judged this key */ }},
    {"requires",
     [](const TomlEntry&, PolicyDraft&, ErrorCollector&) { /* is_for_this_version() has judged this key */ }},
    {"name", read_string_into<&Policy::name>},
    {"revision", read_string_into<&Policy::revision>},
    {"default", read_default},
    {"limits", read_table_into<limits_keys>},
    {"cpu", read_table_into<cpu_keys>},
    {"cuda", read_table_into<cuda_keys>},
    {"log", read_table_into<log_keys>},
    {"audit", read_table_into<audit_keys>},
    {"rule", [](const TomlEntry& entry, PolicyDraft& draft,
                ErrorCollector& report) { read_rules(entry, draft.rules, report); }},
};

/// Returns false if the file needs another version of fp32shim or has another schema. The caller then reads no other
/// key, because newer keys would look like unknown keys.
bool is_for_this_version(const toml::table& root, ErrorCollector& report) {
    if (const toml::node* node = root.get("requires")) {
        const auto* constraint = value_as<std::string>(*node);
        const auto satisfied = constraint ? version_satisfies(version, *constraint) : std::nullopt;
        if (!satisfied) {
            report_not_allowed({"requires", {}, node}, "a string such as \">=0.1\", \">=0.1 <2\"", report);
        } else if (!*satisfied) {
            report.add_error(position_of(*node), "the policy needs fp32shim " + printable(*constraint) +
                                                     ", but this is " + std::string(version));
            return false;
        }
    }
    const toml::node* schema = root.get("schema");
    if (!schema) {
        report.add_error({}, "schema is missing; write schema = 1");
        return true;
    }
    const auto* number = value_as<std::int64_t>(*schema);
    if (number && *number == 1) return true;
    report_not_allowed({"schema", {}, schema}, "1, the only one that fp32shim " + std::string(version) + " reads",
                       report);
    return false;
}

/// Replaces the floor of a policy file by the floor of the file's first exception that holds.
void apply_exceptions(PolicyDraft& file) {
    for (FloorException& exception : file.exceptions) exception.file_floor = file.floor;
    FloorException* const holds =
        file.judge == nullptr ? nullptr : file.judge->find_applicable_exception(file.exceptions);
    if (holds == nullptr) return;
    holds->holds = true;
    const bool allows_more = holds->allow_bf16x9.value_or(false) && !file.file_allows_bf16x9.value_or(false);
    // An exception that allows no more than the file has no effect here; `fp32shim check` reports it.
    if (holds->floor >= file.floor && !allows_more) return;
    file.floor = std::min(file.floor, holds->floor);
    if (allows_more) file.file_allows_bf16x9 = true;
    (file.floor_exception += file.floor_exception.empty() ? "" : ", ") += holds->name;
}

}  // namespace

void read_policy_text(std::string_view text, ErrorCollector& report, PolicyDraft& policy) {
    const std::size_t errors_before = report.error_count();
    const auto is_whole = [&] { return report.error_count() == errors_before; };
    if (text.size() > largest_policy) {
        report.add_error({}, "found more than 1 MiB; a policy may not be larger");
        return;
    }
    const std::optional<toml::table> root = parse_toml(text, report);
    if (!root || !is_for_this_version(*root, report)) return;

    PolicyDraft changed = policy;
    changed.name = changed.revision = {};
    changed.file = report.file();
    changed.sha256 = sha256(text);
    changed.floor = Floor::none;
    changed.file_allows_bf16x9.reset();
    changed.rules.clear();
    changed.exceptions.clear();
    read_entries(*root, "", root_keys, changed, report);
    if (!is_whole()) return;
    apply_exceptions(changed);
    const std::optional<bool> says = changed.file_allows_bf16x9;
    if (says) changed.allow_bf16x9 = policy.may_allow_bf16x9 && *says;
    if (says || changed.floor >= Floor::bf16x9) changed.may_allow_bf16x9 = says.value_or(false);
    changed.floor = std::max(changed.floor, policy.floor);
    changed.rules.insert(changed.rules.end(), policy.rules.begin(), policy.rules.end());
    changed.exceptions.insert(changed.exceptions.end(), policy.exceptions.begin(), policy.exceptions.end());
    policy = std::move(changed);
}

}  // namespace fp32shim::policy
