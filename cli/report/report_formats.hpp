// The table of formats of `fp32shim report`, with a row for each.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "cli/recordings/call_durations.hpp"
#include "cli/recordings/call_paths.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/recordings/row_groups.hpp"
#include "cli/report/prometheus.hpp"
#include "cli/report/timeline.hpp"

namespace fp32shim::cli {

class ReportOutput;

/// Merged recordings. Members that the format does not need are empty.
struct ReportContents {
    MergedCalls calls;
    CallPaths paths;
    ProcessGroups groups;  ///< empty unless rows are grouped by keys of processes
    CallDurations durations{};
    Timeline timeline{};
    PrometheusMetrics metrics{};
    std::vector<ReadingProblem> problems{};
};

/// Options of the user that affect the contents of a report.
struct ReportView {
    RowOrder order = RowOrder::time;
    Grouping grouping;
    std::size_t top = 0;       ///< number of rows of the longest list in a table; 0: no limit
    int stream = -1;           ///< 1: stdout; 2: stderr; -1: a file
    bool is_filtered = false;  ///< a filter left calls out
    bool is_since = false;     ///< an earlier copy left calls out
};

struct ReportFormat {
    std::string_view name;
    std::string_view extension{};  ///< end of an output's name that chooses the format; empty if there is none

    // Members of ReportContents that the format needs, besides merged calls.
    bool needs_paths = false;
    bool needs_single_calls = false;  ///< needed for medians
    bool needs_timeline = false;      ///< requires needs_single_calls
    bool needs_metrics = false;

    // Uses that the format allows.
    std::string_view why_no_groups{};  ///< relative clause for messages that says why the format has no groups; empty
                                       ///< if it has groups
    bool knows_processes = true;       ///< groups may use keys of processes
    bool allows_empty = false;         ///< is written even if no recording exists or can be read
    bool is_written_as_read = false;   ///< recordings are written one by one while they are read (json_lines.hpp)
    /// Writes a report; null if is_written_as_read is true.
    void (*write)(const ReportContents& contents, const ReportView& view, ReportOutput& output) = nullptr;
};

/// Returns all formats. The first is the default.
std::span<const ReportFormat> report_formats();

}  // namespace fp32shim::cli
