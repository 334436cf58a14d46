// Finds libfp32shim.so, the library that is preloaded into programs.
#pragma once

#include <string>

namespace fp32shim::cli {

/// The path of libfp32shim.so, or the reason why it cannot be preloaded.
struct ShimLibrary {
    std::string path;     ///< absolute path; empty if there is a problem
    std::string problem;  ///< one line with the searched folder and a remedy; empty if there is no problem
};

/// Returns the value of FP32SHIM_LIBRARY if it is set. Otherwise returns the path of libfp32shim.so in the folder of
/// the `fp32shim` command or in the library folder beside it.
ShimLibrary find_shim_library();

}  // namespace fp32shim::cli
