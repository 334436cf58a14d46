// Options that choose among recorded calls, with the keys and values of a rule's `when`.
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
    /// Declares `--function`, `--caller`, … `--max-dim`, `--flops`. Each may be given several times: one of its
    /// values is enough, and all keys must hold. The filter must outlive the app.
    void declare(CLI::App& app);

    /// Reads the values, as a policy file's rule would be read; an empty text, or what is wrong with them. Once,
    /// after the options were parsed and before passes().
    std::string read();

    bool is_empty() const { return rule_.when.empty(); }
    /// Whether these calls are chosen. Of a row whose sizes are rounded up to powers of two, whether they may be.
    bool passes(const record::RecordedRow& row, const record::ProcessFacts& process) const;
    bool looks_at_sizes() const { return rule_.when.looks_at_sizes(); }

  private:
    std::map<std::string, std::vector<std::string>> values_;  ///< by key
    policy::Rule rule_;
    policy::Rule folded_rule_;  ///< for sizes that are rounded up
};

/// How many of the calls that a filter by size let pass have sizes that are rounded up, where there are any: what the
/// user has to know then, in one line.
std::string folded_text(std::uint64_t calls);

}  // namespace fp32shim::cli
