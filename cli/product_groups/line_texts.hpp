// Reads the source lines of groups, for people and for rules that find a line again after an edit.
#pragma once

#include <cstdint>
#include <string>

#include "cli/output/json.hpp"
#include "cli/product_groups/groups.hpp"

namespace fp32shim::cli {

/// Texts of the groups' source lines. Each file is read once.
class LineTexts {
  public:
    /// Reads the lines. `recorded_ns` is the time of the calls. If a file was changed later, its lines may have
    /// changed too.
    LineTexts(const Groups& groups, std::int64_t recorded_ns);

    /// Returns the text of a group's line; empty if it is unknown.
    std::string of(const Group& group) const;
    /// Returns a glob for the `text` of a rule; empty if the line's text is not known for certain.
    std::string glob_of(const Group& group) const;

  private:
    Json files_;
};

}  // namespace fp32shim::cli
