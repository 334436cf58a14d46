#include "cli/recordings/process_columns.hpp"

#include "policy/words.hpp"

namespace fp32shim::cli {
namespace {

const record::ProcessFacts& facts_of(const MergedProcess& process) { return process.facts.process; }
const record::StartEvent& start_of(const MergedProcess& process) { return process.facts.start; }

/// Returns the word of an enumeration's value; null for a value of a newer version.
FieldValue word(auto value) { return FieldValue::text_or_null(policy::to_string(value)); }

constexpr ProcessColumn columns_of_processes[] = {
    {"recording", [](const MergedProcess& process) { return FieldValue(std::string_view(process.path)); }},
    {"host", [](const MergedProcess& process) { return FieldValue::text_or_null(facts_of(process).host); }},
    {"job_id", [](const MergedProcess& process) { return FieldValue::text_or_null(facts_of(process).job_id); }},
    {"rank", [](const MergedProcess& process) { return FieldValue::size_or_null(facts_of(process).rank); }},
    {"pid", [](const MergedProcess& process) { return FieldValue(std::int64_t{facts_of(process).pid}); }},
    {"executable",
     [](const MergedProcess& process) { return FieldValue::text_or_null(facts_of(process).executable); }},
    {"version", [](const MergedProcess& process) { return FieldValue::text_or_null(start_of(process).version); }},
    {"policy_name",
     [](const MergedProcess& process) { return FieldValue::text_or_null(start_of(process).policy_name); }},
    {"policy_revision",
     [](const MergedProcess& process) { return FieldValue::text_or_null(start_of(process).policy_revision); }},
    {"policy_sha256",
     [](const MergedProcess& process) { return FieldValue::text_or_null(start_of(process).policy_sha256); }},
    {"default_precision", [](const MergedProcess& process) { return word(start_of(process).default_precision); }},
    {"floor", [](const MergedProcess& process) { return word(start_of(process).floor); }},
    {"cpu_mode", [](const MergedProcess& process) { return word(start_of(process).cpu_mode); }},
};

constexpr ProcessColumn further_columns[] = {
    {"state", [](const MergedProcess& process) { return FieldValue(record::to_string(process.state)); }},
    {"forked_from",
     [](const MergedProcess& process) {
         const std::int64_t pid = facts_of(process).forked_from;
         return pid == 0 ? FieldValue() : FieldValue(pid);
     }},
    {"command", [](const MergedProcess& process) { return FieldValue::text_or_null(facts_of(process).command); }},
    {"opened", [](const MergedProcess& process) { return FieldValue(FieldValue::Time{process.facts.opened_ns}); }},
    {"log_level", [](const MergedProcess& process) { return word(start_of(process).log_level); }},
    {"uncounted_calls", [](const MergedProcess& process) { return FieldValue(process.uncounted_calls); }},
    {"dropped_events", [](const MergedProcess& process) { return FieldValue(process.dropped_events); }},
    {"overwritten_events", [](const MergedProcess& process) { return FieldValue(process.overwritten_events); }},
    {"lost_changes", [](const MergedProcess& process) { return FieldValue(process.lost_changes); }},
};

}  // namespace

std::span<const ProcessColumn> process_columns() { return columns_of_processes; }
std::span<const ProcessColumn> further_process_columns() { return further_columns; }

}  // namespace fp32shim::cli
