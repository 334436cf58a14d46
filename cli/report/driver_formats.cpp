// Writes kinds of products in the input formats of benchmark programs (`--format benchdnn` and `rocblas-bench`), and
// as CSV (`--format shapes`).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "cli/output/terminal.hpp"
#include "cli/recordings/csv_and_json_columns.hpp"
#include "cli/report/output_file.hpp"
#include "cli/report/report_formats.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim::cli {
namespace {

/// The names of the values of blas::Operation, in the same order.
constexpr std::string_view operations[] = {"gemm", "gemmt",  "symm",  "hemm", "syrk", "herk", "syr2k", "her2k",
                                           "trmm", "trsm",   "gemv",  "symv", "hemv", "ger",  "gerc",  "syr",
                                           "her",  "syr2",   "her2",  "trmv", "trsv", "axpy", "rot",   "dot",
                                           "dotc", "sdsdot", "dsdot", "nrm2", "asum"};
static_assert(std::size(operations) == static_cast<std::size_t>(blas::Operation::asum) + 1);

/// A kind of product: the calls that have the same line in the input of a benchmark program. Of the members of
/// MergedRow, only the operands, the format and the counters are set; `function` is set only if `operation` is empty.
struct ProductKind : MergedRow {
    std::string_view operation;         ///< `gemm`; empty if this version does not know the function
    std::vector<SharedText> functions;  ///< names of the functions that were called
    Batching batching = Batching::single;
    /// True if the matrices are row-major. A recording does not say which order a call of CBLAS asks for. It is taken
    /// to be row-major, as in most C and numpy programs. All other calls are column-major.
    bool is_row_major = false;
    double work = 0;  ///< floating-point operations of all calls
};
const ProductKind& kind_in(const MergedRow& row) { return static_cast<const ProductKind&>(row); }

/// Returns the kind to which the calls of `row` belong. Its counters and `work` are still 0, and `functions` is
/// empty. If this version does not know the function, `operation` stays empty and `function` has the name.
ProductKind kind_of(const MergedRow& row) {
    ProductKind kind;
    kind.is_overflow = row.is_overflow;
    if (row.is_overflow) return kind;
    std::tie(kind.dtype, kind.device, kind.applied, kind.trans_a, kind.trans_b) =
        std::tuple(row.dtype, row.device, row.effective_format(), row.trans_a, row.trans_b);
    std::tie(kind.m, kind.n, kind.k, kind.batch, kind.is_folded) =
        std::tie(row.m, row.n, row.k, row.batch, row.is_folded);
    const FunctionIndex index = find_function(std::string(row.function).c_str());
    if (index < 0 || !functions[index].multiplies()) {
        kind.function = row.function;
        return kind;
    }
    const ProductFamily& family = functions[index].product();
    kind.operation = operations[static_cast<std::size_t>(family.operation)];
    kind.batching = family.batching;
    kind.is_row_major = functions[index].convention == CallingConvention::cblas;
    return kind;
}

auto key_of(const ProductKind& kind) {
    return std::tuple(kind.operation, kind.function.id(), kind.batching, kind.is_row_major, kind.dtype.id(),
                      kind.device.id(), kind.applied.id(), kind.trans_a, kind.trans_b, kind.m, kind.n, kind.k,
                      kind.batch, kind.is_folded, kind.is_overflow);
}

/// Returns the kinds of all products, sorted by `order`, largest first.
std::vector<ProductKind> product_kinds(const MergedCalls& calls, RowOrder order) {
    std::vector<ProductKind> kinds;
    std::map<decltype(key_of({})), std::size_t> indices;
    for (const MergedRow& row : calls.rows()) {
        ProductKind kind = kind_of(row);
        const auto [found, is_new] = indices.try_emplace(key_of(kind), kinds.size());
        if (is_new) kinds.push_back(std::move(kind));
        ProductKind& merged = kinds[found->second];
        if (!row.function.empty() && std::ranges::find(merged.functions, row.function) == merged.functions.end())
            merged.functions.push_back(row.function);
        add_counters(merged.counters, row.counters);
        merged.work += row.total_flops();
    }
    if (const std::uint64_t count = calls.calls_without_row(); count > 0) {
        kinds.emplace_back().is_overflow = true;
        kinds.back().counters.calls = count;
    }
    std::ranges::stable_sort(kinds, std::greater<>(), [order](const ProductKind& kind) {
        return sort_key(order, kind.counters.calls, kind.counters.total_ns, kind.work);
    });
    return kinds;
}

/// The sizes of C := op(A) op(B).
struct GemmSizes {
    char trans_a, trans_b;
    std::int64_t m, n, k;
};

/// Returns the sizes of a product whose matrices are row-major if `is_row_major` is true, otherwise column-major. If
/// `kind` has the other layout, returns the sizes of the transposed product, which has the same matrices in memory.
GemmSizes sizes_in(const ProductKind& kind, bool is_row_major) {
    if (is_row_major == kind.is_row_major) return {kind.trans_a, kind.trans_b, kind.m, kind.n, kind.k};
    return {kind.trans_b, kind.trans_a, kind.n, kind.m, kind.k};
}

/// Returns the reason why no gemm can be run with the sizes of a kind; empty if it can.
std::string why_no_gemm(const ProductKind& kind) {
    if (kind.is_overflow) return "only the number of these calls is known";
    if (kind.is_onednn()) return "oneDNN ran it itself, and no function of a BLAS";
    if (kind.is_xla()) return "XLA compiled it, and no function of a BLAS runs it";
    if (kind.is_kernel()) return "it is a kernel on a GPU, and no function of a BLAS";
    if (kind.operation.empty()) return "this version does not know the function";
    if (kind.operation != "gemm") return fmt::format("{} is not a gemm", kind.operation);
    if (kind.is_folded) return "the recording has its sizes rounded up to powers of two";
    constexpr std::string_view letters = "NTCR";
    const bool has_letters = letters.find(kind.trans_a) != letters.npos && letters.find(kind.trans_b) != letters.npos;
    const auto [least, _] = std::minmax({kind.m, kind.n, kind.k, kind.batch});
    if (least < 0 || !has_letters) return "its sizes or transpositions are not known";
    return least == 0 ? "it multiplies nothing" : "";
}

/// Returns a comment for an input line of a benchmark program, with the facts that the line cannot express: how many
/// calls it stands for, and how the product to be measured may differ from the calls.
std::string comment_on(const ProductKind& kind) {
    const std::vector<std::string> names(kind.functions.begin(), kind.functions.end());
    const std::string_view remark =
        kind.batching == Batching::groups
            ? "# a batch of groups: all of its products are taken to have the sizes of the group with the most work\n"
            : "";
    return fmt::format("# {} of {} on {}, ran at {}\n{}", counted(kind.counters.calls, "call"),
                       printable(listed(names, 3)), kind.device, kind.effective_format(), remark);
}

std::string left_out_comment(const ProductKind& kind, std::string_view why) {
    const std::string what =
        kind.is_overflow
            ? "(found no room)"
            : fmt::format("{} {} {}", kind.operation.empty() ? kind.function_text() : std::string(kind.operation),
                          kind.transposes_text(), kind.size_text());
    return fmt::format("# left out: {} of {}{}{}: {}\n", counted(kind.counters.calls, "call"), kind.dtype,
                       kind.dtype.empty() ? "" : " ", printable(what), why);
}

bool is_transposed(char letter) { return letter == 'T' || letter == 'C'; }

constexpr std::string_view assumptions =
    "# Leading dimensions are not recorded: matrices are packed. Calls of CBLAS are taken to be row-major.\n";

/// Returns the name of the math mode in which oneDNN multiplies in `format`; empty if there is no such mode.
std::string_view fpmath_of(std::string_view format) {
    if (format == "fp32") return "strict";
    if (format == "tf32" || format == "bf16") return format;
    return format == "fp16" ? "f16" : "";
}

std::string why_not_benchdnn(const ProductKind& kind) {
    if (std::string why = why_no_gemm(kind); !why.empty()) return why;
    if (kind.dtype == "complex64" || kind.dtype == "complex128") return "oneDNN has no complex numbers";
    if (kind.dtype == "float64") return "oneDNN has no float64 on a CPU";
    if (kind.dtype != "float32") return "the type of its result is not recorded";
    return {};
}

std::string benchdnn_line(const ProductKind& kind) {
    const GemmSizes sizes = sizes_in(kind, true);
    const bool is_batch = kind.batch != 1;
    const auto tag = [is_batch](bool transposed) {
        return is_batch ? (transposed ? "acb" : "abc") : (transposed ? "ba" : "ab");
    };
    const std::string batch = is_batch ? fmt::format("{}x", kind.batch) : "";
    std::string_view mode = fpmath_of(kind.effective_format());
    return fmt::format("{}--stag={} --wtag={} --dtag={} --attr-fpmath={} {}{}x{}:{}{}x{}\n",
                       mode.empty() ? fmt::format("# oneDNN has no {}\n", kind.effective_format()) : "",
                       tag(is_transposed(sizes.trans_a)), tag(is_transposed(sizes.trans_b)), tag(false),
                       mode.empty() ? "strict" : mode, batch, sizes.m, sizes.k, batch, sizes.k, sizes.n);
}

/// Returns rocBLAS's name of the type `dtype`; empty for all types but these four. Products of float16 or bfloat16
/// cannot be measured, because a recording does not have the type of their results.
std::string_view rocblas_type(std::string_view dtype) {
    constexpr std::pair<std::string_view, std::string_view> names[] = {
        {"float32", "f32_r"}, {"complex64", "f32_c"}, {"float64", "f64_r"}, {"complex128", "f64_c"}};
    for (const auto& [type, name] : names)
        if (type == dtype) return name;
    return {};
}

std::string why_not_rocblas(const ProductKind& kind) {
    if (std::string why = why_no_gemm(kind); !why.empty()) return why;
    if (rocblas_type(kind.dtype).empty()) return "the type of its result is not recorded";
    if (kind.trans_a == 'R' || kind.trans_b == 'R') return "rocBLAS has no conjugation without transposition";
    return {};
}

/// Returns the number of elements of a matrix. The numbers are unsigned, because sizes in a damaged recording may be
/// so large that their product overflows.
std::uint64_t elements(std::int64_t rows, std::int64_t columns) {
    return static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns);
}

std::string rocblas_line(const ProductKind& kind) {
    const GemmSizes sizes = sizes_in(kind, false);
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

/// Writes `head`, then, for each kind of product, comments and the text that `line` returns. If `why_not` returns a
/// reason why the benchmark program cannot express a kind, writes only a comment with this reason.
void write_driver_lines(std::string head, const ReportContents& contents, const ReportView& view,
                        ReportOutput& output, std::string (*why_not)(const ProductKind&),
                        std::string (*line)(const ProductKind&)) {
    output.write(head);
    for (const ProductKind& kind : product_kinds(contents.calls, view.order)) {
        const std::string why = why_not(kind);
        if (!output.write(why.empty() ? comment_on(kind) + line(kind) : left_out_comment(kind, why))) return;
    }
}

constexpr RowColumn operation_column[] = {
    {"operation", [](const MergedRow& row) { return FieldValue::text_or_null(kind_in(row).operation); }}};
constexpr RowColumn way_columns[] = {
    {"batching",
     [](const MergedRow& row) {
         constexpr std::string_view words[] = {"single", "strided", "groups", "pointers"};
         const ProductKind& kind = kind_in(row);
         return kind.operation.empty() ? FieldValue() : FieldValue(words[static_cast<std::size_t>(kind.batching)]);
     }},
    {"layout",
     [](const MergedRow& row) {
         if (kind_in(row).operation.empty()) return FieldValue();
         return FieldValue(std::string_view(kind_in(row).is_row_major ? "unknown" : "column-major"));
     }},
};
constexpr RowColumn precision_column[] = {
    {"precision", [](const MergedRow& row) { return FieldValue::text_or_null(row.effective_format()); }}};
constexpr RowColumn work_column[] = {
    {"flops_total", [](const MergedRow& row) { return FieldValue(kind_in(row).work); }}};

}  // namespace

void write_benchdnn(const ReportContents& contents, const ReportView& view, ReportOutput& output) {
    write_driver_lines(
        fmt::format("# For benchdnn --matmul --mode=P --batch=FILE\n{}--reset\n--dt=f32\n", assumptions), contents,
        view, output, why_not_benchdnn, benchdnn_line);
}

void write_rocblas_bench(const ReportContents& contents, const ReportView& view, ReportOutput& output) {
    write_driver_lines(
        fmt::format("#!/bin/sh\n{}# rocblas-bench multiplies in the operands' type, whatever the calls ran "
                    "at.\n",
                    assumptions),
        contents, view, output, why_not_rocblas, rocblas_line);
}

void write_shapes(const ReportContents& contents, const ReportView& view, ReportOutput& output) {
    const std::vector<RowColumn> columns = concatenated_columns<MergedRow>(
        {operation_column, row_columns_named({"dtype", "trans_a", "trans_b", "m", "n", "k", "batch"}), way_columns,
         row_columns_named({"device"}), precision_column, row_columns_named({"sizes_folded", "calls", "host_ns"}),
         work_column});
    write_csv_rows<MergedRow>(columns, product_kinds(contents.calls, view.order), output);
}

}  // namespace fp32shim::cli
