// Writes policies that lower some groups of products, and reads the source lines that their rules name.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output/json.hpp"
#include "cli/product_groups/groups.hpp"

namespace fp32shim::cli {

/// The texts of the source lines that make the calls of groups. They are shown to people, and rules use them to find
/// a line again after an edit. Each file is read once.
class SourceLineTexts {
  public:
    /// Reads the source lines of `groups`. `recorded_ns` is the time of the calls. If a file was changed later, its
    /// lines may have changed too.
    SourceLineTexts(const GroupList& groups, std::int64_t recorded_ns);

    /// Returns the text of the source line that calls the group's products; empty if it is unknown.
    std::string text_of(const ProductGroup& group) const;
    /// Returns a glob for the group's source line, for the key `text` of a rule; empty if the text of the line is not
    /// known for certain.
    std::string glob_of(const ProductGroup& group) const;

  private:
    Json files_;
};

/// The settings of a policy besides its rules, as the words that policy files use.
struct PolicySettings {
    std::string precision;  ///< precision of the lowered groups
    std::string cpu;        ///< CPU mode (`[cpu] mode` in policies); empty if the environment decides
    std::string name;       ///< name of the policy, and the beginning of its rules' names
    /// The types of products to which the rules apply. Products of other types run as the program asks.
    TriedTypes types = TriedTypes::float32;
    /// `[cpu] stochastic_seed` in policies; absent if previews on a CPU round to nearest.
    std::optional<std::uint64_t> seed{};
};

/// Returns a policy that runs only the groups `lowered` at the precision of `settings`. If `calls` is a range of
/// calls of one group, the policy lowers only this range of the group. All other products of the settings' types run
/// exactly, including those of unknown groups, whatever the program requests.
std::string policy_lowering_only(const GroupList& groups, const Subset& lowered, const PolicySettings& settings,
                                 const CallRange& calls = {});

/// Some groups, and the precision at which all of them run.
struct PrecisionAssignment {
    Subset groups;
    std::string precision;  ///< precision at which the groups run, as a word of policy rules
};

/// A function that returns the comment lines, without `#`, of a rule about `groups`.
using CommentOn = std::function<std::vector<std::string>(const Subset& groups)>;

/// Returns a policy that runs groups at the precisions assigned to them, and all other products at the precision of
/// `settings`, unless the program itself requests another precision. The rules should still match after an edit of
/// the program: a rule names a function if that selects the right groups, otherwise the text of a line, otherwise a
/// line number or an offset. Scopes and sizes are added only where needed. `comment_on` and `texts` may be null.
std::string policy_assigning(const GroupList& groups, const std::vector<PrecisionAssignment>& assigned,
                             const PolicySettings& settings, const CommentOn& comment_on,
                             const SourceLineTexts* texts);

/// Returns a policy that runs the groups `exact` at full precision and all other products at the precision of
/// `settings`, with the rules of policy_assigning().
std::string policy_lowering_all_but(const GroupList& groups, const Subset& exact, const PolicySettings& settings,
                                    const CommentOn& comment_on = nullptr, const SourceLineTexts* texts = nullptr);

/// Returns a glob that matches only `text`. Bytes that a policy cannot contain match any byte.
std::string literal_glob(std::string_view text);

}  // namespace fp32shim::cli
