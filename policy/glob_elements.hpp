// Elements of a glob, for matching texts (glob.cpp) and for comparing globs (shadowed_rules.cpp).
#pragma once

#include <cstdint>
#include <string_view>

namespace fp32shim::policy {

/// One element of a glob: a character, `?`, `[set]` or `*`.
struct GlobElement {
    enum class ElementKind : std::uint8_t {
        literal,  ///< a plain character: matches one byte
        any,      ///< `?`: matches any one byte
        set,      ///< `[abc]`, `[!abc]`: matches one byte of a set
        run,      ///< `*`: matches any number of bytes
    };
    ElementKind kind;
    std::string_view text;  ///< the element as it stands in the pattern

    /// Returns true if the element matches byte `c`. Precondition: the element is not a `run`.
    bool matches(char c) const;

    /// The set of the bytes that an element matches. To test many bytes, contains() is faster than matches().
    class ByteSet {
      public:
        explicit ByteSet(const GlobElement& element);
        bool contains(char c) const {
            const auto byte = static_cast<unsigned char>(c);
            return (bits_[byte / 64] >> byte % 64 & 1) != 0;
        }

      private:
        void add_range(unsigned first, unsigned last);
        std::uint64_t bits_[4] = {};
    };
};

/// Returns the element of `pattern` at `at`, where a `*`, `?` or `[` stands. A `[` without `]` is a literal.
GlobElement parse_special_element(std::string_view pattern, std::size_t at);

/// Returns the element of `pattern` that begins at `at`.
inline GlobElement parse_glob_element(std::string_view pattern, std::size_t at) {
    const char c = pattern[at];
    if (c == '*' || c == '?' || c == '[') return parse_special_element(pattern, at);
    return {GlobElement::ElementKind::literal, pattern.substr(at, 1)};
}

}  // namespace fp32shim::policy
