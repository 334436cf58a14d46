// Shell-style patterns of rules: `*` any run of characters, `?` one, `[abc]` `[a-z]` `[!a]` one of (not) these.
#pragma once

#include <string_view>

namespace fp32shim::policy {

/// Whether `pattern` matches the whole of `text`. Bytes are compared, case matters, `/` is a character like any
/// other, and `[` without `]` stands for itself. Neither recursion nor allocation.
///
/// Takes at most |pattern| + 256·|text| comparisons of bytes where only plain characters stand between two `*`, and
/// in practice a few for each byte. What has `?` or a set there is tried at 64 places of the text at once.
bool glob_matches(std::string_view pattern, std::string_view text);

/// Whether every `[` that opens a set is closed; a pattern where one is not would match something unexpected.
bool glob_is_well_formed(std::string_view pattern);

}  // namespace fp32shim::policy
