// Writes the words of commands that are printed for the user to run. They are quoted so that bash reads the same
// words again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

/// Returns the path of a file as an argument of a shell command. A path that begins with `-`, like an option, gets
/// `./`.
std::string quote_shell_path(std::string_view path);

/// Returns words, each in quotes if it needs them, with a blank between them.
std::string shell_words(const std::vector<std::string>& words);

}  // namespace fp32shim::cli
