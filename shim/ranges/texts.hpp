// Texts of ranges: C strings, wide strings, and texts that a program has registered.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <string_view>

#include "shim/scopes/scopes.hpp"

namespace fp32shim {

/// The number of bytes of a label that are read. A longer label would be too long for any stack of scopes.
constexpr std::size_t range_label_limit = scope_label_limit;

using LabelBuffer = std::array<char, range_label_limit + 4>;

/// Returns a view of a C string, at most range_label_limit bytes of it; empty for nullptr.
std::string_view label_view(const char* text);

/// Converts a wide C string to UTF-8 in `buffer`, at most range_label_limit bytes; empty for nullptr. Numbers that
/// are not Unicode characters become U+FFFD.
std::string_view label_view(const wchar_t* text, LabelBuffer& buffer);

/// An entry of the table of registered texts, which are never freed. Its address serves as a handle of NVTX.
using TextEntry = std::atomic<const std::string_view*>;

/// Registers a text and returns its entry; equal texts have the same entry. After some 60,000 texts, prints one line
/// and returns the entry of an empty text. Thread-safe, lock-free.
const TextEntry& register_text(std::string_view text);

/// Returns the text of the entry at this address; empty for any other pointer.
std::string_view registered_text(const void* handle);

}  // namespace fp32shim
