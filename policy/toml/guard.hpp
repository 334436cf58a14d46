// Refuses texts that would crash toml++ 3.3. None of them is useful in a policy.
#pragma once

#include <string_view>

#include "policy/messages.hpp"

namespace fp32shim::policy {

/// Returns true if the text has none of these problems; otherwise reports the first. toml++ reports all other errors.
/// - A key of more than eight dotted parts: toml++ recurses once per part when it destroys the tables.
/// - A character beyond ASCII where TOML allows none, or after a line-ending backslash in a multi-line string: toml++
///   tests it for whitespace, and runs into code marked as unreachable (for example with U+00CE).
/// - A quote that does not begin a value or key: toml++ reads it as part of a number. `a."b"` is refused too: no key
///   of a policy needs quotes.
bool is_safe_for_tomlplusplus(std::string_view text, Report& report);

}  // namespace fp32shim::policy
