// Where libfp32shim.so is: what `run` and `doctor` preload.
#pragma once

#include <string>

namespace fp32shim::cli {

struct ShimLibrary {
    std::string path;     ///< absolute; empty where there is a problem
    std::string problem;  ///< one line: what was looked for, and what to do
};

/// FP32SHIM_LIBRARY where it is set; else libfp32shim.so in the folder of this program, or in the folder that
/// libraries are installed or built to beside it.
ShimLibrary find_shim_library();

}  // namespace fp32shim::cli
