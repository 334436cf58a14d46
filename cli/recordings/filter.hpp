// Declares the command-line options that select recorded calls. The options have the keys and values of `when` in the
// rules of policies.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "policy/decide.hpp"
#include "record/read/reader.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace fp32shim::cli {

class CallFilter {
  public:
    /// Declares `--ran-below` and the options `--function`, `--caller`, … `--max-dim`, `--flops`. If an option is
    /// given several times, a call has to match one of its values. The filter must outlive the app.
    void declare_options(CLI::App& app);

    /// Reads the values of all options, which have the syntax of conditions in a policy file. Returns an error
    /// message, or an empty text on success. Must be called once, after the options are parsed and before passes().
    std::string parse_options();

    bool is_empty() const { return rule_.when.empty() && !ran_below_; }
    /// Returns the value of `--ran-below`; empty: it was not given.
    const std::string& ran_below() const { return ran_below_text_; }
    /// Returns true if the filter has options besides `--ran-below`.
    bool has_conditions() const { return !rule_.when.empty(); }
    bool looks_at_sizes() const { return rule_.when.looks_at_sizes(); }
    /// Returns true if the filter needs the `call_site` of rows (NativeLocator::locate_rows_of).
    bool looks_at_call_sites() const { return !rule_.when.call_site.empty(); }

  private:
    friend class RowFilter;
    std::map<std::string, std::vector<std::string>> values_;  ///< values that were given for each key
    std::string ran_below_text_;
    std::optional<policy::Floor> ran_below_;  ///< selects calls whose format does not meet this floor
    policy::Rule rule_;
    policy::Rule folded_rule_;  ///< `rule_` with wider ranges, for rows whose sizes are rounded up
};

/// Filters the rows of one recording. Filter and recording must outlive this object. If the filter has the option
/// `--stack`, the object takes some 50 bytes for each frame of a call path.
class RowFilter {
  public:
    RowFilter(const CallFilter& filter, const record::RecordingReader& recording)
        : filter_(&filter), recording_(&recording) {}

    /// Returns true if the filter selects the calls of `row`. If the sizes of the row are rounded up, it returns true
    /// for calls that may match.
    bool passes(const record::RecordedRow& row);

    /// Returns true if it is unknown whether the filter selects the calls of `row`: `--ran-below` was given, the
    /// calls have an unknown format, and all that is known of them matches the other options. `row` is null for calls
    /// of which only the number is known.
    bool cannot_decide(const record::RecordedRow* row);

  private:
    /// The result of comparing the lines of Python on a call path with the filter.
    enum class PathMatch : std::uint8_t { none, no_match, match };
    PathMatch match_path(record::format::StringId frame);
    bool meets_conditions(const record::RecordedRow& row);

    const CallFilter* filter_;
    const record::RecordingReader* recording_;
    /// The results of match_path() by the innermost frame of the call path.
    std::unordered_map<record::format::StringId, PathMatch> known_;
};

/// Returns a warning, in one line, that a filter by size selected `calls` calls whose true sizes may not match,
/// because they were rounded up.
std::string rounded_sizes_warning(std::uint64_t calls);

}  // namespace fp32shim::cli
