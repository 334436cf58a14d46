// Roads past the shim: libraries whose products are no call of a BLAS function between two objects. The one table of
// them, for `fp32shim doctor` and `fp32shim verify`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/binaries/elf_file.hpp"

namespace fp32shim::cli {

/// Something that multiplies unseen.
struct Road {
    std::string word;        ///< for options: `oneDNN`, `static-BLAS`
    std::string name;        ///< for people: `oneDNN`, `OpenBLAS, linked statically`
    std::string object;      ///< the file that has it
    std::string device;      ///< `cpu`, `gpu`
    std::string message;     ///< what it multiplies, and why that is not seen
    std::string remedy;      ///< what governs it; empty: nothing
    std::uint16_t pins = 0;  ///< record::pin_…: variables that all together keep it at float32; 0: none do
};

/// The roads that a file has inside, by what it is called, exports, hides and contains.
std::vector<Road> find_roads(const std::string& path, const ElfFile& elf);
/// Those that a file has to have by its name alone: it need not be there.
std::vector<Road> find_roads_by_name(const std::string& path);
/// The words of all roads.
std::vector<std::string_view> road_words();

/// Whether a file has the names of cuBLAS functions as text, and neither imports nor exports them: it asks for them
/// by dlsym, as XLA does.
bool looks_cublas_up(const std::string& path, const ElfFile& elf);

/// Whether MKL is in the file.
bool contains_mkl(const std::string& path);

}  // namespace fp32shim::cli
