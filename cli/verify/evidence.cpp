// Makes the evidence in the output of `fp32shim verify`: facts that identify a recording and its process, and fields
// of a row that contradict each other, since somebody may have edited the recording.
#include <fmt/format.h>

#include <algorithm>

#include "cli/binaries/file_identity.hpp"
#include "cli/output/json.hpp"
#include "cli/output/moment.hpp"
#include "policy/words.hpp"

namespace fp32shim::cli {
namespace {

std::string hex(const std::vector<std::uint8_t>& bytes) { return fmt::format("{:02x}", fmt::join(bytes, "")); }

/// Returns the format of a call that ran at the precision `requested`; empty if the program's own settings determine
/// the format.
std::string_view format_of(const std::string& requested) {
    const auto precision = policy::parse_precision(requested);
    const auto format = precision ? policy::format_of(*precision) : std::nullopt;
    return format ? policy::to_string(*format) : std::string_view();
}

/// Returns true if the shim can round operands of this row's type to `format`.
bool is_rounded_to(policy::AppliedFormat format, const MergedRow& row) {
    return row.is_float64() ? policy::has_float64_preview(format) : policy::has_preview(format);
}

}  // namespace

JudgedCallCounts count_judged_calls(
    const record::RecordingReader& recording, const std::function<bool(const record::RecordedRow*)>& is_below,
    const std::function<std::optional<std::size_t>(const record::RecordedRow*)>& index_of) {
    JudgedCallCounts judged;
    for (const auto& [row, counters] : recording.counters()) {
        if (counters.calls == 0) continue;
        judged.first_ns = judged.first_ns == 0 ? counters.first_ns : std::min(judged.first_ns, counters.first_ns);
        judged.last_ns = std::max(judged.last_ns, counters.last_ns);
        if (!is_below(recording.row(row))) continue;
        judged.below += counters.calls;
        if (const auto index = index_of(recording.row(row))) judged.below_by_row[*index] += counters.calls;
    }
    return judged;
}

Json process_identity_json(const MergedProcess& process) {
    const record::ProcessFacts& who = process.facts.process;
    return {{"recording", process.path},
            {"program", text_or_null(who.executable)},
            {"command", text_or_null(who.command)},
            {"host", text_or_null(who.host)},
            {"pid", who.pid == 0 ? Json() : Json(who.pid)},
            {"job_id", text_or_null(who.job_id)},
            {"rank", who.rank < 0 ? Json() : Json(who.rank)}};
}

Json process_evidence_json(const MergedProcess& process, const JudgedCallCounts& calls) {
    Json json = process_identity_json(process);
    json.update({{"sha256", text_or_null(sha256_of_file(process.path))},
                 {"fp32shim", text_or_null(process.facts.start.version)},
                 {"began", FieldValue::time_or_null(process.facts.opened_ns).to_json()},
                 {"first_call", FieldValue::time_or_null(calls.first_ns).to_json()},
                 {"last_call", FieldValue::time_or_null(calls.last_ns).to_json()},
                 {"calls", process.calls},
                 {"calls_below", calls.below},
                 {"files", Json::array()}});
    const auto add = [&](const record::RecordedObjectList& objects) {
        for (const record::RecordedObject& object : objects.all)
            json["files"].push_back(
                {{"path", normalized_path(object.path)}, {"build_id", text_or_null(hex(object.build_id))}});
    };
    add(process.objects);
    for (const record::UnrecordedProcess& mark : process.marks) add(mark.objects);
    return json;
}

std::string describe_contradiction(const MergedRow& row) {
    if (row.how.empty() || row.reason.empty() || row.requested.empty() || row.applied.empty())
        return "it has a code that this version does not know";
    const bool is_on_cpu = row.device == "cpu";
    const auto applied = policy::parse_word(policy::applied_words, std::string_view(row.applied));
    if (row.how == "round_operands" && applied && !is_rounded_to(*applied, row))
        return fmt::format("its operands were rounded (how {}), but applied is {}", row.how, row.applied);
    if (is_on_cpu ? row.how == "compute_type" || row.how == "math_mode" || row.how == "algorithm"
                  : row.how == "round_operands" || row.how == "one_by_one" || row.how == "fixed_order" ||
                        row.how == "bf16_units")
        return fmt::format("how {} is not done on {}", row.how, row.device);
    if (!is_on_cpu && policy::is_cpu_only_reason(row.reason))
        return fmt::format("reason {} is not given on {}", row.reason, row.device);
    const bool is_governed = row.is_float32() || row.is_float64();
    if (!is_governed && row.applied != "unchanged")
        return fmt::format("applied is {}, but products of {} are only counted", row.applied, row.dtype);
    const bool is_fp64 = row.applied == "fp64" || row.applied == "fp64_emulated";
    if (row.is_float32() && is_fp64)
        return fmt::format("applied is {}, but products of {} are not of float64", row.applied, row.dtype);
    if (is_governed && row.reason == "observed") return fmt::format("reason observed is not given for {}", row.dtype);
    const bool has_sizes = row.m > 0 && row.n > 0 && row.k > 0 && row.batch > 0;
    if (row.reason == "no_product" && row.applied == "unchanged" && has_sizes)
        return "its reason is no_product, but it has sizes";
    if (row.reason != "as_requested") return {};
    const std::string_view expected = format_of(row.requested);
    if (is_governed && !expected.empty() && row.applied != expected)
        return fmt::format("its reason is as_requested, but requested was {} and applied is {}", row.requested,
                           row.applied);
    return {};
}

}  // namespace fp32shim::cli
