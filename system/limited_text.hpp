// Cuts texts to a limit and marks the cut by an ellipsis. Allocates nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

namespace fp32shim::system {

inline constexpr std::string_view ellipsis = "…";

/// Appends `…` to the first `size` bytes of `buffer`, and returns the result, which lies in `buffer`. If there is no
/// room, drops whole UTF-8 characters from the end of the text first. Precondition: size <= buffer.size() and
/// buffer.size() >= 3.
inline std::string_view with_ellipsis(std::span<char> buffer, std::size_t size) {
    const std::size_t most = buffer.size() - ellipsis.size();
    if (size > most) {
        size = most;
        while (size > 0 && (static_cast<unsigned char>(buffer[size]) & 0xc0) == 0x80) --size;
    }
    std::copy(ellipsis.begin(), ellipsis.end(), buffer.begin() + static_cast<std::ptrdiff_t>(size));
    return {buffer.data(), size + ellipsis.size()};
}

/// Returns `text` if it fits into `buffer`. Otherwise returns as many whole characters of it as fit, followed by `…`.
/// Precondition: buffer.size() >= 3.
inline std::string_view limited(std::string_view text, std::span<char> buffer) {
    if (text.size() <= buffer.size()) return text;
    std::copy_n(text.begin(), buffer.size(), buffer.begin());
    return with_ellipsis(buffer, buffer.size());
}

}  // namespace fp32shim::system
