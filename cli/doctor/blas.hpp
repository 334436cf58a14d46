// BLAS libraries on this machine: implementation, version, and the kernels chosen for this processor.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/binaries/elf_file.hpp"
#include "cli/doctor/finding.hpp"
#include "cli/doctor/machine.hpp"

namespace fp32shim::cli {

/// A BLAS library and what is known of it.
struct BlasLibrary {
    std::string soname;  ///< name by which programs ask the loader for it
    std::string path;    ///< path at which the loader finds it
    std::string file;    ///< the path with all symbolic links resolved
    /// `OpenBLAS`, `BLIS`, `MKL`, `FlexiBLAS`, `NVBLAS`, `other`; `over libfoo.so`: only forwards calls to libfoo.so.
    std::string implementation;
    std::string version;  ///< version that the library itself reports; empty: unknown
    std::string kernels;  ///< processor type of the kernels in use, `Haswell`; empty: unknown
    std::string problem;  ///< reason why the library could not be asked; empty: none
};

/// Returns true for the name of a function by which an implementation of BLAS is recognised: `flexiblas_info`.
bool is_blas_identity(std::string_view name);

/// Identifies a library by its file, and asks it for its version and kernels in a child process.
BlasLibrary identify_blas(const std::string& soname, const std::string& path);

/// Returns the BLAS libraries that the loader finds by name: in LD_LIBRARY_PATH, then in its cache.
std::vector<BlasLibrary> find_blas_libraries();

/// Returns the path at which the loader finds `soname`; empty if it does not.
std::string find_library(const std::string& soname);

/// Returns a finding if the library uses kernels for a lesser processor than this machine's.
std::optional<Finding> judge_kernels(const BlasLibrary& library, const Processor& processor);

}  // namespace fp32shim::cli
