// Lines of source files, for the report's page.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "cli/output/json_fwd.hpp"

namespace fp32shim::cli {

/// Collects the lines that are wanted, then reads each file once. Recordings are anybody's, and a page is passed on:
/// so only regular files with the name of a source file are read, of at most 4 MiB each, and 1000 in all.
class SourceLines {
  public:
    void want(std::string_view file, std::uint32_t line) { wanted_[std::string(file)].insert(line); }
    /// Returns an object with an entry for each file: `lines` (text by number), or `why`, the reason why there are
    /// none. `changed` is 1 if the file was changed after `changed_after_ns`, so that its lines may be others now.
    Json read(std::int64_t changed_after_ns) const;

  private:
    std::map<std::string, std::set<std::uint32_t>> wanted_;
};

}  // namespace fp32shim::cli
