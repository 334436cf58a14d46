// Rules of policies that decided calls, and those that decided none: a rule that matches nothing protects nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "cli/output/json_fwd.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// A rule in the recordings of some processes.
struct RuleCount {
    std::string name, file;
    std::uint32_t line = 0;         ///< in the policy file
    std::uint64_t recordings = 0;   ///< number of recordings with calls that have the rule
    std::uint64_t without_use = 0;  ///< number of those that belong to runs in which it decided no call

    bool may_follow = false;  ///< some of those processes still run

    bool is_unused() const { return without_use > 0; }
};

/// The rules of all recordings. Processes of one run count together: it is enough that one of them used a rule. So do
/// processes that belong to no run. Recordings without calls do not count.
class RuleUse {
  public:
    /// `is_live`: the process still runs, so that more calls may follow.
    void add(const record::RecordingReader& recording, bool is_live);
    /// Returns the rules, by file and line.
    std::vector<RuleCount> all() const;

  private:
    struct OfRun {
        std::uint64_t recordings = 0;
        bool is_used = false, is_live = false;
    };
    /// File, line, name, and the number of the run.
    std::map<std::tuple<std::string, std::uint32_t, std::string, std::uint64_t>, OfRun> rules_;
};

/// Returns `rule "bisect 1" (policy.toml:13) decided no call`.
std::string unused_rule_text(const RuleCount& rule);

bool has_unused_rule(const std::vector<RuleCount>& rules);

/// Returns a line for each rule that decided no call. After `most` lines, the number of the others; 0: all.
std::string unused_rules_text(const std::vector<RuleCount>& rules, std::size_t most);

Json to_json(const RuleCount& rule);
/// Returns a list of them.
Json to_json(const std::vector<RuleCount>& rules);

}  // namespace fp32shim::cli
