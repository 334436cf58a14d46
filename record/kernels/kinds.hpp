// The kinds of code in an image: machine code (cubins), text (PTX), and several of them in one (fatbins). A function
// with a parameter `facts` adds to what is known of the image.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>

#include "record/kernels/image.hpp"

namespace fp32shim::record {

// ---- values in bytes that may be damaged

using Bytes = std::span<const std::byte>;

/// The largest size or offset that is believed. A larger one counts as damage, so that sums of two do not overflow.
inline constexpr std::uint64_t largest_size = std::uint64_t{1} << 40;

/// Returns `size` bytes from `offset` on; nullopt: they are not all there.
inline std::optional<Bytes> part_of(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
    if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
    return bytes.subspan(offset, size);
}

/// Returns a copy of the value at `offset`; nullopt: it is not all there.
template <class Value>
std::optional<Value> value_at(Bytes bytes, std::uint64_t offset) {
    const auto found = part_of(bytes, offset, sizeof(Value));
    if (!found) return std::nullopt;
    Value value;
    std::memcpy(&value, found->data(), sizeof value);
    return value;
}

/// Returns the text at `offset`, up to a zero byte or the end.
inline std::string_view text_at(Bytes bytes, std::uint64_t offset) {
    if (offset >= bytes.size()) return {};
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + offset, bytes.size() - offset);
    return text.substr(0, text.find('\0'));
}

// ---- functions that several kinds use

inline constexpr std::string_view other_image = "calls functions that are not in its image";

/// Returns true for a function that the CUDA driver defines, such as vprintf. No such function multiplies matrices.
bool is_function_of_driver(std::string_view name);

/// Returns true for the functions by which kernels launch kernels.
bool is_launch_function(std::string_view name);

/// Returns true if instructions.def has the instructions of an architecture, 10·major + minor.
bool knows_instructions_of(unsigned architecture);

/// Returns the formats of the tensor-core instructions in the code of one function.
TensorFormats tensor_formats_in_code(Bytes code, unsigned architecture);

/// Returns the size of a cubin, as image_size() does; 0: it is none.
std::uint64_t cubin_size(Bytes beginning);

void scan_cubin(Bytes cubin, const KernelVisitor& visitor, ImageFacts& facts);

void scan_ptx(std::string_view text, const KernelVisitor& visitor, ImageFacts& facts);

inline constexpr std::uint32_t fatbin_magic = 0xba55ed50;

/// Returns the size of a fatbin, as image_size() does; 0: it is too large.
std::uint64_t fatbin_size(Bytes beginning);

/// Scans the entries that a device of this architecture would run.
void scan_fatbin(Bytes fatbin, unsigned device, const KernelVisitor& visitor, ImageFacts& facts);

}  // namespace fp32shim::record
