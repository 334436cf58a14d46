// Writers for the machine-readable formats of `fp32shim report`: JSON, CSV, call paths, and kinds of products.
#pragma once

#include <vector>

#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/product_kinds.hpp"
#include "cli/recordings/row_groups.hpp"
#include "cli/report/output_file.hpp"

namespace fp32shim::cli {

class CallPaths;

/// Writes JSON (docs/cli/report-json.md), row by row, because a document of a million rows would take gigabytes. If
/// `groups` are given, they replace the rows.
void write_report_json(const MergedCalls& calls, const std::vector<RowGroup>* groups, const CallPaths& paths,
                       ReportOutput& output);

/// Writes CSV (RFC 4180): a line of column names, then a line for each distinct decision, or for each of `groups`.
void write_report_csv(const MergedCalls& calls, const std::vector<RowGroup>* groups, ReportOutput& output);

/// Writes a line for each path and format: `outermost;…;cblas_sgemm [tf32] 1234`. flamegraph.pl and speedscope read
/// this format. `weight` decides if the number is nanoseconds, calls or floating-point operations.
void write_folded(const CallPaths& paths, const MergedCalls& calls, RowOrder weight, ReportOutput& output);
/// Writes speedscope's file format (https://www.speedscope.app/file-format-schema.json) with three profiles: host
/// time, calls and work. The profile of `weight` is shown first.
void write_speedscope(const CallPaths& paths, const MergedCalls& calls, RowOrder weight, ReportOutput& output);

/// Writes a batch file of oneDNN's benchdnn: `benchdnn --matmul --mode=P --batch=FILE`. Products that benchdnn cannot
/// express are named in comments.
void write_benchdnn(const std::vector<ProductKind>& kinds, ReportOutput& output);

/// Writes a shell script that runs rocblas-bench. Products that it cannot express are named in comments.
void write_rocblas_bench(const std::vector<ProductKind>& kinds, ReportOutput& output);

/// Writes CSV (RFC 4180) with a line for each kind of product.
void write_shapes(const std::vector<ProductKind>& kinds, ReportOutput& output);

}  // namespace fp32shim::cli
