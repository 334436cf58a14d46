#include "gpu_check/checks/cuda_folders.hpp"

#include <dlfcn.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace gpu {
namespace {

using Folders = std::vector<std::string>;
constexpr const char* by_loader = "loader";

Folders folders_matching(const std::string& pattern) {
    Folders result;
    glob_t found{};
    if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
        result.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
    return result;
}

std::string value_of(const Environment& environment, const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? "" : found->second;
}

/// Returns the folders in the list of an environment variable such as PATH.
Folders folders_in(const Environment& environment, const char* name) {
    Folders result = split(value_of(environment, name), ':');
    std::erase(result, "");
    return result;
}

Folders driver_folders() {
    return {"/usr/local/nvidia/lib64", "/usr/local/nvidia/lib",     "/usr/lib64",
            "/usr/lib/wsl/lib",        "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
            "/run/opengl-driver/lib",  "/usr/local/cuda/compat"};
}

/// Returns the folders of libraries in the CUDA toolkits at `roots`.
Folders libraries_of(const Folders& roots) {
    Folders result;
    for (const std::string& root : roots) {
        if (root.empty()) continue;
        for (const std::string& folder : {root + "/lib64", root + "/lib"}) result.push_back(folder);
        for (const std::string& folder : folders_matching(root + "/targets/*-linux/lib")) result.push_back(folder);
    }
    return result;
}

/// Returns the roots of CUDA toolkits that no variable names: those in the usual folders, and those whose `nvcc` is
/// in PATH.
Folders toolkits(const Environment& environment) {
    Folders roots = {"/usr/local/cuda"};
    for (const std::string& root : folders_matching("/usr/local/cuda-*")) roots.push_back(root);
    for (const std::string& folder : folders_in(environment, "PATH"))
        if (std::error_code error; std::filesystem::exists(folder + "/nvcc", error)) roots.push_back(folder + "/..");
    return roots;
}

/// Returns the library folders of NVIDIA's packages that the interpreter `python` can import.
Folders nvidia_folders_of_python(const std::string& python, const MeasurementSettings& settings) {
    constexpr const char* script =
        "import glob, site, sys\n"
        "for folder in dict.fromkeys([*sys.path, *site.getsitepackages(), site.getusersitepackages()]):\n"
        "    print(*sorted(glob.glob(glob.escape(folder) + '/nvidia/*/lib')) if folder else [], sep='\\n')\n";
    Folders result;
    const auto until = std::min(settings.until, Clock::now() + std::chrono::seconds(20));
    run_process({python, "-c", script}, settings.environment, until, [&](const std::string& line) {
        if (!line.empty()) result.push_back(line);
    });
    return result;
}

/// Returns true if the loader finds the library by its name alone. Programs that are started with this process's
/// environment then find it, too.
bool loader_finds(const std::string& name) {
    void* const library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library != nullptr) dlclose(library);
    return library != nullptr;
}

/// The folders to search for a library. They are searched in the order of the members.
struct SearchFolders {
    std::string only;  ///< the only folder to search; empty if all are searched
    /// `of_loader` has the folders in LD_LIBRARY_PATH, `named` those of CUDA_PATH and CUDA_HOME, `others` the rest.
    Folders of_loader, named, others;
};

/// Returns the folder that has the file. Returns by_loader if the loader finds the file itself, and an empty text if
/// the file was not found.
std::string find_library(const std::string& name, const SearchFolders& search) {
    std::error_code ignored;
    const auto has_it = [&](const std::string& folder) {
        return std::filesystem::exists(folder + "/" + name, ignored);
    };
    const auto first_of = [&](const Folders& folders) {
        const auto found = std::ranges::find_if(folders, has_it);
        return found == folders.end() ? std::string() : *found;
    };
    if (!search.only.empty()) return has_it(search.only) ? search.only : "";
    if (!first_of(search.of_loader).empty()) return by_loader;
    if (const std::string folder = first_of(search.named); !folder.empty()) return folder;
    return loader_finds(name) ? by_loader : first_of(search.others);
}

std::string search_path(const CudaFolders& found, const Environment& environment) {
    std::string path = value_of(environment, "LD_LIBRARY_PATH");
    for (const std::string& folder : {found.driver, found.cublas_lt, found.cublas}) {
        if (folder == by_loader || (":" + path + ":").find(":" + folder + ":") != std::string::npos) continue;
        path = path.empty() ? folder : folder + ":" + path;
    }
    return path;
}

/// Measures the section `machine` with the cuBLAS that was found. Returns the reason why this cuBLAS cannot run, or
/// an empty text if it runs.
std::string try_cublas(const CudaFolders& found, MeasurementSettings& settings, FindingMap& findings) {
    settings.environment["LD_LIBRARY_PATH"] = found.search;
    settings.environment["GPU_CUBLAS_MAJOR"] = std::to_string(found.major);
    FindingMap of_this;
    measure_section(section_named("machine"), settings, of_this);
    if (const auto& failures = of_this.values_of("failure"); !failures.empty()) return failures.front();
    findings = of_this;
    return {};
}

}  // namespace

CudaFolders find_working_cublas(const std::string& libraries, const std::string& python,
                                MeasurementSettings& settings, FindingMap& findings) {
    const Environment& environment = settings.environment;
    SearchFolders search{libraries, folders_in(environment, "LD_LIBRARY_PATH"), {}, driver_folders()};
    CudaFolders found;
    found.driver = find_library("libcuda.so.1", search);
    if (found.driver.empty())
        found.driver = find_library("libcuda.so.1", {"", search.of_loader, {}, driver_folders()});
    if (found.driver.empty())
        throw NoDeviceError("no CUDA device: there is no libcuda.so.1, the NVIDIA driver's library");
    search.named = libraries_of({value_of(environment, "CUDA_PATH"), value_of(environment, "CUDA_HOME")});
    search.others = libraries_of(toolkits(environment));
    if (libraries.empty())
        for (const std::string& folder : nvidia_folders_of_python(python, settings)) search.others.push_back(folder);
    std::string problem;
    bool has_device = false;
    for (const int major : {13, 12}) {
        const std::string end = ".so." + std::to_string(major);
        found.major = major;
        found.cublas = find_library("libcublas" + end, search);
        found.cublas_lt = find_library("libcublasLt" + end, search);
        if (found.cublas.empty() || found.cublas_lt.empty()) continue;
        found.search = search_path(found, settings.environment);
        try {
            const std::string failure = try_cublas(found, settings, findings);
            if (failure.empty()) {
                if (!problem.empty()) findings.add("instead_of_13", problem);
                return found;
            }
            has_device = true;
            if (problem.empty()) problem = failure;
        } catch (const NoDeviceError& absent) {
            if (problem.empty()) problem = absent.what();
        }
    }
    if (problem.empty()) problem = "no cuBLAS: there is no libcublas.so.13 or .12 with its libcublasLt";
    if (has_device) throw std::runtime_error("the device does not work: " + problem);
    throw NoDeviceError(problem);
}

}  // namespace gpu
