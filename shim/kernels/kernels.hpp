// The GPU kernels of this process: which handle of the CUDA driver stands for which kernel, and the format in which
// each multiplies. Entries are never freed.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "record/kernels/judge.hpp"

namespace fp32shim::kernels {

struct GpuImage;

/// A kernel of a loaded image.
struct Kernel {
    std::string_view name;  ///< name that the driver has for the kernel; ends with a NUL
    GpuImage* image;        ///< nullptr: the image's loading was not seen
    std::uint64_t number;   ///< unique, from 1
    std::atomic<const record::KernelJudgement*> judgement{nullptr};  ///< nullptr: not launched yet
};

/// A handle of the driver: CUmodule, CUlibrary, CUfunction or CUkernel.
using Handle = const void*;

/// Notes that the driver has loaded an image, which lies at `code` (a fatbin, its wrapper, a cubin or PTX), at the
/// request of the library `caller`. If the image is in memory that the program may change or free, reads its kernels
/// at once. `file`: the path from which the driver itself read the image, or nullptr.
void note_image(Handle module, const void* code, const char* file, std::string_view caller);

/// Notes that a module belongs to a library of the driver.
void note_library_module(Handle module, Handle library);
/// Notes whether the image of a module or library is loaded. Returns true if it was before.
bool set_loaded(Handle module, bool is_loaded);

/// Notes the handle of a kernel that was looked up by name in a module or library.
void note_kernel(Handle kernel, Handle module, const char* name);
/// Notes another handle of a kernel.
void note_function(Handle function, Handle kernel);

/// Returns the kernel for a handle; nullptr: its look-up was not seen, or its image was unloaded. Lock-free.
Kernel* find_kernel(Handle handle);

/// Returns the format in which a kernel multiplies. At its first call for a kernel, reads the kernel's image.
const record::KernelJudgement& judgement_of(Kernel& kernel);

/// Returns true if a handle was not noted, for lack of memory or of room in a table.
bool has_lost_handle();

}  // namespace fp32shim::kernels
