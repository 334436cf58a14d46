#include "cli/doctor/blas.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>

#include "cli/binaries/worker_process.hpp"
#include "cli/run/process_environment.hpp"
#include "policy/words.hpp"

namespace fp32shim::cli {
namespace {

#if defined(__x86_64__)
constexpr std::string_view cache_architecture = "x86-64";
#else
constexpr std::string_view cache_architecture = "AArch64";
#endif

constexpr std::string_view library_names[] = {
    "libblas.",   "libblas64.", "libcblas.", "libopenblas", "libblis",           "libmkl_rt.",   "libflexiblas.",
    "libsatlas.", "libtatlas.", "libatlas.", "libarmpl",    "libblastrampoline", "libnvpl_blas", "libnvblas.",
};

bool is_library_name(std::string_view name) {
    // A file name without a version, such as `libblas.so`, is a link that only linkers use, when a program is built.
    return name.find(".so.") != std::string_view::npos &&
           std::ranges::any_of(library_names, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// A library with the name for which the loader searches and the path at which the loader finds it.
struct LocatedLibrary {
    std::string name;
    std::string path;
};

/// Returns the libraries in the loader's cache. `ldconfig -p` prints them in lines like
///   `libblas.so.3 (libc6,x86-64) => /lib/…/libblas.so.3`.
std::vector<LocatedLibrary> read_loader_cache() {
    std::vector<LocatedLibrary> found;
    const std::unique_ptr<FILE, int (*)(FILE*)> output(
        popen("PATH=/sbin:/usr/sbin:$PATH ldconfig -p 2>/dev/null", "r"), pclose);
    if (!output) return found;
    std::string text;
    std::array<char, 4096> buffer;
    while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), output.get()))
        text.append(buffer.data(), got);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t kind = line.find(" (");
        const std::size_t arrow = line.find(" => ");
        if (line.empty() || line[0] != '\t' || kind == std::string::npos || arrow == std::string::npos) continue;
        if (line.substr(kind, arrow - kind).find(cache_architecture) == std::string::npos) continue;
        found.push_back({line.substr(1, kind - 1), line.substr(arrow + 4)});
    }
    return found;
}

/// Returns the libraries that the loader finds by name, in the order of its search: first LD_LIBRARY_PATH, then its
/// cache.
std::vector<LocatedLibrary> findable_libraries() {
    std::vector<LocatedLibrary> found;
    const char* variable = std::getenv("LD_LIBRARY_PATH");
    for (const std::string& folder : split_list(variable == nullptr ? "" : variable, ":;")) {
        std::error_code error;
        const auto first = static_cast<std::ptrdiff_t>(found.size());
        for (const auto& entry : std::filesystem::directory_iterator(folder, error))
            found.push_back({entry.path().filename().string(), entry.path().string()});
        std::ranges::sort(found.begin() + first, found.end(), {}, &LocatedLibrary::name);
    }
    std::vector<LocatedLibrary> cache = read_loader_cache();
    found.insert(found.end(), cache.begin(), cache.end());
    return found;
}

std::string exported_name_with(const ElfFile& elf, std::string_view part) {
    const auto found = std::ranges::find_if(
        elf.exports, [&](const std::string& name) { return name.find(part) != std::string::npos; }, &ElfSymbol::name);
    return found == elf.exports.end() ? std::string() : found->name;
}

std::string call_text_function(void* library, const std::string& name) {
    if (name.empty()) return {};
    const auto get = reinterpret_cast<const char* (*)()>(dlsym(library, name.c_str()));
    const char* text = get == nullptr ? nullptr : get();
    return text == nullptr ? std::string() : text;
}

/// Returns the second word of OpenBLAS's configuration text, its version: `0.3.21` in `OpenBLAS 0.3.21 NO_LAPACKE`.
std::string version_in(const std::string& config) {
    std::istringstream words(config);
    std::string word;
    words >> word >> word;
    return word;
}

Message ask_openblas(void* library, const std::string& core_name, const std::string& config_name) {
    return {{"kernels", call_text_function(library, core_name)},
            {"version", version_in(call_text_function(library, config_name))}};
}

Message ask_blis(void* library) {
    const auto query = reinterpret_cast<int (*)()>(dlsym(library, "bli_arch_query_id"));
    const auto name_of = reinterpret_cast<const char* (*)(int)>(dlsym(library, "bli_arch_string"));
    const char* kernels = query == nullptr || name_of == nullptr ? nullptr : name_of(query());
    return {{"kernels", kernels == nullptr ? "" : kernels},
            {"version", call_text_function(library, "bli_info_get_version_str")}};
}

Message ask_mkl(void* library) {
    char text[200] = "";
    const auto get = reinterpret_cast<void (*)(char*, int)>(dlsym(library, "MKL_Get_Version_String"));
    if (get != nullptr) get(text, sizeof text - 1);
    return {{"version", std::string(text)}};
}

}  // namespace

bool identifies_blas_implementation(std::string_view name) {
    return name.find("openblas_get_co") != std::string_view::npos || name == "bli_arch_query_id" ||
           name == "MKL_Get_Version_String" || name == "flexiblas_info";
}

BlasLibrary identify_blas(const std::string& soname, const std::string& path) {
    std::error_code error;
    BlasLibrary library{soname, path, std::filesystem::canonical(path, error).string(), "other", {}, {}, {}};
    if (error) library.file = path;
    const auto elf = read_elf(path, identifies_blas_implementation);
    if (!elf) {
        library.problem = "cannot be read as an ELF file";
        return library;
    }
    const std::string core_name = exported_name_with(*elf, "openblas_get_corename");
    std::function<Message(void*)> question;
    if (!core_name.empty()) {
        library.implementation = "OpenBLAS";
        question = [&](void* handle) {
            return ask_openblas(handle, core_name, exported_name_with(*elf, "openblas_get_config"));
        };
    } else if (!exported_name_with(*elf, "bli_arch_query_id").empty()) {
        library.implementation = "BLIS";
        question = ask_blis;
    } else if (!exported_name_with(*elf, "MKL_Get_Version_String").empty()) {
        library.implementation = "MKL";
        question = ask_mkl;
    } else if (!exported_name_with(*elf, "flexiblas_info").empty()) {
        library.implementation = "FlexiBLAS";
    } else if (soname.starts_with("libnvblas.")) {
        library.implementation = "NVBLAS";
    } else {
        // Debian's libblas.so.3 of OpenBLAS only forwards calls to libopenblas.so.0.
        for (const std::string& needed : elf->needed)
            if (is_library_name(needed)) library.implementation = "over " + needed;
    }
    if (!question) return library;
    const auto load_and_ask = [&](const Message&) -> Message {
        void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        return handle == nullptr ? Message{{"problem", std::string(dlerror())}} : question(handle);
    };
    const WorkerAnswer answer = WorkerProcess(load_and_ask).ask();
    library.problem = answer.problem;
    if (!answer.problem.empty()) return library;
    library.kernels = answer.value.value("kernels", "");
    library.version = answer.value.value("version", "");
    library.problem = answer.value.value("problem", "");
    return library;
}

std::vector<BlasLibrary> find_blas_libraries() {
    std::vector<BlasLibrary> libraries;
    // The loader takes the first library with a name, so later libraries with an equal name are skipped.
    std::set<std::string> names;
    for (const LocatedLibrary& candidate : findable_libraries()) {
        if (!is_library_name(candidate.name) || !names.insert(candidate.name).second) continue;
        libraries.push_back(identify_blas(candidate.name, candidate.path));
    }
    return libraries;
}

std::string find_library(const std::string& soname) {
    std::error_code error;
    for (const LocatedLibrary& candidate : findable_libraries())
        if (candidate.name == soname && std::filesystem::exists(candidate.path, error)) return candidate.path;
    for (const char* folder : {"/lib64/", "/usr/lib64/", "/lib/", "/usr/lib/"}) {
        std::string path = folder + soname;
        if (std::filesystem::exists(path, error)) return path;
    }
    return {};
}

}  // namespace fp32shim::cli
