#include "policy/glob.hpp"

namespace fp32shim::policy {
namespace {

/// Position after the set that opens at `begin`, or npos where it has no end. A `]` that comes first is a member.
std::size_t end_of_set(std::string_view pattern, std::size_t begin) {
    std::size_t first = begin + 1;
    if (first < pattern.size() && (pattern[first] == '!' || pattern[first] == '^')) ++first;
    const std::size_t close = pattern.find(']', first + 1);
    return close == std::string_view::npos ? close : close + 1;
}

bool set_contains(std::string_view members, char c) {
    const auto byte = [](char x) { return static_cast<unsigned char>(x); };
    for (std::size_t i = 0; i < members.size(); ++i) {
        if (i + 2 < members.size() && members[i + 1] == '-') {
            if (byte(members[i]) <= byte(c) && byte(c) <= byte(members[i + 2])) return true;
            i += 2;
        } else if (members[i] == c) {
            return true;
        }
    }
    return false;
}

/// Matches one character against the element at `at`, which it moves on; `*` is the caller's business.
bool element_matches(std::string_view pattern, std::size_t& at, char c) {
    if (pattern[at] == '[') {
        const std::size_t end = end_of_set(pattern, at);
        if (end != std::string_view::npos) {
            std::string_view members = pattern.substr(at + 1, end - at - 2);
            const bool negated = members.front() == '!' || members.front() == '^';
            if (negated) members.remove_prefix(1);
            at = end;
            return set_contains(members, c) != negated;
        }
    }
    const char element = pattern[at++];
    return element == '?' || element == c;
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view text) {
    constexpr std::size_t none = std::string_view::npos;
    std::size_t at = 0;             // in pattern
    std::size_t position = 0;       // in text
    std::size_t after_star = none;  // pattern position after the last `*` that was met
    std::size_t star_end = 0;       // text position up to which that `*` reaches
    // Only the last `*` ever has to reach further: what came before it has matched as early as it can.
    while (position < text.size()) {
        if (at < pattern.size() && pattern[at] == '*') {
            after_star = ++at;
            star_end = position;
        } else if (at < pattern.size() && element_matches(pattern, at, text[position])) {
            ++position;
        } else if (after_star != none) {
            at = after_star;
            position = ++star_end;
        } else {
            return false;
        }
    }
    while (at < pattern.size() && pattern[at] == '*') ++at;
    return at == pattern.size();
}

bool glob_is_well_formed(std::string_view pattern) {
    for (std::size_t at = 0; at < pattern.size();) {
        if (pattern[at] != '[') {
            ++at;
            continue;
        }
        at = end_of_set(pattern, at);
        if (at == std::string_view::npos) return false;
    }
    return true;
}

}  // namespace fp32shim::policy
