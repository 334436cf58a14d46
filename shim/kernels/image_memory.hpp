// The bytes of an image that a program has handed to the CUDA driver.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "system/mapped_memory.hpp"

namespace fp32shim::kernels {

/// Returns the address of the fatbin that a wrapper names, or `image` itself if it is no wrapper.
const void* fatbin_of(const void* image);

/// A copy of an image, for the duration of one function. The driver gets only the image's address, and headers in the
/// image tell its size. They may be wrong, so the kernel copies the bytes: it refuses addresses that cannot be read.
class ImageCopy {
  public:
    /// Copies the image at this address.
    explicit ImageCopy(const void* image);
    /// Reads the image from a file.
    explicit ImageCopy(const char* path);

    /// Returns the copy; empty if the image could not be read.
    std::span<const std::byte> bytes() const;

  private:
    std::size_t size_ = 0;
    std::optional<MappedMemory> copy_;
};

}  // namespace fp32shim::kernels
