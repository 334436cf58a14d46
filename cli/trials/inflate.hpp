// Unpacks data that were packed by the method "deflate", as members of zip archives are, with zlib. The library is
// loaded when it is needed, as libdw is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fp32shim::cli {

/// Unpacks data of `size` bytes. Returns the problem, as the end of a sentence; empty on success. `checksum` is the
/// CRC-32 of the unpacked data.
std::string inflate(std::string_view packed, std::size_t size, std::uint32_t checksum, std::string& unpacked);

}  // namespace fp32shim::cli
