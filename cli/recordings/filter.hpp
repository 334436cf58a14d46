// Options that choose among recorded calls: keys and values of a rule's `when`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policy/decide.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

class Filter {
  public:
    /// Declares `--function`, `--caller`, … `--max-dim`, `--flops`. A call has to match one value of each option that
    /// is given. The filter must outlive the app.
    void declare(CLI::App& app);

    /// Reads the values of all options, like a rule of a policy file. Returns an error message, empty on success.
    /// Call once, between parsing the options and passes().
    std::string read();

    bool is_empty() const { return rule_.when.empty(); }
    /// Returns true if the filter selects calls of this row, or may do so for a row whose sizes are rounded up.
    bool passes(const record::RecordedRow& row, const record::ProcessFacts& process) const;
    bool looks_at_sizes() const { return rule_.when.looks_at_sizes(); }

  private:
    std::map<std::string, std::vector<std::string>> values_;  ///< values that were given for each key
    policy::Rule rule_;
    policy::Rule folded_rule_;  ///< `rule_`, widened for rows with sizes that are rounded up
};

/// Warns in one line that `calls` calls passed a filter by size although their sizes are rounded up.
std::string folded_text(std::uint64_t calls);

}  // namespace fp32shim::cli
