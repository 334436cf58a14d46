// The formats of `fp32shim report`: a table with a row for each.
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

class Comparison;
class ReportOutput;

/// Merged recordings. What the format does not need is empty.
struct ReportContents {
    MergedCalls calls;
    CallPaths paths;
    ProcessGroups groups;  ///< empty if no key of processes tells groups apart
    CallDurations durations{};
    Timeline timeline{};
    PrometheusMetrics metrics{};
    std::vector<ReadingProblem> problems{};
};

/// Choices of the user about a report.
struct ReportView {
    RowOrder order = RowOrder::time;
    Grouping grouping;
    std::size_t top = 0;       ///< longest list of a table, in rows; 0: all
    int stream = -1;           ///< destination, 1 or 2; -1: a file
    bool is_filtered = false;  ///< a filter left calls out
};

struct ReportFormat {
    std::string_view name;
    std::string_view extension{};  ///< usual end of its files' names; empty: it has none

    // What it needs of ReportContents, besides merged calls.
    bool needs_paths = false;
    bool needs_single_calls = false;  ///< for medians
    bool needs_timeline = false;      ///< only with single calls
    bool needs_metrics = false;

    // What it allows.
    std::string_view why_no_groups{};  ///< reason why it has no groups, as a relative clause; empty: it has
    bool knows_processes = true;       ///< groups may differ by keys of processes
    bool allows_empty = false;         ///< is written also if there is no recording, or none can be read
    bool is_written_as_read = false;   ///< each recording is written as it is read (json_lines.hpp)
    /// Writes a report; null if is_written_as_read.
    void (*write)(const ReportContents& contents, const ReportView& view, ReportOutput& output) = nullptr;
    /// Writes a comparison; null: there is no place for a second recording.
    void (*write_comparison)(const Comparison& comparison, const std::vector<ReadingProblem>& problems,
                             const ReportView& view, ReportOutput& output) = nullptr;
};

/// Returns all formats. The first is the default.
std::span<const ReportFormat> report_formats();

}  // namespace fp32shim::cli
