#include "cli/doctor_functions.hpp"

#include <algorithm>
#include <unordered_map>

#include "cli/doctor_elf.hpp"

namespace fp32shim::cli {
namespace {

enum class Convention : std::uint8_t { fortran, cblas, bare, cublas, legacy };

struct Row {
    std::string_view symbol;
    std::string_view family;
    Convention convention;

    /// cuBLAS functions that the shim intercepts for what they say about the products.
    bool is_product() const {
        return !family.starts_with("handle_") && !family.starts_with("math_mode_") &&
               !family.starts_with("lt_check") && !family.starts_with("lt_heuristic");
    }
};

// The table is a list of rows and nothing else, and the only part of shim/ that is read here: a second list of the
// names would go stale.
constexpr Row rows[] = {
#define ROW(symbol, family, convention, width) {#symbol, #family, Convention::convention},
#include "shim/functions.def"
#undef ROW
};

/// Drivers and factorisations; what is built on level 1 and 2 alone has no products to miss.
constexpr std::string_view lapack_roots[] = {
    "gesv",  "gesvx", "getrf", "getri", "getrs", "posv",  "potrf", "potri", "potrs", "sysv",  "sytrf", "hesv",
    "hetrf", "geqrf", "gelqf", "geqp3", "orgqr", "ungqr", "ormqr", "unmqr", "gels",  "gelsd", "gelsy", "gelss",
    "geev",  "geevx", "gees",  "geesx", "gehrd", "ggev",  "gges",  "gesdd", "gesvd", "syev",  "syevd", "syevr",
    "sygvd", "heev",  "heevd", "heevr", "hegvd", "trtri", "trtrs", "trsyl", "gebrd", "stedc", "lauum",
};

/// Measured with OpenBLAS 0.3.21: of these nothing arrives at `sgemm_`; posv and gesv are built on them.
constexpr std::string_view openblas_roots[] = {"gesv",  "getrf", "getrs", "posv", "potrf",
                                               "potri", "lauum", "trtri", "trtrs"};

/// `getrf` of `sgetrf_`, `scipy_cgetrf_64_` or `LAPACKE_sgetrf`; empty for what is neither float32 nor complex64.
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
    static const std::unordered_map<std::string_view, FunctionKind> kinds = [] {
        std::unordered_map<std::string_view, FunctionKind> table;
        for (const Row& row : rows) {
            if (row.convention == Convention::bare || !row.is_product()) continue;
            const bool is_cpu = row.convention == Convention::fortran || row.convention == Convention::cblas;
            table.emplace(row.symbol, is_cpu ? FunctionKind::blas : FunctionKind::cublas);
        }
        return table;
    }();
    const auto found = kinds.find(name);
    return found == kinds.end() ? FunctionKind::none : found->second;
}

bool is_sgemm(std::string_view name) {
    return std::any_of(std::begin(rows), std::end(rows), [&](const Row& row) {
        return row.symbol == name && (row.family == "sgemm" || row.family == "cublas_sgemm");
    });
}

bool is_lapack(std::string_view name) {
    const std::string_view root = lapack_root(name);
    return std::find(std::begin(lapack_roots), std::end(lapack_roots), root) != std::end(lapack_roots);
}

bool is_lapack_of_openblas(std::string_view name) {
    const std::string_view root = lapack_root(name);
    return std::find(std::begin(openblas_roots), std::end(openblas_roots), root) != std::end(openblas_roots);
}

bool is_shim(const std::string& path) {
    const auto elf = read_elf(path, [](std::string_view name) { return name == shim_mark; });
    return elf && !elf->exports.empty();
}

}  // namespace fp32shim::cli
