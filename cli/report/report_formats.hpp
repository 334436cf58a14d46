// The formats of `fp32shim report`: a table with a row for each, and the functions that write them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "cli/recordings/call_paths.hpp"
#include "cli/recordings/duration_histogram.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/recordings/row_groups.hpp"
#include "cli/report/timeline.hpp"

namespace fp32shim::cli {

class ReportOutput;

/// The merged recordings of which a report is made. Members that the format of the report does not need are empty.
struct ReportContents {
    MergedCalls calls;
    CallPathTree paths;
    RowGroupTable groups;  ///< empty unless rows are grouped by keys of processes
    DurationHistogram durations{};
    Timeline timeline{};
    std::map<std::string, CallSum> metrics{};  ///< calls by their labels in Prometheus's format
    std::vector<ReadingProblem> problems{};

    /// Returns the groups that the user asked for; nullopt if the user asked for none.
    std::optional<std::vector<RowGroup>> groups_by(const Grouping& grouping, RowOrder order) const;
};

/// The options of the user that affect the contents of a report.
struct ReportView {
    RowOrder order = RowOrder::time;
    Grouping grouping;
    std::size_t top = 0;       ///< maximum number of rows in a list of a table; 0: no limit
    int stream = -1;           ///< destination: 1 for stdout, 2 for stderr, -1 for a file
    bool is_filtered = false;  ///< a filter left out calls
    bool is_since = false;     ///< --since left out the calls that an earlier copy of a recording has
};

/// A function that writes a report in one format.
using WriteReport = void(const ReportContents& contents, const ReportView& view, ReportOutput& output);

/// These functions write the report as tables for people, as JSON (docs/schema.md), and as CSV (RFC 4180) with a line
/// for each distinct decision of the shim about calls. If the user requested groups, the groups replace the
/// decisions.
WriteReport write_table, write_json, write_csv;
/// Writes an HTML page in UTF-8: some 250 KiB, and 150 bytes for each listed decision. The page loads no other files.
WriteReport write_html;
/// Writes Prometheus's text format, with the calls that add_prometheus_metrics() added.
WriteReport write_prometheus;
/// These functions write call paths, as folded lines and in speedscope's file format
/// (https://www.speedscope.app/file-format-schema.json). A folded line is `outermost;…;cblas_sgemm [tf32] 1234`,
/// which flamegraph.pl reads. The number in it is nanoseconds, calls or floating-point operations, as `view.order`
/// says. Speedscope's file has a profile for each of these quantities. The profile of the quantity `view.order` is
/// shown first.
WriteReport write_folded, write_speedscope;
/// Writes SARIF 2.1.0 (OASIS). It has a result for each line of the program whose calls ran below FP32, or were
/// allowed to, and for each of the formats of these calls. For calls without a source line, a result has their place
/// in compiled code. Calls of unknown format have no result.
WriteReport write_sarif;
/// These functions write a line for each kind of product, such as gemms of one size and type: a batch file of
/// oneDNN's benchdnn (`benchdnn --matmul --mode=P --batch=FILE`), a shell script that runs rocblas-bench, and CSV.
/// Comments name products that a benchmark program cannot express.
WriteReport write_benchdnn, write_rocblas_bench, write_shapes;

/// A format of `fp32shim report`, with the data that it needs and the function that writes it.
struct ReportFormat {
    std::string_view name;
    std::string_view extension{};  ///< end of an output's name that chooses the format; empty if there is none

    // The next members say which members of ReportContents the format needs besides merged calls.
    bool needs_paths = false;
    bool needs_single_calls = false;  ///< for the medians that the format shows
    bool needs_timeline = false;      ///< requires needs_single_calls
    bool needs_metrics = false;

    // The next members say how the format can be used.
    /// Relative clause for messages that says why the format has no groups; empty if it has groups.
    std::string_view why_no_groups{};
    bool knows_processes = true;   ///< the format can group calls by facts of processes, such as the host
    bool allows_empty = false;     ///< the report is written even if no recording exists or can be read
    WriteReport* write = nullptr;  ///< null for JSON lines, which write_json_lines() writes while it reads
};

/// Returns all formats. The first is the default.
std::span<const ReportFormat> report_formats();

class CallFilter;

/// The result of write_json_lines(): counts and problems of the recordings that it has read.
struct JsonLinesResult {
    std::vector<ReadingProblem> problems;
    std::size_t recordings = 0;                  ///< number of recordings that could be read
    std::uint64_t calls_with_rounded_sizes = 0;  ///< number of calls with rounded sizes that passed the filter
    std::string rest;                            ///< end of the text, which the caller must write
};
/// Writes a line of JSON for each row of each recording, and a line for the recording itself, for database engines.
/// Recordings are not merged, so memory depends on the largest one and not on their number. With a filter, a
/// recording gets no line if none of its calls pass. `prepare` gets each recording before it is read.
JsonLinesResult write_json_lines(const std::vector<std::string>& paths, const CallFilter& filter,
                                 const std::function<void(record::RecordingReader&)>& prepare, ReportOutput& output);

/// Adds the calls of a recording that pass the filter to `metrics`, by host, job, executable, policy, function,
/// device, dtype, requested, applied and reason.
void add_prometheus_metrics(record::RecordingReader& recording, const CallFilter& filter,
                            std::map<std::string, CallSum>& metrics);

// --- Parts that several formats have in common

/// Returns the JSON of a report with the members that precede its groups or decisions.
Json report_head_json(const MergedCalls& calls);

/// Returns lines of a report about the time that faster products could gain.
std::string possible_gain_text(const MergedCalls& calls);
/// Returns the time that faster products could gain, as the member `worth` of a report's JSON.
Json possible_gain_json(const MergedCalls& calls);

/// The calls of one call path that ran at one format.
struct PathShare : CallSum {
    std::uint32_t node = 0;  ///< innermost level: index in CallPathTree::nodes()
    SharedText format;       ///< format at which the calls ran; `unknown` for calls without a decision
    std::int32_t row = -1;   ///< index in a page's list of decisions; -1: not listed
};

/// Returns the calls by path and format, sorted by node. `listed` has the index of each row in a page's list of
/// decisions, or -1. Calls of a listed row are not added to those of other rows. An empty `listed` lists no row.
std::vector<PathShare> path_shares(const CallPathTree& paths, const MergedCalls& calls,
                                   const std::vector<std::int32_t>& listed = {});

}  // namespace fp32shim::cli
