// BLAS libraries by their files: which implementation, and which kernels it picks on this processor.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/binaries/elf_file.hpp"
#include "cli/doctor/finding.hpp"
#include "cli/doctor/machine.hpp"

namespace fp32shim::cli {

struct BlasLibrary {
    std::string soname;  ///< the name that programs ask for
    std::string path;    ///< where the loader finds it
    std::string file;    ///< the file behind links
    std::string
        implementation;   ///< `OpenBLAS`, `BLIS`, `MKL`, `FlexiBLAS`, `NVBLAS`, `over libopenblas.so.0`, `other`
    std::string version;  ///< as the library says; empty: unknown
    std::string kernels;  ///< the processor that its kernels were written for; empty: unknown
    std::string problem;  ///< what happened when it was asked; empty: nothing
};

/// A function by which an implementation is known.
bool is_blas_identity(std::string_view name);

/// Looks at a library, and asks it in a child process.
BlasLibrary identify_blas(const std::string& soname, const std::string& path);

/// What the loader would find by name: LD_LIBRARY_PATH, then its cache.
std::vector<BlasLibrary> find_blas_libraries();

/// Where the loader finds `soname`; empty where it does not.
std::string find_library(const std::string& soname);

/// Kernels for a lesser processor than this one, with the remedy.
std::optional<Finding> judge_kernels(const BlasLibrary& library, const Processor& processor);

}  // namespace fp32shim::cli
