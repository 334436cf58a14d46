// Reads images of GPU code, which programs hand to the CUDA driver, and finds the formats of the tensor-core
// instructions in their kernels. An image is a cubin, a fatbin (possibly compressed), or a PTX text. The functions
// below use no heap, and read no byte outside the span that they are given, even if the image is damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fp32shim::record {

/// A set of formats of operands of tensor-core instructions, with one bit for each format.
using TensorFormats = std::uint8_t;
inline constexpr TensorFormats tensor_fp16 = 1;
inline constexpr TensorFormats tensor_bf16 = 2;
inline constexpr TensorFormats tensor_tf32 = 4;
inline constexpr TensorFormats tensor_fp8 = 8;  ///< FP8 and the narrower formats FP6 and FP4
inline constexpr TensorFormats tensor_integer = 16;
inline constexpr TensorFormats tensor_fp64 = 32;
inline constexpr TensorFormats tensor_unknown = 64;  ///< there is an instruction whose format cannot be told from the
                                                     ///< code

/// The first bytes of a fatbin wrapper. Code that nvcc makes registers such wrappers, and programs may pass one to
/// the driver in place of a fatbin.
struct FatbinWrapper {
    std::uint32_t magic;  ///< fatbin_wrapper_magic
    std::uint32_t version;
    const void* data;           ///< the fatbin
    const void* const* linked;  ///< if `version` is 2, fatbins that nvlink made, followed by a null pointer; only
                                ///< the first of them is used
};
inline constexpr std::uint32_t fatbin_wrapper_magic = 0x466243b1;

/// Returns the size of the image that starts with `beginning`. If the result exceeds beginning.size(), these bytes do
/// not tell the size yet: call the function again with as many bytes as it returned. The result is 0 if no image
/// starts with the bytes; a fatbin wrapper is not an image.
std::uint64_t image_size(std::span<const std::byte> beginning);

struct ImageFacts {
    bool has_code = false;          ///< the image has machine code or PTX that the device can run
    bool launches_kernels = false;  ///< kernels in the image may launch kernels from the device
    std::string_view doubt;         ///< the reason why the formats of some kernels are not known, as a clause; empty:
                                    ///< all formats are known
};

/// A function that is called with each kernel of an image, and the `context` that is passed to it. `name` is valid
/// only during the call.
struct KernelVisitor {
    void (*visit)(void* context, std::string_view name, TensorFormats formats);
    void* context;
};

/// Visits the kernels that a device of `compute_capability` (10·major + minor) would run from a complete image. They
/// are the kernels in the cubins for the device, or in the PTX if there is no cubin for the device. A kernel may be
/// visited several times; its formats are the union of the formats in all visits. Thread-safe.
ImageFacts scan_image(std::span<const std::byte> image, int compute_capability, const KernelVisitor& visitor);

}  // namespace fp32shim::record
