// Roads past the shim: libraries whose products are no call of a BLAS function between two objects.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor_elf.hpp"

namespace fp32shim::cli {

/// Something that multiplies unseen.
struct Road {
    std::string name;     ///< `oneDNN`
    std::string object;   ///< the file that has it
    std::string device;   ///< `cpu`, `gpu`
    std::string message;  ///< what it multiplies, and why that is not seen
    std::string remedy;   ///< what governs it; empty: nothing
};

/// The roads that a file has inside, by what it is called, exports, hides and contains.
std::vector<Road> find_roads(const std::string& path, const ElfFile& elf);

/// Whether a file has the names of cuBLAS functions as text, and neither imports nor exports them: it asks for them
/// by dlsym, as XLA does.
bool looks_cublas_up(const std::string& path, const ElfFile& elf);

/// Whether MKL is in the file.
bool contains_mkl(const std::string& path);

}  // namespace fp32shim::cli
