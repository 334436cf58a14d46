// Compact form of recordings for the fuzzer. Recordings are mostly zeros, so an input holds only the other bytes.
//
//     input    size of the file: u32 | patch | patch | …          little-endian
//     patch    offset: u32 | size: u16 | bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace fp32shim::record::test {

/// Largest size of a file: 1 MiB.
inline constexpr std::uint32_t sparse_size_limit = 1 << 20;

/// Returns the file that an input describes. Leaves out patches that go beyond the end of the file or of the input.
std::string expand_sparse(std::span<const std::uint8_t> input);

/// Returns an input that describes `file`, as far as possible: the whole first segment, and the first `kept` bytes of
/// each other 64 KiB segment.
std::string make_sparse(const std::string& file, std::size_t kept);

/// Reads a file in every possible way. `file`: its whole contents.
void read_everything(const std::string& file);

}  // namespace fp32shim::record::test
