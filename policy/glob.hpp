// Shell-style patterns of rules. `*` matches any run of characters, `?` any one character, `[abc]` one of the
// characters a, b and c, `[a-z]` one character from a to z, and `[!a]` one character other than a.
#pragma once

#include <string_view>

namespace fp32shim::policy {

/// Returns true if `pattern` matches the whole `text`. Compares bytes, so case matters. `/` is an ordinary character,
/// and `[` without `]` stands for itself. The function neither recurses nor allocates.
///
/// The time is short even for long texts. If a part of the pattern between two `*` has only plain characters, memmem
/// finds it, which compares at most 256 bytes for each byte of the text, and usually a few. A part with `?` or a set
/// is tried at 64 offsets of the text at once.
bool glob_matches(std::string_view pattern, std::string_view text);

/// Returns true if every `[` that opens a set is closed. A pattern with a stray `[` would match unexpected texts.
bool glob_is_well_formed(std::string_view pattern);

}  // namespace fp32shim::policy
