// Tells which rules of policies decided calls. A rule that decided no call protects nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// A rule of a policy. `recordings` counts the recordings whose policy has the rule, and `without_use` those of them
/// in whose run the rule decided no call.
struct RuleUseCount {
    std::string name, file;
    std::uint32_t line = 0;         ///< line in the policy file
    std::uint64_t recordings = 0;   ///< number of recordings with calls whose policy has the rule
    std::uint64_t without_use = 0;  ///< number of recordings whose run has no call decided by the rule

    bool may_follow = false;  ///< true if a process with the rule is still running, so it may yet use the rule

    bool is_unused() const { return without_use > 0; }
};

/// Collects the rules of all recordings. Processes of one run count together: a rule is used if one of them used it.
/// Processes that belong to no run also count together. Recordings without calls do not count.
class RuleUseCounter {
  public:
    /// Adds the rules of a recording. `is_live` says that the process is still running, so more calls may follow.
    void add(const record::RecordingReader& recording, bool is_live);
    /// Returns the rules, sorted by file and line.
    std::vector<RuleUseCount> all() const;

  private:
    struct RuleInRun {
        std::uint64_t recordings = 0;
        bool is_used = false, is_live = false;
    };
    /// The rules by policy file, line, name of the rule, and number of the run.
    std::map<std::tuple<std::string, std::uint32_t, std::string, std::uint64_t>, RuleInRun> rules_;
};

/// Returns a text about an unused rule: `rule "bisect 1" (policy.toml:13) decided no call`.
std::string unused_rule_text(const RuleUseCount& rule);

bool has_unused_rule(const std::vector<RuleUseCount>& rules);

/// Returns a line for each rule that decided no call. After `most` lines, another line has the number of the
/// remaining rules. If `most` is 0, there is no limit.
std::string unused_rules_text(const std::vector<RuleUseCount>& rules, std::size_t most);

Json rules_json(const std::vector<RuleUseCount>& rules);

}  // namespace fp32shim::cli
