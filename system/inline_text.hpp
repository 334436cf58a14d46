// String functions that call no other function. The shim's `dlsym` runs before the libraries of a sanitizer or a
// malloc replacement are ready, and a call of strcmp through the procedure linkage table would then crash every
// program with AddressSanitizer.
#pragma once

#include <cstddef>
#include <string_view>

namespace fp32shim::system {

/// Returns a view of a C string. The empty asm keeps the compiler from turning the loop into a call of strlen.
constexpr std::string_view view(const char* text) {
    std::size_t length = 0;
    while (text[length] != '\0') {
        ++length;
        if (!__builtin_is_constant_evaluated()) asm volatile("");
    }
    return {text, length};
}

/// Returns true if two texts are equal. The empty asm keeps the compiler from turning the loop into a call of memcmp.
constexpr bool equal(std::string_view left, std::string_view right) {
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i) {
        if (left[i] != right[i]) return false;
        if (!__builtin_is_constant_evaluated()) asm volatile("");
    }
    return true;
}

/// Returns the part of a path after its last slash.
constexpr std::string_view base_name(std::string_view path) {
    std::size_t begin = path.size();
    while (begin > 0 && path[begin - 1] != '/') --begin;
    return path.substr(begin);
}

}  // namespace fp32shim::system
