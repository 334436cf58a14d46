// Keeps texts from toml++ 3.3 that it does not survive. What is refused here is wrong or absurd in a policy anyway.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/messages.hpp"

namespace fp32shim::policy {

struct TextProblem {
    Position at;
    std::string message;
};

/// The first problem of these, if any; every other error is left to toml++:
/// - a key of more than eight dotted parts: toml++ recurses once per part when it destroys the tables;
/// - a character beyond ASCII where TOML allows none, or where it follows a line-ending backslash in a multi-line
///   string: toml++ looks whether it is whitespace, and runs into code marked as unreachable (U+00CE, for one);
/// - a quote that does not begin a value or key: toml++ takes it for a part of a number, and what follows not for a
///   string. `a."b"` is refused as well; no key of a policy needs quotes.
std::optional<TextProblem> problem_for_tomlplusplus(std::string_view text);

}  // namespace fp32shim::policy
