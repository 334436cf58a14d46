// Recordings as the fuzzer sees them: they are mostly zeros, so an input says only what is not.
//
//     input    size of the file: u32 | patch | patch | …          little-endian
//     patch    offset: u32 | size: u16 | bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace fp32shim::record::test {

/// No file is larger: 1 MiB.
inline constexpr std::uint32_t sparse_size_limit = 1 << 20;

/// Returns the file that an input describes, without the parts that go beyond the file or beyond the input.
std::string expand_sparse(std::span<const std::uint8_t> input);

/// The other way: an input that describes `file` so far as its first `kept` bytes of each 64 KiB segment, and all of
/// the first segment, go.
std::string make_sparse(const std::string& file, std::size_t kept);

/// Reads a file in every way that there is. `file` is the whole of it.
void read_everything(const std::string& file);

}  // namespace fp32shim::record::test
