// Reads the bytes of an image (code for GPUs) that a program has handed to the CUDA driver.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "system/mapped_memory.hpp"

namespace fp32shim::kernels {

/// If there is a fatbin's wrapper at the address `image`, returns the address of the fatbin; otherwise returns
/// `image` itself.
const void* fatbin_of(const void* image);

/// A copy of an image, for the duration of one function. The driver gets only the image's address, and headers in the
/// image tell its size. The size may be wrong, so the bytes are copied by a system call, which refuses addresses that
/// cannot be read.
class ImageCopy {
  public:
    /// Copies the image at the address `image`.
    explicit ImageCopy(const void* image);
    /// Reads the image from the file at `path`.
    explicit ImageCopy(const char* path);

    /// Returns the copy; empty if the image could not be read.
    std::span<const std::byte> bytes() const;

  private:
    std::size_t size_ = 0;
    std::optional<MappedMemory> copy_;
};

}  // namespace fp32shim::kernels
