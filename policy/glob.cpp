#include "policy/glob.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "policy/glob_elements.hpp"

namespace fp32shim::policy {
namespace {

bool is_negation(char c) { return c == '!' || c == '^'; }

/// Returns the position after the set that opens at `begin`, or npos if the set has no end. A `]` right at the start
/// is a member of the set.
std::size_t end_of_set(std::string_view pattern, std::size_t begin) {
    std::size_t first = begin + 1;
    if (first < pattern.size() && is_negation(pattern[first])) ++first;
    const std::size_t close = pattern.find(']', first + 1);
    return close == std::string_view::npos ? close : close + 1;
}

constexpr std::size_t none = std::string_view::npos;

/// A piece of a pattern without `*`: all elements before the first `*`, between two `*`, or after the last `*`. Each
/// element matches one byte.
struct GlobPiece {
    std::string_view pattern;
    std::size_t length = 0;  ///< the number of elements, which is also the number of bytes that they match
    bool is_literal = true;
};

/// Returns the first piece of `pattern`, up to a `*` or the end of the pattern.
GlobPiece first_piece(std::string_view pattern) {
    GlobPiece piece;
    std::size_t at = 0;
    while (at < pattern.size()) {
        const GlobElement element = parse_glob_element(pattern, at);
        if (element.kind == GlobElement::ElementKind::run) break;
        piece.is_literal = piece.is_literal && element.kind == GlobElement::ElementKind::literal;
        ++piece.length;
        at += element.text.size();
    }
    piece.pattern = pattern.substr(0, at);
    return piece;
}

/// Returns true if `piece` matches the beginning of `text`. Precondition: `text` is not shorter than the piece.
bool begins_with(std::string_view text, const GlobPiece& piece) {
    if (piece.is_literal) return text.starts_with(piece.pattern);
    std::size_t at = 0;
    for (const char c : text.substr(0, piece.length)) {
        const GlobElement element = parse_glob_element(piece.pattern, at);
        if (!element.matches(c)) return false;
        at += element.text.size();
    }
    return true;
}

/// Returns a mask of 8 bits. Bit i is set if text[i] is the character that each byte of `eight_times_c` contains.
std::uint64_t matches_in_8_bytes(const char* text, std::uint64_t eight_times_c) {
    constexpr std::uint64_t low_bits = 0x7f7f'7f7f'7f7f'7f7f;
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text, sizeof bytes);
    const std::uint64_t difference = bytes ^ eight_times_c;
    const std::uint64_t high_bit_if_zero = ~(((difference & low_bits) + low_bits) | difference | low_bits);
    return (high_bit_if_zero >> 7) * 0x0102'0408'1020'4080 >> 56;  // gathers the lowest bit of each byte
}
static_assert(std::endian::native == std::endian::little);

/// Returns a mask of 64 bits. Bit i is set if bit i of `asked` is set and `element` matches text[i].
std::uint64_t match_mask(const GlobElement& element, std::string_view text, std::uint64_t asked) {
    std::uint64_t matches = 0;
    if (element.kind == GlobElement::ElementKind::any) return asked;
    if (element.kind == GlobElement::ElementKind::literal && text.size() >= 64) {
        const std::uint64_t eight_times = 0x0101'0101'0101'0101 * static_cast<unsigned char>(element.text[0]);
        for (std::size_t i = 0; i < 64; i += 8) matches |= matches_in_8_bytes(text.data() + i, eight_times) << i;
        return matches & asked;
    }
    const GlobElement::ByteSet members(element);
    for (std::uint64_t left = asked; left != 0; left &= left - 1) {
        const int index = std::countr_zero(left);
        if (members.contains(text[static_cast<std::size_t>(index)])) matches |= std::uint64_t{1} << index;
    }
    return matches;
}

/// Returns the first offset in `text` at which `piece` matches, or `none` if it does not match anywhere.
std::size_t find_piece(std::string_view text, const GlobPiece& piece) {
    if (piece.length > text.size()) return none;
    if (piece.is_literal) {
        const void* found = memmem(text.data(), text.size(), piece.pattern.data(), piece.pattern.size());
        return found == nullptr ? none : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    }
    const std::size_t candidates = text.size() - piece.length + 1;
    for (std::size_t begin = 0; begin < candidates; begin += 64) {
        std::uint64_t candidate_mask = ~std::uint64_t{0} >> (64 - std::min<std::size_t>(64, candidates - begin));
        std::size_t at = 0;
        for (std::size_t i = begin; at < piece.pattern.size() && candidate_mask != 0; ++i) {
            const GlobElement element = parse_glob_element(piece.pattern, at);
            candidate_mask &= match_mask(element, text.substr(i), candidate_mask);
            at += element.text.size();
        }
        if (candidate_mask != 0) return begin + static_cast<std::size_t>(std::countr_zero(candidate_mask));
    }
    return none;
}

}  // namespace

GlobElement parse_special_element(std::string_view pattern, std::size_t at) {
    using ElementKind = GlobElement::ElementKind;
    const std::string_view one = pattern.substr(at, 1);
    if (one == "*") return {ElementKind::run, one};
    if (one == "?") return {ElementKind::any, one};
    const std::size_t end = end_of_set(pattern, at);
    if (end == std::string_view::npos) return {ElementKind::literal, one};
    return {ElementKind::set, pattern.substr(at, end - at)};
}

bool GlobElement::matches(char c) const {
    if (kind == ElementKind::literal) return text[0] == c;
    return kind != ElementKind::set || ByteSet(*this).contains(c);
}

GlobElement::ByteSet::ByteSet(const GlobElement& element) {
    const auto byte = [](char c) -> unsigned { return static_cast<unsigned char>(c); };
    if (element.kind != ElementKind::set) {
        const bool is_literal = element.kind == ElementKind::literal;
        add_range(is_literal ? byte(element.text[0]) : 0, is_literal ? byte(element.text[0]) : 255);
        return;
    }
    std::string_view members = element.text.substr(1, element.text.size() - 2);
    const bool is_negated = is_negation(members[0]);
    if (is_negated) members.remove_prefix(1);
    for (std::size_t i = 0; i < members.size(); ++i) {
        const bool is_range = i + 2 < members.size() && members[i + 1] == '-';
        add_range(byte(members[i]), byte(members[is_range ? i + 2 : i]));
        if (is_range) i += 2;
    }
    if (!is_negated) return;
    for (std::uint64_t& word : bits_) word = ~word;
}

void GlobElement::ByteSet::add_range(unsigned first, unsigned last) {
    for (unsigned byte = first; byte <= last; ++byte) bits_[byte / 64] |= std::uint64_t{1} << byte % 64;
}

bool glob_matches(std::string_view pattern, std::string_view text) {
    // The part of the pattern before the first `*` excludes most texts, so it is tried first.
    std::size_t at = 0, begin = 0;
    for (; at < pattern.size() && pattern[at] != '*'; ++begin) {
        const GlobElement element = parse_glob_element(pattern, at);
        if (begin == text.size() || !element.matches(text[begin])) return false;
        at += element.text.size();
    }
    if (at == pattern.size()) return begin == text.size();
    pattern.remove_prefix(at);
    text.remove_prefix(begin);

    GlobPiece piece;
    for (;;) {
        // The earliest match of a piece leaves the most text for the next pieces, so no later match need be tried.
        pattern.remove_prefix(1);  // skips the `*`
        piece = first_piece(pattern);
        pattern.remove_prefix(piece.pattern.size());
        if (pattern.empty()) break;
        const std::size_t found = find_piece(text, piece);
        if (found == none) return false;
        text.remove_prefix(found + piece.length);
    }
    return piece.length <= text.size() && begins_with(text.substr(text.size() - piece.length), piece);
}

bool glob_is_well_formed(std::string_view pattern) {
    for (std::size_t at = 0; at < pattern.size();) {
        const GlobElement element = parse_glob_element(pattern, at);
        if (element.kind == GlobElement::ElementKind::literal && element.text == "[") return false;
        at += element.text.size();
    }
    return true;
}

}  // namespace fp32shim::policy
