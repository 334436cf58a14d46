// Kinds of products, in the formats of programs that measure them (`--format benchdnn`, `rocblas-bench`, `shapes`).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/output/field_value.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/product_kinds.hpp"
#include "cli/report/output_file.hpp"
#include "cli/report/report_formats.hpp"

namespace fp32shim::cli {
namespace {

std::string functions_of(const ProductKind& kind) {
    std::vector<std::string> names(kind.functions.begin(), kind.functions.end());
    return listed(names, 3);
}

/// Returns a comment with facts that the line of a driver cannot express.
std::string comment_on(const ProductKind& kind) {
    return fmt::format("# {} of {} on {}, ran at {}\n", counted(kind.calls.calls, "call"),
                       printable(functions_of(kind)), kind.device, kind.ran_at);
}

std::string left_out_comment(const ProductKind& kind, std::string_view why) {
    return fmt::format("# left out: {} of {}{}{}: {}\n", counted(kind.calls.calls, "call"), kind.dtype,
                       kind.dtype.empty() ? "" : " ", printable(kind.text()), why);
}

/// Returns remarks if a line does not measure exactly what ran.
std::string remarks_on(const ProductKind& kind) {
    if (kind.batching != Batching::groups) return {};
    return "# a batch of groups: all of its products are taken to have the sizes of the group with the most work\n";
}

bool is_transposed(char letter) { return letter == 'T' || letter == 'C'; }

constexpr std::string_view assumptions =
    "# Leading dimensions are not recorded: matrices are packed. Calls of CBLAS are taken to be row-major.\n";

/// Returns the math mode with which oneDNN multiplies in this format; empty if it has none.
std::string_view fpmath_of(std::string_view format) {
    if (format == "fp32") return "strict";
    if (format == "tf32" || format == "bf16") return format;
    return format == "fp16" ? "f16" : "";
}

std::string why_not_benchdnn(const ProductKind& kind) {
    if (std::string why = kind.why_no_gemm(); !why.empty()) return why;
    if (kind.dtype == "complex64" || kind.dtype == "complex128") return "oneDNN has no complex numbers";
    if (kind.dtype == "float64") return "oneDNN has no float64 on a CPU";
    if (kind.dtype != "float32") return "the type of its result is not recorded";
    return {};
}

std::string benchdnn_line(const ProductKind& kind) {
    const GemmSizes sizes = kind.sizes_in(Layout::row_major);
    const bool is_batch = kind.batch != 1;
    const auto tag = [is_batch](bool transposed) {
        return is_batch ? (transposed ? "acb" : "abc") : (transposed ? "ba" : "ab");
    };
    const std::string batch = is_batch ? fmt::format("{}x", kind.batch) : "";
    std::string_view mode = fpmath_of(kind.ran_at);
    return fmt::format("{}--stag={} --wtag={} --dtag={} --attr-fpmath={} {}{}x{}:{}{}x{}\n",
                       mode.empty() ? fmt::format("# oneDNN has no {}\n", kind.ran_at) : "",
                       tag(is_transposed(sizes.trans_a)), tag(is_transposed(sizes.trans_b)), tag(false),
                       mode.empty() ? "strict" : mode, batch, sizes.m, sizes.k, batch, sizes.k, sizes.n);
}

/// Returns rocBLAS's name of a type; empty for types whose results' type is not recorded.
std::string_view rocblas_type(std::string_view dtype) {
    constexpr std::pair<std::string_view, std::string_view> names[] = {
        {"float32", "f32_r"}, {"complex64", "f32_c"}, {"float64", "f64_r"}, {"complex128", "f64_c"}};
    for (const auto& [type, name] : names)
        if (type == dtype) return name;
    return {};
}

std::string why_not_rocblas(const ProductKind& kind) {
    if (std::string why = kind.why_no_gemm(); !why.empty()) return why;
    if (rocblas_type(kind.dtype).empty()) return "the type of its result is not recorded";
    if (kind.sizes.trans_a == 'R' || kind.sizes.trans_b == 'R')
        return "rocBLAS has no conjugation without transposition";
    return {};
}

/// Returns the number of elements of a matrix. Sizes in a damaged recording may be so large that their product
/// overflows.
std::uint64_t elements(std::int64_t rows, std::int64_t columns) {
    return static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns);
}

std::string rocblas_line(const ProductKind& kind) {
    const GemmSizes sizes = kind.sizes_in(Layout::column_major);
    const std::int64_t lda = is_transposed(sizes.trans_a) ? sizes.k : sizes.m;
    const std::int64_t ldb = is_transposed(sizes.trans_b) ? sizes.n : sizes.k;
    const bool is_batch = kind.batch != 1;
    const bool is_strided = is_batch && kind.batching == Batching::strided;
    std::string line = fmt::format(
        "rocblas-bench -f gemm{} -r {} --transposeA {} --transposeB {} -m {} -n {} -k {} --alpha 1 --lda {} --ldb {} "
        "--beta 0 --ldc {}",
        is_strided ? "_strided_batched"
        : is_batch ? "_batched"
                   : "",
        rocblas_type(kind.dtype), sizes.trans_a, sizes.trans_b, sizes.m, sizes.n, sizes.k, lda, ldb, sizes.m);
    if (is_strided)
        line += fmt::format(" --stride_a {} --stride_b {} --stride_c {}", elements(sizes.m, sizes.k),
                            elements(sizes.k, sizes.n), elements(sizes.m, sizes.n));
    if (is_batch) line += fmt::format(" --batch_count {}", kind.batch);
    return line + "\n";
}

/// Writes `head`, then a line with its comments for each kind of product. For a kind that the driver cannot express,
/// writes only a comment.
void write_lines(std::string head, const ReportContents& contents, const ReportView& view, ReportOutput& output,
                 std::string (*why_not)(const ProductKind&), std::string (*line)(const ProductKind&)) {
    output.put(head);
    for (const ProductKind& kind : product_kinds(contents.calls, view.order)) {
        const std::string why = why_not(kind);
        if (!output.put(why.empty() ? comment_on(kind) + remarks_on(kind) + line(kind) : left_out_comment(kind, why)))
            return;
    }
}

FieldValue letter(const char& value) { return value == 0 ? FieldValue() : FieldValue(std::string_view(&value, 1)); }

constexpr Column<ProductKind> shape_columns[] = {
    {"operation", [](const ProductKind& kind) { return FieldValue::text_or_null(kind.operation); }},
    {"dtype", [](const ProductKind& kind) { return FieldValue::text_or_null(kind.dtype); }},
    {"trans_a", [](const ProductKind& kind) { return letter(kind.sizes.trans_a); }},
    {"trans_b", [](const ProductKind& kind) { return letter(kind.sizes.trans_b); }},
    {"m", [](const ProductKind& kind) { return FieldValue::size_or_null(kind.sizes.m); }},
    {"n", [](const ProductKind& kind) { return FieldValue::size_or_null(kind.sizes.n); }},
    {"k", [](const ProductKind& kind) { return FieldValue::size_or_null(kind.sizes.k); }},
    {"batch", [](const ProductKind& kind) { return FieldValue::size_or_null(kind.batch); }},
    {"batching",
     [](const ProductKind& kind) {
         constexpr std::string_view words[] = {"single", "strided", "groups", "pointers"};
         return kind.operation.empty() ? FieldValue() : FieldValue(words[static_cast<std::size_t>(kind.batching)]);
     }},
    {"layout",
     [](const ProductKind& kind) {
         if (kind.operation.empty()) return FieldValue();
         return FieldValue(std::string_view(kind.layout == Layout::column_major ? "column-major" : "unknown"));
     }},
    {"device", [](const ProductKind& kind) { return FieldValue::text_or_null(kind.device); }},
    {"precision", [](const ProductKind& kind) { return FieldValue::text_or_null(kind.ran_at); }},
    {"sizes_folded", [](const ProductKind& kind) { return FieldValue(kind.is_folded); }},
    {"calls", [](const ProductKind& kind) { return FieldValue(kind.calls.calls); }},
    {"host_ns", [](const ProductKind& kind) { return FieldValue(kind.calls.host_ns); }},
    {"flops_total", [](const ProductKind& kind) { return FieldValue(kind.calls.work); }},
};

}  // namespace

void write_benchdnn(const ReportContents& contents, const ReportView& view, ReportOutput& output) {
    write_lines(fmt::format("# For benchdnn --matmul --mode=P --batch=FILE\n{}--reset\n--dt=f32\n", assumptions),
                contents, view, output, why_not_benchdnn, benchdnn_line);
}

void write_rocblas_bench(const ReportContents& contents, const ReportView& view, ReportOutput& output) {
    write_lines(fmt::format("#!/bin/sh\n{}# rocblas-bench multiplies in the operands' type, whatever the calls ran "
                            "at.\n",
                            assumptions),
                contents, view, output, why_not_rocblas, rocblas_line);
}

void write_shapes(const ReportContents& contents, const ReportView& view, ReportOutput& output) {
    write_csv_rows<ProductKind>(shape_columns, product_kinds(contents.calls, view.order), output);
}

}  // namespace fp32shim::cli
