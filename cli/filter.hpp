// Options that choose among recorded calls, with the keys and values of a rule's `when`.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "policy/decide.hpp"
#include "record/recording_reader.hpp"

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
    bool passes(const record::RecordedRow& row, const record::ProcessFacts& process) const;

  private:
    std::map<std::string, std::vector<std::string>> values_;  ///< by key
    policy::Rule rule_;
};

}  // namespace fp32shim::cli
