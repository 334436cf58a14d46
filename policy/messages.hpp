// How messages are put together: what was found, what is allowed, the nearest known name. One line each, printable.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/diagnostic.hpp"

namespace fp32shim::policy {

/// A place in a text file, both from 1; columns count characters.
struct Position {
    int line = 1;
    int column = 1;
};

/// Collects what is wrong with one file, as `file:line:column`.
class Report {
  public:
    Report(std::string file, std::vector<Diagnostic>& errors) : file_(std::move(file)), errors_(errors) {}

    void error(Position at, std::string message) {
        errors_.push_back(
            {file_ + ':' + std::to_string(at.line) + ':' + std::to_string(at.column), std::move(message)});
    }

    /// Errors so far, those of earlier files included.
    std::size_t count() const { return errors_.size(); }
    const std::string& file() const { return file_; }

  private:
    std::string file_;
    std::vector<Diagnostic>& errors_;
};

/// plain_text(text), cut where it is longer than a message should be.
std::string printable(std::string_view text);

/// printable(text) in double quotes.
std::string quoted(std::string_view text);

/// The same of a path, which is not cut: what tells it from others stands at its end.
std::string quoted_path(std::string_view path);

/// `a, b, c`
std::string joined(const std::vector<std::string_view>& names);

/// The candidate that `name` is most likely a misspelling of: by insertions, deletions, replacements and swaps of
/// neighbours, ignoring case; nullopt where none is near.
std::optional<std::string_view> nearest(std::string_view name, const std::vector<std::string_view>& candidates);

/// `; did you mean "high"?`, or nothing where no candidate is near, nor a precision's other name.
std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& candidates);

/// `found "hihg"; allowed: native, high; did you mean "high"?`
std::string not_one_of(std::string_view found, const std::vector<std::string_view>& allowed);

/// not_one_of for a default precision, which says that bf16x9 belongs into a rule.
std::string not_a_default_precision(std::string_view found);

/// What is wrong with the path of a log, if anything is: `stderr`, or a name that ends in `.jsonl` or `.fp32rec`,
/// with the placeholders %p %h %r %j %t.
std::optional<std::string> problem_of_log_path(std::string_view path);

}  // namespace fp32shim::policy
