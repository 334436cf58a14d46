// Shell-style patterns of rules: `*` any run of characters, `?` one, `[abc]` `[a-z]` `[!a]` one of (not) these.
#pragma once

#include <string_view>

namespace fp32shim::policy {

/// Whether `pattern` matches the whole of `text`. Bytes are compared, case matters, `/` is a character like any
/// other, and `[` without `]` stands for itself. Neither recursion nor allocation: at most |pattern|·|text| steps.
bool glob_matches(std::string_view pattern, std::string_view text);

/// Whether every `[` that opens a set is closed; a pattern where one is not would match something unexpected.
bool glob_is_well_formed(std::string_view pattern);

}  // namespace fp32shim::policy
