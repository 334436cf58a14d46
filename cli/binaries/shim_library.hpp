// Finds libfp32shim.so, the library to preload.
#pragma once

#include <string>

namespace fp32shim::cli {

/// The library, or the problem.
struct ShimLibrary {
    std::string path;     ///< absolute; empty if there is a problem
    std::string problem;  ///< one line: the place searched, and the remedy
};

/// Returns FP32SHIM_LIBRARY if it is set, otherwise libfp32shim.so in the folder of this program or in the library
/// folder beside it.
ShimLibrary find_shim_library();

}  // namespace fp32shim::cli
