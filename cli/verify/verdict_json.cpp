#include <fmt/format.h>

#include "cli/recordings/csv_and_json_columns.hpp"
#include "cli/verify/verdict.hpp"
#include "record/pinned_variables.hpp"

namespace fp32shim::cli {
namespace {

Json to_json(const PossibleBypass& bypass) {
    return {{"bypass", bypass.name},
            {"reason", bypass.reason},
            {"remedy", text_or_null(bypass.remedy)},
            {"pinned_by", record::pinned_entries(bypass.pins)},
            {"files", bypass.files},
            {"recordings", bypass.recordings}};
}

/// Returns an array with an entry for each bypass.
Json to_json(const std::vector<PossibleBypass>& bypasses) {
    return json_list(bypasses, [](const PossibleBypass& bypass) { return to_json(bypass); });
}

/// Returns an array with an entry for each recording that has violating calls of a row. `row` is the index of the row
/// in MergedCalls::rows().
Json recordings_of_violation(std::size_t row, const MergedCalls& calls, const std::vector<JudgedCallCounts>& judged) {
    Json makers = Json::array();
    for (std::size_t i = 0; i < judged.size(); ++i) {
        const auto found = judged[i].below_by_row.find(row);
        if (found == judged[i].below_by_row.end()) continue;
        Json maker = process_identity_json(calls.processes()[i]);
        maker["calls"] = found->second;
        makers.push_back(std::move(maker));
    }
    return makers;
}

}  // namespace

Json to_json(const ExpectedJobList& expected) {
    return {{"file", text_or_null(expected.file)},
            {"jobs", expected.jobs.size()},
            {"missing", expected.missing},
            {"unexpected", expected.unexpected}};
}

Json to_json(const VerifyResult& verified, const MergedCalls& calls, const VerifyOptions& options,
             const std::vector<JudgedCallCounts>& judged) {
    Json json = {
        {"schema", 1},
        {"verdict", verified.verdict().word},
        {"summary", fmt::format("{}: {}.", verified.verdict().title, verdict_summary(verified, calls, options))},
        {"at_least", text_or_null(options.at_least)},
        {"reproducible", options.reproducible},
        {"accumulate", text_or_null(options.accumulate)},
        {"allow_bf16x9", options.allow_bf16x9},
        {"recordings", calls.recording_count()},
        {"calls", calls.total().calls},
        {"calls_shown", verified.shown_calls},
        {"float64_calls", calls.float64_calls()},
        {"emulated_calls", verified.emulated.known},
        {"emulated_calls_of_53_bits", verified.emulated.of_float64},
        {"emulated_calls_of_unknown_bits", verified.emulated.unknown},
        {"vector_calls", calls.vector_products().calls},
        {"onednn_calls", calls.onednn_calls()},
        {"xla_products", calls.xla_products()},
        {"kernel_launches", calls.kernel_launches()},
        {"kernels", to_json(verified.kernels)},
        {"allowed_kernels", verified.allowed_kernels},
        {"allowed_launches", verified.allowed_launches},
        {"lost_changes", calls.lost_changes()},
        {"processes", Json::array()},
        {"violations", Json::array()},
        {"doubts", Json::array()},
        {"rules", rules_json(verified.rules)},
        {"expected", to_json(verified.expected)},
        {"scope", verdict_scope_text(options, calls)}};
    for (std::size_t i = 0; i < verified.bypasses.size(); ++i)
        json[std::string(bypass_lists[i].key)] = to_json(verified.bypasses[i]);
    for (std::size_t i = 0; i < calls.processes().size(); ++i)
        json["processes"].push_back(process_evidence_json(calls.processes()[i], judged[i]));
    for (const MergedRow* row : verified.violations) {
        Json violation = json_object_of_row(row_columns(), *row);
        violation["made_by"] =
            recordings_of_violation(static_cast<std::size_t>(row - calls.rows().data()), calls, judged);
        json["violations"].push_back(std::move(violation));
    }
    for (const Doubt& doubt : verified.doubts)
        json["doubts"].push_back({{"recording", text_or_null(doubt.where)}, {"reason", doubt.reason}});
    return json;
}

}  // namespace fp32shim::cli
