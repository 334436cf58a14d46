// Error messages, and their parts. A message is one printable line with the wrong value, the allowed values and the
// nearest known name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::policy {

/// An error or warning about a position in a file, or about an environment variable.
struct Diagnostic {
    std::string where;    ///< the place of the error: `prod.toml:12:5`, or `FP32_MATMUL_PRECISION`
    std::string message;  ///< one line: the wrong value, the allowed values, the nearest known name

    /// Returns `where: message` on one line.
    std::string text() const { return where + ": " + message; }
};

/// A position in a text file. Lines and columns count from 1; columns count characters.
struct TextPosition {
    int line = 1;
    int column = 1;
};

/// Collects the errors of one file, with their positions as `file:line:column`.
class ErrorCollector {
  public:
    ErrorCollector(std::string file, std::vector<Diagnostic>& errors) : file_(std::move(file)), errors_(errors) {}

    void add_error(TextPosition at, std::string message) {
        errors_.push_back(
            {file_ + ':' + std::to_string(at.line) + ':' + std::to_string(at.column), std::move(message)});
    }

    /// Returns the length of the list given to the constructor, which may hold errors of earlier files.
    std::size_t error_count() const { return errors_.size(); }
    const std::string& file() const { return file_; }

  private:
    std::string file_;
    std::vector<Diagnostic>& errors_;
};

/// Returns `text` with control and invisible characters as \xNN, truncated to fit in a message.
std::string printable(std::string_view text);

/// Returns printable(text) in double quotes.
std::string in_quotes(std::string_view text);

/// Returns a printable path in double quotes. Truncates it only after 4096 bytes, since paths differ at their ends.
std::string quoted_path(std::string_view path);

/// Returns the names with commas between them: `a, b, c`.
std::string joined(const std::vector<std::string_view>& names);

/// Returns the candidate nearest to `name` by insertions, deletions, replacements and swaps of neighbours, ignoring
/// case, or nullopt if none is similar enough.
std::optional<std::string_view> nearest_name(std::string_view name, const std::vector<std::string_view>& candidates);

/// Returns a text such as `; did you mean "high"?`, with the candidate that means the same precision as `name` (for
/// example `tf32`), or else the candidate that is similar to `name`. Returns an empty text if there is none.
std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& candidates);

/// Returns an error message: `found "hihg"; allowed: native, high; did you mean "high"?`.
std::string unknown_word_error(std::string_view found, const std::vector<std::string_view>& allowed);

/// Returns an error message for `found`, which is not a valid default precision. If `found` is a precision that rules
/// may have, the message says that it is for rules only.
std::string default_precision_error(std::string_view found);

/// Returns the error in the name of a log, or nullopt if the name is valid. Valid names are `stderr`, and names that
/// end in `.jsonl` or `.fp32rec`, with the placeholders %p %h %r %j %t.
std::optional<std::string> problem_with_log_path(std::string_view path);

}  // namespace fp32shim::policy
