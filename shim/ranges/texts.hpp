// Texts of ranges: C strings, wide ones, and those that a program has registered.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <string_view>

#include "shim/ranges/itt.hpp"
#include "shim/ranges/ranges.hpp"

namespace fp32shim {

using LabelBuffer = std::array<char, range_label_limit + 4>;

/// Returns a view of a C string, up to range_label_limit bytes; empty for nullptr.
std::string_view label_view(const char* text);

/// Returns a wide C string as UTF-8 in `buffer`, up to range_label_limit bytes; empty for nullptr. Numbers that are
/// no character of Unicode become U+FFFD.
std::string_view label_view(const wchar_t* text, LabelBuffer& buffer);

/// A text that a program has registered. Never freed.
struct RegisteredText {
    std::string_view text{};
    itt::StringHandle handle{};  ///< the same text, as a handle of ITT
};

/// An entry of the table of registered texts, whose address is a handle of NVTX.
using TextEntry = std::atomic<RegisteredText*>;

/// Keeps a text, and returns the entry that has it: the same one for equal texts. Beyond some 60,000 texts returns
/// the entry of an empty one; one line says so. Thread-safe, lock-free.
const TextEntry& register_text(std::string_view text);

/// Returns the text of an entry, given its address; empty for any other pointer.
std::string_view registered_text(const void* handle);

}  // namespace fp32shim
