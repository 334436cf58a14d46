// Writes texts into buffers of limited size. A text that had to be cut ends in an ellipsis. Allocates nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

/// Appends a character as UTF-8 to the first `size` bytes of `buffer`, and adds its length to `size`. Returns false
/// if there is no room.
inline bool append_utf8(std::uint32_t code, std::span<char> buffer, std::size_t& size) {
    const std::size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (size + length > buffer.size()) return false;
    constexpr unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (std::size_t i = 0; i < length; ++i) {
        const std::uint32_t bits = code >> 6 * (length - 1 - i);
        buffer[size++] = static_cast<char>(i == 0 ? lead[length] | bits : 0x80 | (bits & 0x3f));
    }
    return true;
}

/// Returns `text` if it fits into `buffer`. Otherwise returns as many whole characters of it as fit, followed by `…`.
/// Precondition: buffer.size() >= 3.
inline std::string_view cut_to_fit(std::string_view text, std::span<char> buffer) {
    if (text.size() <= buffer.size()) return text;
    std::copy_n(text.begin(), buffer.size(), buffer.begin());
    return with_ellipsis(buffer, buffer.size());
}

}  // namespace fp32shim::system
