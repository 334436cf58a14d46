// Numbers as people write them in policies: ranges of sizes, byte counts, compute capabilities, versions. The
// functions return nullopt for an invalid text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "policy/policy.hpp"

namespace fp32shim::policy {

/// The notation of the numbers in a range.
enum class RangeNotation : std::uint8_t {
    size,                ///< `128`, `2K`, `2M`, `2G`, `2T`: decimal multiples
    compute_capability,  ///< `8`, `8.0`, `12.1`: read as 10·major + minor
};

/// Parses a range of whole numbers: `128`, `<=128`, `>=64 <=256`. A number must satisfy all terms; `<128` means
/// `<=127`. The result is empty (lowest > highest) if no number satisfies all terms.
std::optional<NumberRange> parse_range(std::string_view text, RangeNotation notation);

/// Parses decimal digits. A sign, a space or a number beyond 64 bits is invalid.
std::optional<std::uint64_t> parse_whole_number(std::string_view text);

/// Parses a size: `128`, `2K`, `2G`.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// Parses a compute capability: 80 for `8.0`. The minor number has one digit.
std::optional<std::int32_t> parse_compute_capability(std::string_view text);

/// Parses a number of bytes: `4096`, `64KiB`, `500MB`, `2G`. KiB MiB GiB TiB are powers of 1024; K M G T, with or
/// without B, are powers of 1000.
std::optional<std::uint64_t> parse_byte_count(std::string_view text);

/// Parses a number from 0 to 1, such as `0.25`.
std::optional<double> parse_fraction(std::string_view text);

/// Returns true if `version` satisfies a `constraint` such as `>=0.1 <2`, and nullopt if one of the two is invalid.
/// Missing parts of a version count as zero.
std::optional<bool> version_satisfies(std::string_view version, std::string_view constraint);

}  // namespace fp32shim::policy
