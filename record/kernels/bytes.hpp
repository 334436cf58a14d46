// Reads values from bytes that nobody vouches for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace fp32shim::record {

using Bytes = std::span<const std::byte>;

/// Sizes and offsets beyond it are taken for damage, so that their sums do not overflow.
inline constexpr std::uint64_t largest_size = std::uint64_t{1} << 40;

/// Returns `size` bytes from `offset` on; nullopt: they are not all there.
inline std::optional<Bytes> part_of(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
    if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
    return bytes.subspan(offset, size);
}

/// Returns a copy of the value at `offset`; nullopt: it is not all there.
template <class Value>
std::optional<Value> value_at(Bytes bytes, std::uint64_t offset) {
    const auto found = part_of(bytes, offset, sizeof(Value));
    if (!found) return std::nullopt;
    Value value;
    std::memcpy(&value, found->data(), sizeof value);
    return value;
}

/// Returns the text at `offset`, up to a zero byte or the end.
inline std::string_view text_at(Bytes bytes, std::uint64_t offset) {
    if (offset >= bytes.size()) return {};
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + offset, bytes.size() - offset);
    return text.substr(0, text.find('\0'));
}

}  // namespace fp32shim::record
