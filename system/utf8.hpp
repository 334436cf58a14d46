// Texts of programs and file systems are bytes; what readers and terminals are handed is UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fp32shim::system {

/// The length of the UTF-8 sequence at the beginning of `text`, which is not empty, or 0 where there is none: stray
/// or missing continuation bytes, overlong forms, surrogates and values above U+10FFFF (Unicode Standard, table 3-7).
std::size_t utf8_length(std::string_view text);

/// Each byte that is not part of valid UTF-8 becomes U+FFFD.
std::string with_valid_utf8(std::string_view text);

inline constexpr std::string_view utf8_replacement = "\xEF\xBF\xBD";

}  // namespace fp32shim::system
