#include "cli/binaries/bypasses.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/binaries/function_kind.hpp"
#include "cli/binaries/half_products.hpp"
#include "cli/binaries/known_bypasses.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

/// A BLAS library, recognised by a string in its file. The string remains after static linking and stripping.
struct KnownBlas {
    std::string_view name;
    std::string_view marker;
};
constexpr std::string_view mkl_marker = "MKL FATAL ERROR";
constexpr KnownBlas known_blas[] = {
    {"OpenBLAS", "OpenBLAS : Program is Terminated"}, {"BLIS", "libblis: "}, {"MKL", mkl_marker}};

constexpr std::string_view static_blas_name = "static-BLAS", half_code_name = "half-code";

/// Beginnings of names of files whose instructions for BF16 or FP16 are no bypass: the parts of MKL, whose products
/// are seen where they come in, and numpy's main library, which uses them for functions of its type float16 only.
constexpr std::string_view harmless_half_code[] = {"libmkl_", "_multiarray_umath."};

constexpr std::string_view launch_marker = "cuLaunchKernel";
constexpr std::string_view lookup_markers[] = {"cublasGemmEx", "cublasSgemm_v2", "cublasLtMatmul", launch_marker};

bool begins_with_any(std::string_view name, const std::vector<std::string_view>& beginnings) {
    return std::ranges::any_of(beginnings, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

Bypass bypass_in(const KnownBypass& known, const std::string& path) {
    return {.name = std::string(known.name),
            .title = std::string(known.title),
            .object = path,
            .device = std::string(known.device),
            .message = std::string(known.message),
            .remedy = std::string(known.remedy),
            .pins = known.pins,
            .is_float32 = known.is_float32};
}

/// Returns a remark on the functions of a statically linked BLAS: ` (12 of its functions are defined but not
/// exported: sgemm_, …)`; empty if `names` is empty. With `are_exported`, the remark says `defined and found before
/// those of any preload`, because the loader finds functions that a program exports before preloaded ones.
std::string functions_text(const std::vector<std::string>& names, bool are_exported) {
    if (names.empty()) return {};
    return fmt::format(" ({} of its functions {} {}: {}{})", names.size(), names.size() == 1 ? "is" : "are",
                       are_exported ? "defined and found before those of any preload" : "defined but not exported",
                       names.front(), names.size() > 1 ? ", …" : "");
}

/// Adds a bypass if a BLAS is linked into the file statically. This shows in BLAS functions that a program exports,
/// in BLAS functions that any file defines without exporting them, or, in stripped files, in the texts in `markers`.
/// As elsewhere, a CPU's sgemm is taken to multiply at float32, unless the file has functions for narrower operands
/// (sbgemm).
void add_static_blas(const std::string& path, const ElfFile& elf, const Markers& markers,
                     std::vector<Bypass>& bypasses) {
    std::vector<std::string> hidden;
    for (const std::string& name : elf.hidden) {
        if (function_kind(name) == FunctionKind::blas) hidden.push_back(name);
    }
    std::string which;
    for (const KnownBlas& blas : known_blas) {
        if (markers.contains(blas.marker)) which = blas.name;
    }
    std::vector<std::string> exported;
    if (!elf.interpreter.empty()) {
        for (const ElfSymbol& symbol : elf.exports) {
            if (function_kind(symbol.name) == FunctionKind::blas) exported.push_back(symbol.name);
        }
    }
    const bool imports = has_kind(elf.imports, FunctionKind::blas);
    // In wheels, `sgemm_` is often a local function of a few instructions that calls `scipy_sgemm_` in another
    // library. Such functions are no sign of a static BLAS.
    if (imports && which.empty()) hidden.clear();
    const bool takes_part = imports || has_kind(elf.exports, FunctionKind::blas);
    const bool is_part_of_mkl = system::base_name(path).starts_with("libmkl_");
    if (exported.empty() && hidden.empty() && (which.empty() || takes_part || is_part_of_mkl)) return;
    const std::string names = exported.empty() ? functions_text(hidden, false) : functions_text(exported, true);
    bypasses.push_back({.name = std::string(static_blas_name),
                        .title = fmt::format("{}, linked statically", which.empty() ? "a BLAS" : which),
                        .object = path,
                        .device = "cpu",
                        .message = fmt::format("is linked into the file{}, so its calls never leave it", names),
                        .remedy = "link the program with a shared BLAS",
                        .is_float32 = std::ranges::none_of(elf.hidden, has_narrow_operands) &&
                                      std::ranges::none_of(elf.exports, has_narrow_operands, &ElfSymbol::name)});
}

std::string instructions_text(std::uint64_t count, std::string_view format) {
    return count == 0 ? "" : fmt::format("{} {}", count, format);
}

/// Adds a bypass if the file has instructions that multiply BF16 or FP16, and nothing else explains them: no other
/// bypass for CPUs in the file, and no functions for such operands, whose calls are seen (OpenBLAS's sbgemm).
void add_half_code(const std::string& path, const ElfFile& elf, std::vector<Bypass>& bypasses) {
    const std::string_view base_name = system::base_name(path);
    const bool is_explained =
        std::ranges::any_of(elf.exports, [](const ElfSymbol& symbol) { return has_narrow_operands(symbol.name); }) ||
        std::ranges::any_of(harmless_half_code,
                            [&](std::string_view known) { return base_name.starts_with(known); }) ||
        std::ranges::any_of(bypasses, [](const Bypass& each) { return each.device == "cpu" && !each.is_float32; });
    if (is_explained) return;
    const HalfProductCounts found = count_half_precision_instructions(path);
    if (found == HalfProductCounts()) return;
    const std::string bf16 = instructions_text(found.bf16, "BF16"), fp16 = instructions_text(found.fp16, "FP16");
    bypasses.push_back(
        {.name = std::string(half_code_name),
         .title = "code for BF16 or FP16",
         .object = path,
         .device = "cpu",
         .message =
             fmt::format("holds instructions that multiply in a lower format ({}{}{}); nobody knows whether they ran",
                         bf16, bf16.empty() || fp16.empty() ? "" : ", ", fp16),
         .remedy = {}});
}

}  // namespace

std::vector<Bypass> find_bypasses(const std::string& path, const ElfFile& elf) {
    std::vector<std::string_view> wanted;
    for (const KnownBypass& known : known_bypasses())
        wanted.insert(wanted.end(), known.markers.begin(), known.markers.end());
    for (const KnownBlas& blas : known_blas) wanted.push_back(blas.marker);
    const Markers markers = find_markers(path, wanted);
    // Only a copy of the table itself has all of them: this command, which a run may start. It multiplies nothing.
    if (std::ranges::all_of(wanted, [&](std::string_view marker) { return markers.contains(marker); })) return {};

    const std::string_view base_name = system::base_name(path);
    std::vector<Bypass> bypasses;
    for (const KnownBypass& known : known_bypasses()) {
        const bool has_marker =
            std::ranges::any_of(known.markers, [&](std::string_view marker) { return markers.contains(marker); });
        if ((has_marker || begins_with_any(base_name, known.files)) && !begins_with_any(base_name, known.except))
            bypasses.push_back(bypass_in(known, path));
    }
    add_static_blas(path, elf, markers, bypasses);
    add_half_code(path, elf, bypasses);
    return bypasses;
}

std::vector<Bypass> find_bypasses_by_name(const std::string& path) {
    std::vector<Bypass> bypasses;
    for (const KnownBypass& known : known_bypasses()) {
        if (begins_with_any(system::base_name(path), known.files)) bypasses.push_back(bypass_in(known, path));
    }
    return bypasses;
}

std::vector<std::string_view> bypass_names() {
    std::vector<std::string_view> names;
    for (const KnownBypass& known : known_bypasses()) names.push_back(known.name);
    names.insert(names.end(), {static_blas_name, half_code_name});
    return names;
}

RuntimeLookups find_runtime_lookups(const std::string& path, const ElfFile& elf) {
    const std::string_view name = system::base_name(path);
    if (name.starts_with("libcublas") || name.starts_with("libcuda.")) return {};
    const bool has_cublas =
        has_kind(elf.imports, FunctionKind::cublas) || has_kind(elf.exports, FunctionKind::cublas);
    Markers found = find_markers(path, lookup_markers);
    const bool launches = found.erase(launch_marker) > 0;
    return {!has_cublas && !found.empty(), launches};
}

bool contains_mkl(const std::string& path) { return !find_markers(path, {&mkl_marker, 1}).empty(); }

}  // namespace fp32shim::cli
