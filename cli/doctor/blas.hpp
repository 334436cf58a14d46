// Finds the BLAS libraries on this machine, with their implementations, their versions and the kernels that they
// chose for this processor.
#pragma once

#include <string>
#include <vector>

#include "cli/binaries/elf_file.hpp"

namespace fp32shim::cli {

/// A BLAS library and its known properties.
struct BlasLibrary {
    std::string soname;  ///< name by which programs request it from the loader
    std::string path;    ///< path at which the loader finds it
    std::string file;    ///< the path with all symbolic links resolved
    /// `OpenBLAS`, `BLIS`, `MKL`, `FlexiBLAS`, `NVBLAS` or `other`. A library that only forwards its calls to
    /// `libfoo.so` has the value `over libfoo.so`.
    std::string implementation;
    std::string version;  ///< version that the library itself reports; empty if it is unknown
    std::string kernels;  ///< type of processor for which the kernels in use were written, such as `Haswell`; empty
                          ///< if it is unknown
    std::string problem;  ///< reason why version and kernels could not be read from the library; empty if they could
};

/// Returns true if only one implementation of BLAS exports a function of this name. FlexiBLAS, for example, exports
/// `flexiblas_info`.
bool identifies_blas_implementation(std::string_view name);

/// Identifies a library by its file, then loads it in a child process to read its version and kernels.
BlasLibrary identify_blas(const std::string& soname, const std::string& path);

/// Returns the BLAS libraries that the loader finds by name in LD_LIBRARY_PATH and then in its cache.
std::vector<BlasLibrary> find_blas_libraries();

/// Returns the path at which the loader finds `soname`; empty if it finds none.
std::string find_library(const std::string& soname);

}  // namespace fp32shim::cli
