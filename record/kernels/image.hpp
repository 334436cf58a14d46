// Images of GPU code, as programs hand them to the CUDA driver: a cubin, a fatbin (also compressed), or the text of
// PTX. Finds the formats of the tensor-core instructions in their kernels. Uses no memory of the heap, and no byte
// outside the span that it is given, whatever the bytes are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fp32shim::record {

/// Formats of operands of tensor-core instructions, one bit each.
using TensorFormats = std::uint8_t;
inline constexpr TensorFormats tensor_fp16 = 1;
inline constexpr TensorFormats tensor_bf16 = 2;
inline constexpr TensorFormats tensor_tf32 = 4;
inline constexpr TensorFormats tensor_fp8 = 8;  ///< and narrower: FP6, FP4
inline constexpr TensorFormats tensor_integer = 16;
inline constexpr TensorFormats tensor_fp64 = 32;
inline constexpr TensorFormats tensor_unknown = 64;  ///< an instruction whose format cannot be told from the code

/// The first bytes of a fatbin wrapper: what nvcc registers, and what programs may pass in place of a fatbin.
struct FatbinWrapper {
    std::uint32_t magic;  ///< fatbin_wrapper_magic
    std::uint32_t version;
    const void* data;           ///< the fatbin
    const void* const* linked;  ///< version 2: fatbins that nvlink made, up to a null pointer; the first counts
};
inline constexpr std::uint32_t fatbin_wrapper_magic = 0x466243b1;

/// Returns how many bytes an image has, as far as its beginning tells: at most beginning.size() if that is all of it.
/// Otherwise call it again with as many bytes as it returned. 0: the bytes begin no image. A wrapper is no image.
std::uint64_t image_size(std::span<const std::byte> beginning);

struct ImageFacts {
    bool has_code = false;          ///< the image has code that the device can run, or PTX for it
    bool launches_kernels = false;  ///< kernels in the image may launch kernels from the device
    std::string_view doubt;         ///< a clause why the formats of some kernels are not known; empty: all are
};

/// Function that is called with each kernel of an image. `name` is only valid during the call.
struct KernelVisitor {
    void (*visit)(void* context, std::string_view name, TensorFormats formats);
    void* context;
};

/// Visits the kernels that a device of this compute capability, 10·major + minor, would run from a whole image: those
/// of the cubins for it, or of the PTX if there is no such cubin. A kernel may be visited several times; its formats
/// are then the sum. Thread-safe.
ImageFacts scan_image(std::span<const std::byte> image, int compute_capability, const KernelVisitor& visitor);

}  // namespace fp32shim::record
