// Shell-style patterns of rules: `*` any run of characters, `?` one, `[abc]` `[a-z]` `[!a]` one of (not) these.
#pragma once

#include <string_view>

namespace fp32shim::policy {

/// Returns true if `pattern` matches the whole `text`. Compares bytes and case; `/` is an ordinary character, and `[`
/// without `]` stands for itself. No recursion, no allocation.
///
/// Compares at most |pattern| + 256·|text| bytes if only plain characters stand between two `*`, usually a few for
/// each byte of the text. Pieces with `?` or a set are tried at 64 offsets of the text at once.
bool glob_matches(std::string_view pattern, std::string_view text);

/// Returns true if every `[` that opens a set is closed. Other patterns would match something unexpected.
bool glob_is_well_formed(std::string_view pattern);

}  // namespace fp32shim::policy
