// An environment to change and to pass on: entries `NAME=value`, of which the first of a name counts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fp32shim::cli {

class ProcessEnvironment {
  public:
    /// A copy of this process's.
    static ProcessEnvironment of_this_process();

    /// Empty where the variable is not set, or set to nothing.
    std::string get(std::string_view name) const;
    /// Replaces every entry of that name.
    void set(std::string_view name, std::string_view value);

    const std::vector<std::string>& entries() const { return entries_; }
    /// As policy::load and record::gather_process_facts take it; valid until the next change.
    std::vector<std::string_view> views() const { return {entries_.begin(), entries_.end()}; }

  private:
    std::vector<std::string> entries_;
};

}  // namespace fp32shim::cli
