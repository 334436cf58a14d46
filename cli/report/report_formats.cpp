#include "cli/report/report_formats.hpp"

namespace fp32shim::cli {
namespace {

constexpr std::string_view fixed_labels = "whose labels are fixed", has_paths = "which has call paths",
                           line_of_row = "which has a line for each row of each recording",
                           line_of_kind = "which has a line for each kind of product",
                           result_of_line = "which has a result for each line of the program";

constexpr ReportFormat formats[] = {
    {.name = "table", .extension = ".txt", .needs_single_calls = true, .write = write_table},
    {.name = "json", .extension = ".json", .needs_paths = true, .needs_single_calls = true, .write = write_json},
    {.name = "jsonl", .extension = ".jsonl", .why_no_groups = line_of_row},
    {.name = "csv", .extension = ".csv", .needs_single_calls = true, .write = write_csv},
    {.name = "prometheus",
     .extension = ".prom",
     .needs_metrics = true,
     .why_no_groups = fixed_labels,
     .allows_empty = true,
     .write = write_prometheus},
    {.name = "html",
     .extension = ".html",
     .needs_paths = true,
     .needs_single_calls = true,
     .needs_timeline = true,
     .knows_processes = false,
     .write = write_html},
    {.name = "folded",
     .extension = ".folded",
     .needs_paths = true,
     .why_no_groups = has_paths,
     .write = write_folded},
    {.name = "speedscope",
     .extension = ".speedscope.json",
     .needs_paths = true,
     .why_no_groups = has_paths,
     .write = write_speedscope},
    {.name = "sarif",
     .extension = ".sarif",
     .needs_paths = true,
     .why_no_groups = result_of_line,
     .write = write_sarif},
    {.name = "benchdnn", .why_no_groups = line_of_kind, .write = write_benchdnn},
    {.name = "rocblas-bench", .extension = ".sh", .why_no_groups = line_of_kind, .write = write_rocblas_bench},
    {.name = "shapes", .why_no_groups = line_of_kind, .write = write_shapes},
};

}  // namespace

std::optional<std::vector<RowGroup>> ReportContents::groups_by(const Grouping& grouping, RowOrder order) const {
    if (grouping.is_empty()) return std::nullopt;
    if (grouping.has_process_keys()) return groups.sorted(order);
    return grouped(calls, durations, paths, grouping, order);
}

std::span<const ReportFormat> report_formats() { return formats; }

}  // namespace fp32shim::cli
