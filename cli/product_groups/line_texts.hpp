// Texts of the source lines of groups: for people, and for rules that find a line again after an edit.
#pragma once

#include <cstdint>
#include <string>

#include "cli/output/json.hpp"
#include "cli/product_groups/groups.hpp"

namespace fp32shim::cli {

/// Texts of the lines of groups, read once from their files.
class LineTexts {
  public:
    /// `recorded_ns`: time of the calls; a file that was changed later may have other lines now.
    LineTexts(const Groups& groups, std::int64_t recorded_ns);

    /// Returns the line's text; empty if it is not known.
    std::string of(const Group& group) const;
    /// Returns the glob of a rule's `text`; empty if the line's text is not known for certain.
    std::string glob_of(const Group& group) const;

  private:
    Json files_;
};

}  // namespace fp32shim::cli
