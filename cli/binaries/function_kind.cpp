#include "cli/binaries/function_kind.hpp"

#include <algorithm>

#include "shim/table/functions.hpp"

namespace fp32shim::cli {
namespace {

const Function* find_row(std::string_view name) {
    const FunctionIndex row = find_function(std::string(name).c_str());
    return row < 0 ? nullptr : &functions[row];
}

/// Names, without the type letter, of the LAPACK routines that call BLAS level 3 and so multiply matrices.
constexpr std::string_view lapack_roots[] = {
    "gesv",  "gesvx", "getrf", "getri", "getrs", "posv",  "potrf", "potri", "potrs", "sysv",  "sytrf", "hesv",
    "hetrf", "geqrf", "gelqf", "geqp3", "orgqr", "ungqr", "ormqr", "unmqr", "gels",  "gelsd", "gelsy", "gelss",
    "geev",  "geevx", "gees",  "geesx", "gehrd", "ggev",  "gges",  "gesdd", "gesvd", "syev",  "syevd", "syevr",
    "sygvd", "heev",  "heevd", "heevr", "hegvd", "trtri", "trtrs", "trsyl", "gebrd", "stedc", "lauum",
};

/// Names, without the type letter, of the LAPACK routines of OpenBLAS 0.3.21 that never call `sgemm_` (measured), and
/// of posv and gesv, which use these routines.
constexpr std::string_view openblas_roots[] = {"gesv",  "getrf", "getrs", "posv", "potrf",
                                               "potri", "lauum", "trtri", "trtrs"};

/// Returns the name of a LAPACK routine without prefixes, suffixes and type letter: `getrf` for `sgetrf_`,
/// `scipy_cgetrf_64_` or `LAPACKE_sgetrf`. Returns an empty text for types other than float32 and complex64.
std::string_view lapack_root(std::string_view name) {
    if (name.starts_with("scipy_")) name.remove_prefix(6);
    if (name.starts_with("LAPACKE_")) name.remove_prefix(8);
    while (name.ends_with('_')) name.remove_suffix(1);
    if (name.ends_with("64")) name.remove_suffix(2);
    while (name.ends_with('_')) name.remove_suffix(1);
    if (name.empty() || (name[0] != 's' && name[0] != 'c')) return {};
    return name.substr(1);
}

}  // namespace

FunctionKind function_kind(std::string_view name) {
    const Function* row = find_row(name);
    if (row == nullptr || row->convention == CallingConvention::bare || !row->multiplies()) return FunctionKind::none;
    if (is_of_cublas(row->convention)) return FunctionKind::cublas;
    return has_vector(row->product().operation) ? FunctionKind::vector : FunctionKind::blas;
}

bool has_function_of_kind(const std::vector<ElfSymbol>& symbols, FunctionKind kind) {
    return std::ranges::any_of(symbols, [&](const ElfSymbol& symbol) { return function_kind(symbol.name) == kind; });
}

bool has_narrow_operands(std::string_view name) {
    const Function* row = find_row(name);
    return row != nullptr && row->family->treatment == Treatment::observed;
}

bool is_sgemm(std::string_view name) {
    const Function* row = find_row(name);
    return row != nullptr && (row->family == &families::sgemm || row->family == &families::cublas_sgemm);
}

bool is_float32_lapack_routine(std::string_view name) {
    return std::ranges::count(lapack_roots, lapack_root(name)) > 0;
}

bool is_openblas_optimized_lapack(std::string_view name) {
    return std::ranges::count(openblas_roots, lapack_root(name)) > 0;
}

bool is_shim_library(const std::string& path) {
    const auto elf = read_elf(path, [](std::string_view name) { return name == shim_mark; });
    return elf && !elf->exports.empty();
}

}  // namespace fp32shim::cli
