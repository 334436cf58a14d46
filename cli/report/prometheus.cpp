// Writes the calls of recordings in Prometheus's text format, for `fp32shim report`.
#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "cli/recordings/filter.hpp"
#include "cli/recordings/settings_in_force.hpp"
#include "cli/report/output_file.hpp"
#include "cli/report/report_formats.hpp"
#include "system/inline_text.hpp"
#include "system/plain_text.hpp"

namespace fp32shim::cli {
namespace {

/// Returns a label with its value in Prometheus's text format.
std::string label(std::string_view name, std::string_view value) {
    std::string text = fmt::format("{}=\"", name);
    for (const char c : system::plain_text(system::with_valid_utf8(value), "\n")) {
        if (c == '\\' || c == '"') text += '\\';
        if (c == '\n')
            text += "\\n";
        else
            text += c;
    }
    return text + '"';
}

std::string metric(std::string_view name, std::string_view type, std::string_view help) {
    return fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

/// Returns the value of the label `policy`: the policy's name, or the first digits of its SHA-256 if it has no name;
/// empty without a policy; `unknown` if the policy is not known.
std::string policy_label(const SettingsInForce& settings) {
    constexpr std::size_t shown_digits = 12;
    if (!settings.policy_name) return "unknown";
    if (!settings.policy_name->empty() || settings.policy_sha256.empty()) return *settings.policy_name;
    return "sha256:" + settings.policy_sha256.substr(0, shown_digits);
}

/// Returns the labels shared by all calls of a recording.
std::string labels_of(const record::RecordingReader& recording) {
    const record::ProcessFacts& facts = recording.facts().process;
    const SettingsInForce settings = settings_in_force(recording);
    return fmt::format("{},{},{},{},{}", label("host", facts.host), label("job_id", facts.job_id),
                       label("executable", system::base_name(facts.executable)),
                       label("policy", policy_label(settings)), label("policy_revision", settings.policy_revision));
}

/// Returns the labels of a decision. `row` is null for calls of which only number and time are known.
std::string labels_of(const record::RecordedRow* row) {
    const MergedRow merged = row == nullptr ? MergedRow() : to_merged_row(*row);
    const bool is_known = row != nullptr && !row->is_overflow;
    return fmt::format("{},{},{},{},{},{}", label("function", merged.function), label("device", merged.device),
                       label("dtype", merged.dtype), label("requested", merged.requested),
                       label("applied", is_known ? std::string_view(merged.effective_format()) : "unknown"),
                       label("reason", merged.reason));
}

}  // namespace

void add_prometheus_metrics(record::RecordingReader& recording, const CallFilter& filter,
                            std::map<std::string, CallSum>& metrics) {
    const std::string process = labels_of(recording);
    RowFilter rows(filter, recording);
    for (const auto& [id, counters] : recording.counters()) {
        const record::RecordedRow* row = recording.row(id);
        if (!filter.is_empty() && (row == nullptr || !rows.passes(*row))) continue;
        metrics[fmt::format("{{{},{}}}", process, labels_of(row))].add(counters);
    }
}

void write_prometheus(const ReportContents& contents, const ReportView&, ReportOutput& output) {
    const MergedCalls& calls = contents.calls;
    std::string text;
    const auto each = [&](std::string_view name, std::string_view help, const auto& value_of) {
        text += metric(name, "counter", help);
        for (const auto& [labels, share] : contents.metrics)
            text += fmt::format("{}{} {}\n", name, labels, value_of(share));
    };
    each("fp32shim_calls_total", "Matrix products, by what was asked for and applied.",
         [](const CallSum& share) { return share.calls; });
    each("fp32shim_timed_calls_total", "Those calls whose time was measured.",
         [](const CallSum& share) { return share.timed_calls; });
    each("fp32shim_host_seconds_total",
         "Time in those calls on the host; of products on CUDA, of their launch. An estimate if fewer calls were "
         "timed than made.",
         [](const CallSum& share) { return fmt::format("{:.9f}", static_cast<double>(share.host_ns) / 1e9); });
    const auto single = [&text](std::string_view name, std::string_view type, std::string_view help,
                                std::uint64_t value) {
        text += metric(name, type, help) + fmt::format("{} {}\n", name, value);
    };
    single("fp32shim_recordings", "gauge", "Recordings that were read.", calls.recording_count());
    single("fp32shim_unreadable_recordings", "gauge", "Recordings that could not be read, or only in part.",
           count_recordings_with_problems(contents.problems));
    single("fp32shim_uncounted_calls_total", "counter",
           "Calls that are in no series of fp32shim_calls_total, because their recording was full.",
           calls.uncounted_calls());
    single("fp32shim_dropped_events_total", "counter", "Events that found no room in a recording.",
           calls.dropped_events());
    single("fp32shim_overwritten_events_total", "counter", "Events that were overwritten by later ones.",
           calls.overwritten_events());
    output.write(text);
}

}  // namespace fp32shim::cli
