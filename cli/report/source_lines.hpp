// Reads lines of source files for a report's page.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "cli/output/json_fwd.hpp"

namespace fp32shim::cli {

/// Collects the numbers of the needed lines, then reads each file once. Paths come from untrusted recordings, and
/// pages are passed on to others. Therefore only regular files with the name of a source file are read: at most 4 MiB
/// each, and 1000 in all.
class SourceLineReader {
  public:
    /// Adds a line to those that read_wanted_lines() reads.
    void add_wanted_line(std::string_view file, std::uint32_t line) { wanted_[std::string(file)].insert(line); }
    /// Returns an object with an entry for each file. An entry has `lines`, texts by line number, or `why`, the
    /// reason why there are none. `changed` is 1 if the file was changed after `changed_after_ns`, because its lines
    /// may have changed too.
    Json read_wanted_lines(std::int64_t changed_after_ns) const;

  private:
    std::map<std::string, std::set<std::uint32_t>> wanted_;
};

}  // namespace fp32shim::cli
