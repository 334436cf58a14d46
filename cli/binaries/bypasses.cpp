#include "cli/binaries/bypasses.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <system_error>

#include "cli/binaries/function_kind.hpp"
#include "cli/binaries/half_products.hpp"
#include "cli/binaries/known_bypasses.hpp"
#include "cli/binaries/program_file.hpp"
#include "cli/files/own_files.hpp"
#include "system/hash.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Bypass, name, title, object, device, message, remedy, pins, is_float32)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RuntimeLookupFlags, cublas, kernels)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ScannedFile, build_id, bypasses, looked_up)

namespace {

/// A BLAS library that is recognised by a string in a file. The string is still there after static linking and
/// stripping.
struct KnownBlas {
    std::string_view name;
    std::string_view marker;
};
constexpr std::string_view mkl_marker = "MKL FATAL ERROR";
constexpr KnownBlas known_blas[] = {
    {"OpenBLAS", "OpenBLAS : Program is Terminated"}, {"BLIS", "libblis: "}, {"MKL", mkl_marker}};

constexpr std::string_view static_blas_name = "static-BLAS", half_code_name = "half-code";

/// Beginnings of names of files whose instructions for BF16 or FP16 are no bypass. The parts of MKL are listed
/// because the shim sees the calls that enter MKL. numpy's main library uses such instructions only in functions for
/// its type float16.
constexpr std::string_view harmless_half_code[] = {"libmkl_", "libmklml_", "_multiarray_umath."};

constexpr std::string_view launch_marker = "cuLaunchKernel";
constexpr std::string_view lookup_markers[] = {"cublasGemmEx", "cublasSgemm_v2", "cublasLtMatmul", launch_marker};

bool begins_with_any(std::string_view name, std::span<const std::string_view> beginnings) {
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

/// Returns a remark on the functions of a statically linked BLAS, such as ` (12 of its functions are defined but not
/// exported: sgemm_, …)`. Returns an empty text if `names` is empty. If `are_exported` is true, the remark says
/// `defined and found before those of any preload`, because the loader finds functions that a program exports before
/// preloaded ones.
std::string functions_text(const std::vector<std::string>& names, bool are_exported) {
    if (names.empty()) return {};
    return fmt::format(" ({} of its functions {} {}: {}{})", names.size(), names.size() == 1 ? "is" : "are",
                       are_exported ? "defined and found before those of any preload" : "defined but not exported",
                       names.front(), names.size() > 1 ? ", …" : "");
}

/// Adds a bypass if a BLAS is linked into the file statically. Three signs show this: BLAS functions that a program
/// exports, BLAS functions that any file defines without exporting them, and, in stripped files, the texts in
/// `markers`. The bypass is assumed to multiply at float32 unless the file has functions for narrower operands, such
/// as sbgemm.
void add_static_blas(const std::string& path, const ElfFile& elf, const Markers& markers,
                     std::vector<Bypass>& bypasses) {
    std::vector<std::string> hidden;
    for (const std::string& name : elf.hidden)
        if (function_kind(name) == FunctionKind::blas) hidden.push_back(name);
    std::string which;
    for (const KnownBlas& blas : known_blas)
        if (markers.contains(blas.marker)) which = blas.name;
    std::vector<std::string> exported;
    if (!elf.interpreter.empty())
        for (const ElfSymbol& symbol : elf.exports)
            if (function_kind(symbol.name) == FunctionKind::blas) exported.push_back(symbol.name);
    const bool imports = has_function_of_kind(elf.imports, FunctionKind::blas);
    // In wheels, `sgemm_` is often a local function of a few instructions that calls `scipy_sgemm_` in another
    // library. Such functions are no sign of a static BLAS.
    if (imports && which.empty()) hidden.clear();
    const bool takes_part = imports || has_function_of_kind(elf.exports, FunctionKind::blas);
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

/// Adds a bypass if the file has instructions that multiply BF16 or FP16, and nothing else explains them. They are
/// explained if the file has another bypass for CPUs that can multiply below float32, or if it exports functions for
/// narrow operands, such as OpenBLAS's sbgemm, whose calls are seen.
void add_half_code(const std::string& path, const ElfFile& elf, std::vector<Bypass>& bypasses) {
    const std::string_view base_name = system::base_name(path);
    const bool is_explained =
        std::ranges::any_of(elf.exports, [](const ElfSymbol& symbol) { return has_narrow_operands(symbol.name); }) ||
        begins_with_any(base_name, harmless_half_code) ||
        std::ranges::any_of(bypasses, [](const Bypass& each) { return each.device == "cpu" && !each.is_float32; });
    if (is_explained) return;
    const HalfPrecisionInstructionCounts found = count_half_precision_instructions(path);
    if (found == HalfPrecisionInstructionCounts()) return;
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

/// Returns the bypasses in a file. They are recognised by its name, exports, hidden symbols and texts.
std::vector<Bypass> find_bypasses(const std::string& path, const ElfFile& elf) {
    std::vector<std::string_view> wanted;
    for (const KnownBypass& known : known_bypasses())
        wanted.insert(wanted.end(), known.markers.begin(), known.markers.end());
    for (const KnownBlas& blas : known_blas) wanted.push_back(blas.marker);
    const Markers markers = find_markers(path, wanted);
    // Only the fp32shim program itself contains all markers, because it contains these tables. It multiplies nothing,
    // but a recorded run may start it.
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

RuntimeLookupFlags find_runtime_lookups(const std::string& path, const ElfFile& elf) {
    const std::string_view name = system::base_name(path);
    if (name.starts_with("libcublas") || name.starts_with("libcuda.")) return {};
    const bool has_cublas = has_function_of_kind(elf.imports, FunctionKind::cublas) ||
                            has_function_of_kind(elf.exports, FunctionKind::cublas);
    Markers found = find_markers(path, lookup_markers);
    const bool launches = found.erase(launch_marker) > 0;
    return {!has_cublas && !found.empty(), launches};
}

// ---- The following code caches the results of scans of large files.

/// Results of files below this size are not cached, because a scan of such a file takes less time than a look into
/// the cache.
constexpr off_t smallest_kept_size = 1 << 20;
/// The number of cached results above which the oldest ones are removed.
constexpr std::size_t max_results = 2000;
/// The largest size in bytes of a cached result that is read. Usual results have about 1,000 bytes.
constexpr std::size_t max_result_bytes = 1 << 20;

constexpr std::string_view result_ending = ".json";
constexpr std::size_t digits = 16;

/// Returns true for names such as `0123456789abcdef.json`. Also returns true if a dot and 16 more digits follow,
/// which is the name of a result's file until the file is complete.
bool is_name_of_result(std::string_view name) {
    const auto has_digits_at = [&](std::size_t at) {
        return name.substr(at, digits).find_first_not_of("0123456789abcdef") == std::string_view::npos;
    };
    constexpr std::size_t whole = digits + result_ending.size();
    if (name.size() < whole || !has_digits_at(0) || name.substr(digits, result_ending.size()) != result_ending)
        return false;
    return name.size() == whole ||
           (name.size() == whole + 1 + digits && name[whole] == '.' && has_digits_at(whole + 1));
}

/// Returns a text that changes whenever a file changes. Returns an empty text if the file is smaller than
/// `smallest_size`, has just changed, or cannot be examined.
std::string state_text(const std::string& path, off_t smallest_size) {
    struct stat facts = {};
    if (stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size < smallest_size) return {};
    // A file system's clock may stand still for some milliseconds, so a file that has just changed may change again
    // without getting another time stamp.
    if (facts.st_ctim.tv_sec + 2 > time(nullptr)) return {};
    const auto text_of = [](const timespec& at) { return fmt::format("{}.{:09}", at.tv_sec, at.tv_nsec); };
    return fmt::format("{} device {} inode {} size {} modified {} changed {}", path, facts.st_dev, facts.st_ino,
                       facts.st_size, text_of(facts.st_mtim), text_of(facts.st_ctim));
}

/// Returns a text that differs between builds of this program, because the tables in this program decide what a scan
/// finds.
const std::string& program_text() {
    static const std::string text = state_text(own_program_path(), 0);
    return text;
}

/// Opens the folder of the cache, and creates it if `makes` is true and the home folder exists. The result is not
/// open if the user has no such folder. UserOwnedFolder refuses folders of other users. HOME may name one under sudo,
/// which may leave HOME unchanged.
UserOwnedFolder cache_folder(bool makes) {
    const auto folder_in = [](const char* variable) {
        const char* const value = std::getenv(variable);
        return std::string(value != nullptr && *value == '/' ? value : "");
    };
    std::string base = folder_in("XDG_CACHE_HOME");
    std::error_code error;
    if (base.empty()) {
        base = folder_in("HOME");
        if (!base.empty()) base = std::filesystem::is_directory(base, error) ? base + "/.cache" : "";
    }
    return {base, {"fp32shim", "libraries"}, makes};
}

/// The result of an earlier scan of one file, which is kept in a JSON file of the cache.
class CachedScan {
  public:
    explicit CachedScan(const std::string& path) {
        const std::string state = state_text(path, smallest_kept_size);
        if (state.empty() || program_text().empty()) return;
        key_ = state + " by " + program_text();
        name_ = fmt::format("{:016x}{}", system::Hash().add(key_).value(), result_ending);
    }

    /// Returns the kept result, or nullopt if there is none or it is damaged.
    std::optional<ScannedFile> read() const {
        if (name_.empty()) return std::nullopt;
        const UserOwnedFolder folder = cache_folder(false);
        if (!folder.is_open()) return std::nullopt;
        try {
            const auto json = nlohmann::json::parse(folder.read_file(name_, max_result_bytes).text);
            if (json.at("key") == key_) return json.at("found").get<ScannedFile>();
        } catch (const nlohmann::json::exception&) {
            // A damaged result counts as absent.
        }
        return std::nullopt;
    }

    void write(const ScannedFile& file) const {
        if (name_.empty()) return;
        const UserOwnedFolder folder = cache_folder(true);
        std::uint64_t number = 0;
        if (!folder.is_open() || getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) return;
        const nlohmann::json json = {{"key", key_}, {"found", file}};
        folder.replace_file(name_, fmt::format("{}.{:016x}", name_, number),
                            json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
        remove_old(folder);
    }

  private:
    static void remove_old(const UserOwnedFolder& folder) {
        const auto all = folder.list_entries(is_name_of_result);
        if (all.size() <= max_results) return;
        for (std::size_t i = 0; i < all.size() - max_results / 2; ++i) folder.remove_entry(all[i].name);
    }

    std::string name_;  ///< name of the result's file; empty if the result is not kept
    std::string key_;
};

}  // namespace

std::optional<ScannedFile> scan_for_bypasses(const std::string& path) {
    const CachedScan kept(path);
    if (auto known = kept.read()) return known;
    const auto elf = read_elf(path, is_intercepted);
    if (!elf) return std::nullopt;
    ScannedFile file{elf->build_id, find_bypasses(path, *elf), find_runtime_lookups(path, *elf)};
    kept.write(file);
    return file;
}

std::vector<Bypass> find_bypasses_by_name(const std::string& path) {
    std::vector<Bypass> bypasses;
    for (const KnownBypass& known : known_bypasses())
        if (begins_with_any(system::base_name(path), known.files)) bypasses.push_back(bypass_in(known, path));
    return bypasses;
}

std::vector<std::string_view> bypass_names() {
    std::vector<std::string_view> names;
    for (const KnownBypass& known : known_bypasses()) names.push_back(known.name);
    names.insert(names.end(), {static_blas_name, half_code_name});
    return names;
}

bool contains_mkl(const std::string& path) { return !find_markers(path, {&mkl_marker, 1}).empty(); }

}  // namespace fp32shim::cli
