#include "policy/glob_elements.hpp"

namespace fp32shim::policy {
namespace {

bool is_negation(char c) { return c == '!' || c == '^'; }

/// Returns the position after the set that opens at `begin`; npos: the set has no end. A `]` right at the start is a
/// member of the set.
std::size_t end_of_set(std::string_view pattern, std::size_t begin) {
    std::size_t first = begin + 1;
    if (first < pattern.size() && is_negation(pattern[first])) ++first;
    const std::size_t close = pattern.find(']', first + 1);
    return close == std::string_view::npos ? close : close + 1;
}

}  // namespace

GlobElement special_glob_element(std::string_view pattern, std::size_t at) {
    using Kind = GlobElement::Kind;
    const std::string_view one = pattern.substr(at, 1);
    if (one == "*") return {Kind::run, one};
    if (one == "?") return {Kind::any, one};
    const std::size_t end = end_of_set(pattern, at);
    if (end == std::string_view::npos) return {Kind::literal, one};
    return {Kind::set, pattern.substr(at, end - at)};
}

bool GlobElement::matches(char c) const {
    if (kind == Kind::literal) return text[0] == c;
    return kind != Kind::set || Members(*this).contain(c);
}

GlobElement::Members::Members(const GlobElement& element) {
    const auto byte = [](char c) -> unsigned { return static_cast<unsigned char>(c); };
    if (element.kind != Kind::set) {
        const bool is_literal = element.kind == Kind::literal;
        add(is_literal ? byte(element.text[0]) : 0, is_literal ? byte(element.text[0]) : 255);
        return;
    }
    std::string_view members = element.text.substr(1, element.text.size() - 2);
    const bool is_negated = is_negation(members[0]);
    if (is_negated) members.remove_prefix(1);
    for (std::size_t i = 0; i < members.size(); ++i) {
        const bool is_range = i + 2 < members.size() && members[i + 1] == '-';
        add(byte(members[i]), byte(members[is_range ? i + 2 : i]));
        if (is_range) i += 2;
    }
    if (!is_negated) return;
    for (std::uint64_t& word : bits_) word = ~word;
}

void GlobElement::Members::add(unsigned first, unsigned last) {
    for (unsigned byte = first; byte <= last; ++byte) bits_[byte / 64] |= std::uint64_t{1} << byte % 64;
}

}  // namespace fp32shim::policy
