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

/// Texts of the groups' source lines, for people and for rules that find a line again after an edit. Each file is
/// read once.
class SourceLineTexts {
  public:
    /// Reads the lines. `recorded_ns` is the time of the calls. If a file was changed later, its lines may have
    /// changed too.
    SourceLineTexts(const GroupList& groups, std::int64_t recorded_ns);

    /// Returns the text of the source line that calls the group's products; empty if it is unknown.
    std::string text_of(const ProductGroup& group) const;
    /// Returns a glob for the `text` of a rule; empty if the line's text is not known for certain.
    std::string glob_of(const ProductGroup& group) const;

  private:
    Json files_;
};

/// Settings of a policy other than its rules, by their words in policy files.
struct PolicySettings {
    std::string precision;                   ///< precision of the lowered groups
    std::string cpu;                         ///< `[cpu] mode`; empty: the environment decides
    std::string name;                        ///< name of the policy, and the beginning of its rules' names
    TriedTypes types = TriedTypes::float32;  ///< types to which the rules apply; others run as the program asks
    std::optional<std::uint64_t> seed{};     ///< `[cpu] stochastic_seed`; absent: previews round to nearest
};

/// Returns a policy that runs only the groups `lowered` at the lower precision; if `calls` is a range, only these
/// calls of its group. Everything else of the settings' types is exact, including unknown groups, whatever the
/// program requests.
std::string policy_lowering_only(const GroupList& groups, const Subset& lowered, const PolicySettings& settings,
                                 const CallRange& calls = {});

/// Groups, and the precision that all of them get.
struct PrecisionAssignment {
    Subset groups;
    std::string precision;  ///< a word for a rule's precision
};

/// Returns comment lines, without `#`, for a rule about some groups.
using CommentOn = std::function<std::vector<std::string>(const Subset& groups)>;

/// Returns a policy that runs groups at the precisions assigned to them, and all others at that of the settings,
/// unless the program itself requests another. `comment_on` and `texts` may be null. The rules should still match
/// after an edit of the program: they name a function if that is enough, otherwise the text of a line, then sizes,
/// and a line number or an offset last.
std::string policy_assigning(const GroupList& groups, const std::vector<PrecisionAssignment>& assigned,
                             const PolicySettings& settings, const CommentOn& comment_on,
                             const SourceLineTexts* texts);

/// Returns policy_assigning() with full precision for the groups `exact`.
std::string policy_lowering_all_but(const GroupList& groups, const Subset& exact, const PolicySettings& settings,
                                    const CommentOn& comment_on = nullptr, const SourceLineTexts* texts = nullptr);

/// Returns a glob that matches only `text`. Bytes that a policy cannot contain match any byte.
std::string literal_glob(std::string_view text);

}  // namespace fp32shim::cli
