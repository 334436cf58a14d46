// The products of recordings as input of programs that measure products.
#pragma once

#include "cli/recordings/product_kinds.hpp"
#include "cli/report/output_file.hpp"

namespace fp32shim::cli {

/// Writes a batch file of oneDNN's benchdnn: `benchdnn --matmul --mode=P --batch=FILE`. Products that benchdnn cannot
/// express are named in comments.
void write_benchdnn(const std::vector<ProductKind>& kinds, ReportOutput& output);

/// Writes a shell script of calls of rocblas-bench. Products that it cannot express are named in comments.
void write_rocblas_bench(const std::vector<ProductKind>& kinds, ReportOutput& output);

/// Writes CSV (RFC 4180), a line for each kind of product.
void write_shapes(const std::vector<ProductKind>& kinds, ReportOutput& output);

}  // namespace fp32shim::cli
