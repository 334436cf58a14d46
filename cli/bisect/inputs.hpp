// Files that the answers of a search depend on: the program, the files among its arguments, and its sources.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/bisect/state.hpp"

namespace fp32shim::cli {

/// Watches the files of a search, so that a search that is continued notices a change.
class Inputs {
  public:
    /// `program`: the file that the first word names; empty: not known.
    Inputs(const std::string& program, const std::vector<std::string>& words);

    /// Keeps the files that no run has changed, and the sources of groups. To be called after a run.
    void keep(const Groups& groups, SearchState& state);
    /// Returns the first file of the state that has changed or gone; empty: none has.
    static std::string changed_file(const SearchState& state);

  private:
    std::map<std::string, std::string> before_;  ///< version_of_file() by path, from before the first run
};

}  // namespace fp32shim::cli
