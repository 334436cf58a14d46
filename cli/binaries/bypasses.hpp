// Finds the bypasses in a file: code that multiplies without calling a BLAS function of another object, so that the
// shim cannot intercept it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

/// Code in one file that multiplies matrices without calling a function that the shim intercepts.
struct Bypass {
    std::string name;         ///< word for `--assume-unused`: `oneDNN`, `static-BLAS`
    std::string title;        ///< name in messages: `oneDNN`, `OpenBLAS, linked statically`
    std::string object;       ///< path of the file that contains the bypass
    std::string device;       ///< `gpu`: counts only if a GPU driver was loaded; otherwise `cpu`
    std::string message;      ///< text after the title in messages: `multiplies with kernels of its own, …`
    std::string remedy;       ///< advice on how to control the bypass; empty: none
    std::uint16_t pins = 0;   ///< environment variables (pin_…) that together keep the bypass at float32; 0: none
    bool is_float32 = false;  ///< always multiplies at float32, so no verdict depends on it
};

/// Functions that a file looks up at run time (dlsym, cuGetProcAddress). The file contains their names as text, but
/// neither imports nor exports such functions.
struct RuntimeLookupFlags {
    bool cublas = false;   ///< functions of cuBLAS that multiply, as XLA does
    bool kernels = false;  ///< functions of the CUDA driver that launch kernels, as libcudart does
};

struct ScannedFile {
    std::vector<std::uint8_t> build_id;  ///< empty: none
    std::vector<Bypass> bypasses;
    RuntimeLookupFlags looked_up;
};

/// Finds the bypasses in a file, by its name, exports, hidden symbols and texts. Returns nullopt if it cannot be read
/// or is no ELF file. A large file is scanned once, because a scan of libtorch_cpu.so takes seconds: the result is
/// kept in $XDG_CACHE_HOME/fp32shim/libraries (without the variable, in ~/.cache/fp32shim/libraries) and used again
/// while path, device, inode, size and both times of the file, and this program, are the same. Build ids would not
/// do, since strip and patchelf keep them. The cache is used only if it and all folders above it are safe from other
/// users (UserOwnedFolder); otherwise each call scans. Thread-safe; several processes may use one cache.
std::optional<ScannedFile> scan_for_bypasses(const std::string& path);
/// Returns the bypasses that a file name alone implies. The file need not exist.
std::vector<Bypass> find_bypasses_by_name(const std::string& path);
/// Returns the names of all bypasses known to fp32shim, in the form that `--assume-unused` accepts.
std::vector<std::string_view> bypass_names();

/// Returns true if the file contains MKL.
bool contains_mkl(const std::string& path);

}  // namespace fp32shim::cli
