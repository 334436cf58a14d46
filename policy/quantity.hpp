// Numbers as people write them in policies: ranges of sizes, byte counts, compute capabilities, versions.
// Every function returns nullopt for text that it cannot read.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "policy/policy.hpp"

namespace fp32shim::policy {

/// What the numbers of a range count, which decides how they are written.
enum class Quantity : std::uint8_t {
    size,                ///< `128`, `2K`, `2M`, `2G`, `2T`: decimal multiples
    compute_capability,  ///< `8`, `8.0`, `12.1`: in units of 10·major + minor
};

/// `128`, `<=128`, `>=64 <=256`: all terms must hold. The terms are whole numbers, so `<128` is `<=127`.
/// The result is empty (lowest > highest) where no number satisfies all terms.
std::optional<Range> parse_range(std::string_view text, Quantity quantity);

/// One size, without an operator: `128`, `2K`, `2G`.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// `8.0` → 80. The minor number has one digit.
std::optional<std::int32_t> parse_compute_capability(std::string_view text);

/// `4096`, `64KiB`, `1GiB`, `500MB`, `2G`: KiB MiB GiB TiB are powers of 1024; K M G T, with or without B, of 1000.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// A whole number between 0 and 1, or a decimal fraction of it; the whole text.
std::optional<double> parse_fraction(std::string_view text);

/// Whether `version` satisfies `constraint`: `>=0.1`, `>=0.1 <2`. A part that is not written is zero.
std::optional<bool> version_satisfies(std::string_view version, std::string_view constraint);

}  // namespace fp32shim::policy
