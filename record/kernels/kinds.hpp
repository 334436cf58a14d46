// Functions for the three kinds of images: cubins have machine code, PTX is text, and a fatbin contains several
// cubins and PTX texts. A function with a parameter `facts` adds facts about the image to it.
#pragma once

#include <cstring>
#include <optional>

#include "record/kernels/image.hpp"

namespace fp32shim::record {

// ---- values in bytes that may be damaged

using Bytes = std::span<const std::byte>;

/// The largest size or offset that is accepted. A larger value counts as damage, so that the sum of two accepted
/// values does not overflow.
inline constexpr std::uint64_t largest_size = std::uint64_t{1} << 40;

/// Returns the `size` bytes of `bytes` that begin at `offset`, or nullopt if `bytes` ends earlier.
inline std::optional<Bytes> part_of(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
    if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
    return bytes.subspan(offset, size);
}

/// Returns a copy of the value at `offset` in `bytes`, or nullopt if `bytes` ends earlier.
template <class Value>
std::optional<Value> value_at(Bytes bytes, std::uint64_t offset) {
    const auto found = part_of(bytes, offset, sizeof(Value));
    if (!found) return std::nullopt;
    Value value;
    std::memcpy(&value, found->data(), sizeof value);
    return value;
}

/// Returns the text that begins at `offset` in `bytes` and ends before a zero byte or at the end of `bytes`.
inline std::string_view text_at(Bytes bytes, std::uint64_t offset) {
    if (offset >= bytes.size()) return {};
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + offset, bytes.size() - offset);
    return text.substr(0, text.find('\0'));
}

// ---- functions that several kinds use

inline constexpr std::string_view other_image = "calls functions that are not in its image";

/// Returns true if `name` is a function that the CUDA driver defines for kernels, such as vprintf. The driver's
/// functions multiply no matrices.
bool is_function_of_driver(std::string_view name);

/// Returns true if `name` is a function by which kernels launch other kernels.
bool is_launch_function(std::string_view name);

/// Returns true if instructions.def has the instructions of `architecture`, which is 10·major + minor.
bool knows_instructions_of(unsigned architecture);

/// Returns the formats of the tensor-core instructions in `code`, the machine code of one function for
/// `architecture`.
TensorFormats tensor_formats_in_code(Bytes code, unsigned architecture);

/// Returns the size of the cubin that starts with `beginning`, as image_size() does, or 0 if the bytes are not a
/// cubin.
std::uint64_t cubin_size(Bytes beginning);

void scan_cubin(Bytes cubin, const KernelVisitor& visitor, ImageFacts& facts);

void scan_ptx(std::string_view text, const KernelVisitor& visitor, ImageFacts& facts);

inline constexpr std::uint32_t fatbin_magic = 0xba55ed50;

/// Returns the size of the fatbin that starts with `beginning`, as image_size() does, or 0 if the fatbin is too
/// large.
std::uint64_t fatbin_size(Bytes beginning);

/// Scans the entries of the fatbin that a device of architecture `device` would run.
void scan_fatbin(Bytes fatbin, unsigned device, const KernelVisitor& visitor, ImageFacts& facts);

}  // namespace fp32shim::record
