// Unpacks data that were packed by the method "deflate" (RFC 1951), as members of zip archives are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fp32shim::cli {

/// Returns the unpacked data; nothing if they are damaged or do not have this size.
std::optional<std::string> inflate(std::string_view packed, std::size_t size);

/// Returns the checksum that zip archives keep (CRC-32).
std::uint32_t crc32_of(std::string_view bytes);

}  // namespace fp32shim::cli
