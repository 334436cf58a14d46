#include "cli/binaries/shim_library.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "cli/binaries/function_kind.hpp"
#include "cli/binaries/program_file.hpp"
#include "policy/messages.hpp"

namespace fp32shim::cli {
namespace {

ShimLibrary checked_shim_library(std::filesystem::path path) {
    std::error_code error;
    path = std::filesystem::absolute(path, error);
    if (error || !std::filesystem::is_regular_file(path, error))
        return {{}, "the library to preload does not exist: " + policy::quoted_path(path.string())};
    // LD_PRELOAD is a list whose separators, colons and white space, cannot be quoted.
    if (path.string().find_first_of(" :\t\n") != std::string::npos)
        return {{},
                "LD_PRELOAD cannot hold a path with a blank or a colon: " + policy::quoted_path(path.string()) +
                    "; set FP32SHIM_LIBRARY to a link to it from elsewhere"};
    if (!is_shim_library(path.string()))
        return {{},
                "the library to preload is not that of fp32shim, or is not for this processor: " +
                    policy::quoted_path(path.string()) + "; set FP32SHIM_LIBRARY to libfp32shim.so"};
    return {path.lexically_normal().string(), {}};
}

}  // namespace

ShimLibrary find_shim_library() {
    const char* chosen = std::getenv("FP32SHIM_LIBRARY");
    if (chosen != nullptr && *chosen != '\0') return checked_shim_library(chosen);
    const std::string found = find_installed_file({".", FP32SHIM_INSTALL_LIBDIR, "../lib"}, "libfp32shim.so");
    if (!found.empty()) return checked_shim_library(found);
    const std::filesystem::path here = std::filesystem::path(own_program_path()).parent_path();
    return {{},
            "libfp32shim.so is neither beside this program nor in " +
                policy::quoted_path((here / "../lib").lexically_normal().string()) +
                "; set FP32SHIM_LIBRARY to its path"};
}

}  // namespace fp32shim::cli
