// Writes text into the caller's buffer. Uses no allocation, locale or exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fp32shim::system {

/// Appends texts to a buffer that the caller owns. A text that does not fit is left out, and from then on
/// `overflowed()` returns true. Not thread-safe.
class LineWriter {
  public:
    explicit LineWriter(std::span<char> out) : out_(out) {}

    /// Appends `text` unchanged.
    LineWriter& text(std::string_view text);
    /// Appends all of `texts`, or none of them if they do not all fit. The function is inline because some callers
    /// append many short texts.
    template <class... Texts>
    LineWriter& texts(const Texts&... texts) {
        if (overflowed_ || (std::string_view(texts).size() + ...) > out_.size() - size_)
            overflowed_ = true;
        else
            ((size_ += std::string_view(texts).copy(out_.data() + size_, std::string_view(texts).size())), ...);
        return *this;
    }
    LineWriter& number(std::int64_t value);
    /// Appends a number as `0x1c4`.
    LineWriter& hexadecimal(std::uint64_t value);
    /// Appends a decimal number, padded with zeros to at least `digits` digits. Precondition: value >= 0.
    LineWriter& padded(std::int64_t value, int digits);
    /// Appends a time as `2026-11-21T08:42:00.123456789Z` (RFC 3339, UTC). `time_ns` is in nanoseconds since 1970,
    /// and may be negative.
    LineWriter& utc_time(std::int64_t time_ns);
    /// Appends a time as `20261121T084200Z`, for file names.
    LineWriter& compact_utc_time(std::int64_t time_ns);
    /// Appends `value` as the inside of a JSON string. Escapes quotes, backslashes and characters that are not plain
    /// (system/plain_text.hpp). Replaces each byte that is not part of valid UTF-8 by U+FFFD. Cuts a result longer
    /// than `limit` bytes between two characters and ends it in `…` (3 bytes, included in the limit). Precondition:
    /// limit >= 3.
    LineWriter& escaped(std::string_view value, std::size_t limit);

    /// Appends a NUL. Returns the text before it, or an empty text if the NUL did not fit.
    std::string_view nul_terminated();

    std::size_t size() const { return size_; }
    bool overflowed() const { return overflowed_; }
    std::string_view view() const { return {out_.data(), size_}; }

  private:
    std::span<char> out_;
    std::size_t size_ = 0;
    bool overflowed_ = false;
};

}  // namespace fp32shim::system
