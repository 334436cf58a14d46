// Finds the bypasses in a file. A bypass is code that multiplies without calling a BLAS function of another object,
// so that the shim cannot intercept the call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

/// Code in one file that multiplies matrices without calling a function that the shim intercepts.
struct Bypass {
    std::string name;        ///< name that `--assume-unused` accepts, such as `oneDNN` or `static-BLAS`
    std::string title;       ///< name in messages, such as `oneDNN` or `OpenBLAS, linked statically`
    std::string object;      ///< path of the file that contains the bypass
    std::string device;      ///< `gpu` if the bypass counts only when a GPU driver was loaded; otherwise `cpu`
    std::string message;     ///< text after the title in messages, such as `multiplies with kernels of its own, …`
    std::string remedy;      ///< advice on how to control the bypass; empty if there is none
    std::uint16_t pins = 0;  ///< bits of the environment variables (pin_…) that together keep the bypass at float32;
                             ///< 0 if there are none
    bool is_float32 =
        false;  ///< the bypass always multiplies at float32, so no verdict of `fp32shim verify` depends on it
};

/// Says which functions a file looks up at run time with dlsym or cuGetProcAddress. The file contains the names of
/// the functions as text, but neither imports nor exports the functions.
struct RuntimeLookupFlags {
    bool cublas = false;   ///< cuBLAS functions that multiply are looked up, as XLA does
    bool kernels = false;  ///< functions of the CUDA driver that launch kernels are looked up, as libcudart does
};

struct ScannedFile {
    std::vector<std::uint8_t> build_id;  ///< empty if the file has no build id
    std::vector<Bypass> bypasses;
    RuntimeLookupFlags looked_up;
};

/// Finds the bypasses in a file by its name, exports, hidden symbols and texts. Returns nullopt if the file cannot be
/// read or is no ELF file. A scan of libtorch_cpu.so takes seconds, so the result for a large file is kept in
/// $XDG_CACHE_HOME/fp32shim/libraries (without the variable, in ~/.cache/fp32shim/libraries). It is used again while
/// the path, device, inode, size and both time stamps of the file, and this program, are the same. The build id of
/// the file would not do, because strip and patchelf change a file but keep its build id. The cache is used only if
/// its folder and all folders above are safe from other users (see UserOwnedFolder). The function is thread-safe, and
/// several processes may share one cache.
std::optional<ScannedFile> scan_for_bypasses(const std::string& path);
/// Returns the bypasses that a file name alone implies. The file need not exist.
std::vector<Bypass> find_bypasses_by_name(const std::string& path);
/// Returns the names of all bypasses known to fp32shim, in the form that `--assume-unused` accepts.
std::vector<std::string_view> bypass_names();

/// Returns true if the file contains MKL.
bool contains_mkl(const std::string& path);

}  // namespace fp32shim::cli
