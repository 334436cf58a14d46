// What a glob consists of, for those who match texts (glob.cpp) and those who compare globs (shadowed_rules.cpp).
#pragma once

#include <cstdint>
#include <string_view>

namespace fp32shim::policy {

struct GlobElement {
    enum class Kind : std::uint8_t {
        literal,  ///< this byte
        any,      ///< `?`: one byte
        set,      ///< `[abc]`: one byte of these, or none of them
        run,      ///< `*`: any bytes
    };
    Kind kind;
    std::string_view text;  ///< in the pattern

    /// Whether it matches this byte. Not for a run.
    bool matches(char c) const;

    /// The bytes that an element matches, for who asks for many.
    class Members {
      public:
        explicit Members(const GlobElement& element);
        bool contain(char c) const {
            const auto byte = static_cast<unsigned char>(c);
            return (bits_[byte / 64] >> byte % 64 & 1) != 0;
        }

      private:
        void add(unsigned first, unsigned last);
        std::uint64_t bits_[4] = {};
    };
};

/// The element of `pattern` that begins at `at`, with one of `*?[`. `[` without `]` is a literal.
GlobElement special_glob_element(std::string_view pattern, std::size_t at);

/// The element of `pattern` that begins at `at`, before its end.
inline GlobElement glob_element(std::string_view pattern, std::size_t at) {
    const char c = pattern[at];
    if (c == '*' || c == '?' || c == '[') return special_glob_element(pattern, at);
    return {GlobElement::Kind::literal, pattern.substr(at, 1)};
}

}  // namespace fp32shim::policy
