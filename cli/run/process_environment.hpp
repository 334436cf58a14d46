// Holds the environment for a program to be started, as entries `NAME=value`. If a name occurs twice, the first entry
// counts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

/// Splits a list such as the value of LD_PRELOAD at any of `separators`, and omits empty entries.
std::vector<std::string> split_list(std::string_view list, std::string_view separators);

class ProcessEnvironment {
  public:
    /// Returns a copy of this process's environment.
    static ProcessEnvironment of_this_process();

    /// Returns the value of a variable; empty if it is not set.
    std::string get(std::string_view name) const;
    /// Sets a variable and removes all earlier entries of its name.
    void set(std::string_view name, std::string_view value);

    const std::vector<std::string>& entries() const { return entries_; }
    /// Returns the entries for policy::load_policy and record::gather_process_facts. They are valid until set()
    /// is called.
    std::vector<std::string_view> entry_views() const { return {entries_.begin(), entries_.end()}; }

  private:
    std::vector<std::string> entries_;
};

}  // namespace fp32shim::cli
