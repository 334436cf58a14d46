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
    std::string soname;  ///< name that programs ask for
    std::string path;    ///< path that the loader finds
    std::string file;    ///< file at the end of links
    std::string
        implementation;   ///< `OpenBLAS`, `BLIS`, `MKL`, `FlexiBLAS`, `NVBLAS`, `over libopenblas.so.0`, `other`
    std::string version;  ///< version that the library tells; empty: unknown
    std::string kernels;  ///< processor that its kernels were written for; empty: unknown
    std::string problem;  ///< failure when it was asked; empty: none
};

/// Returns true for a function that identifies an implementation.
bool is_blas_identity(std::string_view name);

/// Identifies a library by its file, and asks it for its version and kernels in a child process.
BlasLibrary identify_blas(const std::string& soname, const std::string& path);

/// Returns the BLAS libraries that the loader finds by name: in LD_LIBRARY_PATH, then in its cache.
std::vector<BlasLibrary> find_blas_libraries();

/// Returns the path at which the loader finds `soname`; empty if it does not.
std::string find_library(const std::string& soname);

/// Reports kernels that were written for a lesser processor than this one.
std::optional<Finding> judge_kernels(const BlasLibrary& library, const Processor& processor);

}  // namespace fp32shim::cli
