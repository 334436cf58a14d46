// Finds the bypasses in a file: code that multiplies without calling a BLAS function of another object, so that the
// shim cannot intercept the product.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/binaries/elf_file.hpp"

namespace fp32shim::cli {

/// A bypass that one file contains.
struct Bypass {
    std::string name;        ///< `--assume-unused` takes this name: `oneDNN`, `static-BLAS`
    std::string title;       ///< name in sentences: `oneDNN`, `OpenBLAS, linked statically`
    std::string object;      ///< path of the file
    std::string device;      ///< `cpu` or `gpu`
    std::string message;     ///< sentence after the title: how it multiplies
    std::string remedy;      ///< setting that governs it; empty where there is none
    std::uint16_t pins = 0;  ///< record::pin_…: variables that together keep it at float32; 0 where none do
};

/// Returns the bypasses in a file, judged by its name, exports, hidden symbols and texts.
std::vector<Bypass> find_bypasses(const std::string& path, const ElfFile& elf);
/// Returns the bypasses that a file name alone implies. The file need not exist.
std::vector<Bypass> find_bypasses_by_name(const std::string& path);
/// Names of all bypasses.
std::vector<std::string_view> bypass_names();

/// Returns true if the file looks cuBLAS functions up by dlsym, as XLA does: it has their names as text, and neither
/// imports nor exports them.
bool looks_cublas_up(const std::string& path, const ElfFile& elf);

/// Returns true if MKL is in the file.
bool contains_mkl(const std::string& path);

}  // namespace fp32shim::cli
