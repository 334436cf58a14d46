#include "cli/recordings/csv_and_json_columns.hpp"

#include <algorithm>

#include "policy/words.hpp"

namespace fp32shim::cli {
namespace {

// Each function below makes the value of a column from one kind of field in record/decision_fields.def. A negative
// size becomes null, because the size is unknown or the library refused the argument.
FieldValue string(SharedText text, int = 0) { return FieldValue::text_or_null(text); }
FieldValue code(SharedText text) { return FieldValue::text_or_null(text); }
FieldValue letter(const char& c) { return c == 0 ? FieldValue() : FieldValue(std::string_view(&c, 1)); }
FieldValue compute_capability(std::int32_t value) {
    return value <= 0 ? FieldValue() : FieldValue(FieldValue::ComputeCapability{value});
}
FieldValue size(std::int64_t value) { return FieldValue::size_or_null(value); }
FieldValue positive(std::int64_t value) { return value == 0 ? FieldValue() : FieldValue(value); }
FieldValue integer(std::optional<std::int64_t> value) { return value ? FieldValue(*value) : FieldValue(); }

constexpr RowColumn decisions[] = {
#define DECISION_FIELD(key, member, kind, ...) \
    {#key, [](const MergedRow& row) { return row.is_overflow ? FieldValue() : kind(row.key); }},
#define CALL_FIELD(...)
#include "record/decision_fields.def"
};

constexpr RowColumn counts[] = {
    {"sizes_folded", [](const MergedRow& row) { return FieldValue(row.is_folded); }},
    {"flops", [](const MergedRow& row) { return row.flops < 0 ? FieldValue() : FieldValue(row.flops); }},
    {"processes", [](const MergedRow& row) { return FieldValue(row.processes); }},
};

const record::ProcessFacts& facts_of(const MergedProcess& process) { return process.facts.process; }
const record::StartEvent& start_of(const MergedProcess& process) { return process.facts.start; }

/// Returns the word for a value of an enumeration; null if a newer version wrote a value that this one does not know.
FieldValue word(auto value) { return FieldValue::text_or_null(policy::to_string(value)); }

constexpr ProcessColumn of_processes[] = {
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

constexpr ProcessColumn further_of_processes[] = {
    {"state", [](const MergedProcess& process) { return FieldValue(record::to_string(process.state)); }},
    {"forked_from",
     [](const MergedProcess& process) {
         const std::int64_t pid = facts_of(process).forked_from;
         return pid == 0 ? FieldValue() : FieldValue(pid);
     }},
    {"command", [](const MergedProcess& process) { return FieldValue::text_or_null(facts_of(process).command); }},
    {"opened", [](const MergedProcess& process) { return FieldValue(FieldValue::Time{process.facts.opened_ns}); }},
    {"floor_exception",
     [](const MergedProcess& process) { return FieldValue::text_or_null(start_of(process).floor_exception); }},
    {"user", [](const MergedProcess& process) { return FieldValue::size_or_null(process.facts.user); }},
    {"log_level", [](const MergedProcess& process) { return word(start_of(process).log_level); }},
    {"uncounted_calls", [](const MergedProcess& process) { return FieldValue(process.uncounted_calls); }},
    {"dropped_events", [](const MergedProcess& process) { return FieldValue(process.dropped_events); }},
    {"overwritten_events", [](const MergedProcess& process) { return FieldValue(process.overwritten_events); }},
    {"lost_changes", [](const MergedProcess& process) { return FieldValue(process.lost_changes); }},
};

}  // namespace

std::span<const RowColumn> decision_columns() { return decisions; }
std::vector<RowColumn> row_columns_named(std::initializer_list<std::string_view> names) {
    std::vector<RowColumn> chosen;
    for (const std::string_view name : names)
        chosen.push_back(*std::ranges::find(row_columns(), name, &RowColumn::name));
    return chosen;
}
std::span<const RowColumn> row_columns() {
    // The columns are made on first use, because other files join them to their own before main() begins.
    static const auto of_rows = concatenated_columns<MergedRow>({decisions, counts, counter_columns<MergedRow>});
    return of_rows;
}
std::span<const ProcessColumn> process_columns() { return of_processes; }
std::span<const ProcessColumn> further_process_columns() { return further_of_processes; }

}  // namespace fp32shim::cli
