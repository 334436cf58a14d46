#include "cli/report/report_formats.hpp"

#include <optional>

#include "cli/recordings/product_kinds.hpp"
#include "cli/report/output_file.hpp"
#include "cli/report/report_page.hpp"
#include "cli/report/sarif.hpp"
#include "cli/report/tables.hpp"
#include "cli/report/worth.hpp"
#include "cli/report/writers.hpp"

namespace fp32shim::cli {
namespace {

/// Returns the groups requested by the user; nullopt if none were requested.
std::optional<std::vector<RowGroup>> groups_of(const ReportContents& contents, const Grouping& grouping,
                                               RowOrder order) {
    if (grouping.is_empty()) return std::nullopt;
    if (grouping.has_process_keys()) return contents.groups.sorted(order);
    return grouped(contents.calls, contents.durations, contents.paths, grouping, order);
}

TextSink sink_of(ReportOutput& output) {
    return [&output](std::string_view text) { output.put(text); };
}

void write_table(const ReportContents& contents, const ReportView& view, ReportOutput& output) {
    const auto groups = groups_of(contents, view.grouping, view.order);
    write_report_table(contents.calls, {.sites = view.top, .order = view.order}, view.stream, sink_of(output),
                       groups ? &*groups : nullptr);
    const auto section = [&](std::string_view title, const std::string& text) {
        if (!text.empty()) output.put("\n" + coloured(title, Colour::bold, view.stream) + "\n" + text);
    };
    section("What faster products could gain", worth_text(contents.calls));
    section("Environment", environments_text(contents.calls));
}

void write_json(const ReportContents& contents, const ReportView& view, ReportOutput& output) {
    const auto groups = groups_of(contents, view.grouping, RowOrder::time);
    write_report_json(contents.calls, groups ? &*groups : nullptr, contents.paths, output);
}

void write_csv(const ReportContents& contents, const ReportView& view, ReportOutput& output) {
    const auto groups = groups_of(contents, view.grouping, RowOrder::time);
    write_report_csv(contents.calls, groups ? &*groups : nullptr, output);
}

void write_prometheus(const ReportContents& contents, const ReportView&, ReportOutput& output) {
    output.put(contents.metrics.text(contents.calls, recordings_with(contents.problems)));
}

void write_html(const ReportContents& contents, const ReportView& view, ReportOutput& output) {
    output.put(report_page({contents.calls, contents.paths, contents.timeline, contents.problems, view.order,
                            view.grouping, view.is_filtered, view.is_since}));
}

void write_lines_below_fp32(const ReportContents& contents, const ReportView&, ReportOutput& output) {
    write_sarif(contents.paths, contents.calls, contents.problems, output);
}

/// Writes call paths with a function of path_formats.hpp.
template <void (*write_paths)(const CallPaths&, const MergedCalls&, RowOrder, ReportOutput&)>
void write_with_paths(const ReportContents& contents, const ReportView& view, ReportOutput& output) {
    write_paths(contents.paths, contents.calls, view.order, output);
}

/// Writes kinds of products with a function of driver_formats.hpp.
template <void (*write_kinds)(const std::vector<ProductKind>&, ReportOutput&)>
void write_for_driver(const ReportContents& contents, const ReportView& view, ReportOutput& output) {
    write_kinds(product_kinds(contents.calls, view.order), output);
}

constexpr std::string_view fixed_labels = "whose labels are fixed", has_paths = "which has call paths",
                           line_of_row = "which has a line for each row of each recording",
                           line_of_kind = "which has a line for each kind of product",
                           result_of_line = "which has a result for each line of the program";

constexpr ReportFormat formats[] = {
    {.name = "table", .extension = ".txt", .needs_single_calls = true, .write = write_table},
    {.name = "json", .extension = ".json", .needs_paths = true, .needs_single_calls = true, .write = write_json},
    {.name = "jsonl", .extension = ".jsonl", .why_no_groups = line_of_row, .is_written_as_read = true},
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
     .write = write_with_paths<write_folded>},
    {.name = "speedscope",
     .extension = ".speedscope.json",
     .needs_paths = true,
     .why_no_groups = has_paths,
     .write = write_with_paths<write_speedscope>},
    {.name = "sarif",
     .extension = ".sarif",
     .needs_paths = true,
     .why_no_groups = result_of_line,
     .write = write_lines_below_fp32},
    {.name = "benchdnn", .why_no_groups = line_of_kind, .write = write_for_driver<write_benchdnn>},
    {.name = "rocblas-bench",
     .extension = ".sh",
     .why_no_groups = line_of_kind,
     .write = write_for_driver<write_rocblas_bench>},
    {.name = "shapes", .why_no_groups = line_of_kind, .write = write_for_driver<write_shapes>},
};

}  // namespace

std::span<const ReportFormat> report_formats() { return formats; }

}  // namespace fp32shim::cli
