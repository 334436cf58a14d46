// Finds CUDA's libraries on this machine.
#pragma once

#include <string>

#include "gpu_check/workers/ask.hpp"

namespace gpu {

/// The folders with the libraries of a cuBLAS that runs on this machine.
struct CudaFolders {
    int major = 0;  ///< major version of cuBLAS: 13 or 12
    /// Folders of the three libraries. The value is "loader" if the loader finds the library itself.
    std::string driver, cublas, cublas_lt;
    std::string search;  ///< LD_LIBRARY_PATH for programs that need these libraries
};

/// Finds a cuBLAS that runs on this machine, and measures the section `machine` with it. `libraries` is the only
/// folder to search for cuBLAS; if it is empty, the loader's path, CUDA toolkits, and the packages of `python` are
/// searched. Adds the environment variables that the measuring processes need to `settings`. If cuBLAS 13 does not
/// run but cuBLAS 12 does, the finding `instead_of_13` has the reason. Throws NoDeviceError, with one line about what
/// is missing, or std::runtime_error if the device does not work.
CudaFolders find_working_cublas(const std::string& libraries, const std::string& python,
                                MeasurementSettings& settings, FindingMap& findings);

}  // namespace gpu
