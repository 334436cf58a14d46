// The kinds of code in an image: machine code (cubins), text (PTX), and several of them in one (fatbins). The
// functions that take `facts` add to what is known of the image.
#pragma once

#include "record/kernels/bytes.hpp"
#include "record/kernels/image.hpp"

namespace fp32shim::record {

inline constexpr std::string_view other_image = "calls functions that are not in its image";

/// Returns true if no matrix is multiplied in a function that is defined in no image: the driver has it.
bool is_function_of_driver(std::string_view name);

/// Returns true for the functions by which kernels launch kernels.
bool launches(std::string_view name);

/// Returns true if instructions.def has the instructions of an architecture, 10·major + minor.
bool knows_instructions_of(unsigned architecture);

/// Returns the formats of the tensor-core instructions in the code of one function.
TensorFormats formats_in_code(Bytes code, unsigned architecture);

/// Returns the size of a cubin, as image_size() does; 0: it is none.
std::uint64_t cubin_size(Bytes beginning);

void scan_cubin(Bytes cubin, const KernelVisitor& visitor, ImageFacts& facts);

void scan_ptx(std::string_view text, const KernelVisitor& visitor, ImageFacts& facts);

inline constexpr std::uint32_t fatbin_magic = 0xba55ed50;

/// Returns the size of a fatbin, as image_size() does; 0: it is too large.
std::uint64_t fatbin_size(Bytes beginning);

/// Scans what a device of this architecture would run.
void scan_fatbin(Bytes fatbin, unsigned device, const KernelVisitor& visitor, ImageFacts& facts);

}  // namespace fp32shim::record
