// Where this machine has CUDA's libraries.
#pragma once

#include <string>

#include "gpu_check/workers/ask.hpp"

namespace gpu {

struct CudaFolders {
    int major = 0;                          ///< of cuBLAS: 13 or 12
    std::string driver, cublas, cublas_lt;  ///< folders; "loader": the loader finds the library by itself
    std::string search;                     ///< LD_LIBRARY_PATH for those that need it
};

/// Finds a cuBLAS that runs on this machine, and measures the section `machine` with it. libraries: the only folder
/// to look into; empty: the loader's path, CUDA toolkits, and the packages of `python`. `asking` gets the variables
/// that workers need; the finding `instead_of_13` says why a newer one does not run. Throws NoDevice, with one line
/// that says what is missing, and std::runtime_error where a device does not work.
CudaFolders find_cuda(const std::string& libraries, const std::string& python, Asking& asking, Findings& findings);

}  // namespace gpu
