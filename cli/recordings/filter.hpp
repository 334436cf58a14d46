// Options that choose among recorded calls: keys and values of a rule's `when`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "policy/decide.hpp"
#include "record/read/reader.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}

namespace fp32shim::cli {

class Filter {
  public:
    /// Declares `--function`, `--caller`, … `--max-dim`, `--flops`, of which a call has to match one value each, and
    /// `--ran-below`. The filter must outlive the app.
    void declare(CLI::App& app);

    /// Reads the values of all options, like a rule of a policy file. Returns an error message, empty on success.
    /// Call once, between parsing the options and passes().
    std::string read();

    bool is_empty() const { return rule_.when.empty() && !ran_below_; }
    /// Returns the value of `--ran-below`; empty: it was not given.
    const std::string& ran_below() const { return ran_below_text_; }
    /// Returns true if the filter has options besides `--ran-below`.
    bool has_conditions() const { return !rule_.when.empty(); }
    bool looks_at_sizes() const { return rule_.when.looks_at_sizes(); }
    /// Returns true if rows need their `call_site` (NativeLocations::name_rows_of).
    bool looks_at_call_sites() const { return !rule_.when.call_site.empty(); }

  private:
    friend class RowFilter;
    std::map<std::string, std::vector<std::string>> values_;  ///< values that were given for each key
    std::string ran_below_text_;
    std::optional<policy::Floor> ran_below_;  ///< only calls of formats that do not meet it
    policy::Rule rule_;
    policy::Rule folded_rule_;  ///< `rule_`, widened for rows with sizes that are rounded up
};

/// Filters the rows of one recording. Filter and recording must outlive this object. Takes some 50 bytes for each
/// frame of a call path if the filter asks for lines of Python.
class RowFilter {
  public:
    RowFilter(const Filter& filter, const record::RecordingReader& recording)
        : filter_(&filter), recording_(&recording) {}

    /// Returns true if the filter selects calls of this row, or may do so for a row whose sizes are rounded up.
    bool passes(const record::RecordedRow& row);

    /// Returns true if the filter asks for a format that calls of this row are not known to have or to lack, and all
    /// else that is known of them matches. `row`: null for calls that no row has.
    bool leaves_open(const record::RecordedRow* row);

  private:
    /// Lines of Python on a call path, as the filter sees them.
    enum class Lines : std::uint8_t { none, no_match, match };
    Lines judge_path(record::format::StringId frame);
    bool meets_conditions(const record::RecordedRow& row);

    const Filter* filter_;
    const record::RecordingReader* recording_;
    std::unordered_map<record::format::StringId, Lines> known_;  ///< of each frame with its callers
};

/// Warns in one line that `calls` calls passed a filter by size although their sizes are rounded up.
std::string folded_text(std::uint64_t calls);

}  // namespace fp32shim::cli
