// Knows the GPU kernels of this process: which handle of the CUDA driver stands for which kernel, and in which format
// each kernel multiplies. Entries are never freed.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "record/kernels/judge.hpp"

namespace fp32shim::kernels {

struct GpuImage;

/// A kernel of a loaded image.
struct Kernel {
    std::string_view name;  ///< the driver's name for the kernel; ends with a NUL
    GpuImage* image;        ///< nullptr if the loading of the image was not seen
    std::uint64_t number;   ///< unique number, counted from 1
    std::atomic<const record::KernelJudgement*> judgement{nullptr};  ///< nullptr until judgement_of() is called
};

/// A handle of the driver: a CUmodule, CUlibrary, CUfunction or CUkernel.
using Handle = const void*;

/// Notes that the driver has loaded an image at the request of the library `caller`. The image lies at `code` (a
/// fatbin, its wrapper, a cubin or PTX). If it is in memory that the program may change or free, its kernels are read
/// at once. `file` is the path from which the driver itself read the image, or nullptr.
void note_image(Handle module, const void* code, const char* file, std::string_view caller);

/// Notes that the CUmodule `module` belongs to the CUlibrary `library`.
void note_library_module(Handle module, Handle library);
/// Notes whether the image of a module or library is loaded. Returns true if it was loaded before.
bool set_loaded(Handle module, bool is_loaded);

/// Notes the handle of a kernel that was looked up by name in a module or library.
void note_kernel(Handle kernel, Handle module, const char* name);
/// Notes that the CUfunction `function` stands for the same kernel as the CUkernel `kernel`.
void note_function(Handle function, Handle kernel);

/// Returns the kernel for a handle; nullptr if its look-up was not seen, or if its image was unloaded. Lock-free.
Kernel* find_kernel(Handle handle);

/// Returns the format in which a kernel multiplies. The first call for a kernel reads the kernel's image.
const record::KernelJudgement& judgement_of(Kernel& kernel);

/// Returns true if a handle could not be noted, because memory or room in a table was lacking.
bool has_lost_handle();

}  // namespace fp32shim::kernels
