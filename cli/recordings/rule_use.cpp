#include "cli/recordings/rule_use.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "policy/messages.hpp"

namespace fp32shim::cli {
std::string unused_rule_text(const RuleUseCount& rule) {
    std::string of;
    if (rule.recordings > 1)
        of = rule.without_use == rule.recordings
                 ? fmt::format(" in {} recordings", rule.recordings)
                 : fmt::format(" in {} of {} recordings", rule.without_use, rule.recordings);
    return fmt::format("rule {} ({}:{}) decided no call{}{}", policy::in_quotes(rule.name), printable(rule.file),
                       rule.line, of, rule.may_follow ? " so far" : "");
}

void RuleUseCounter::add(const record::RecordingReader& recording, bool is_live) {
    if (recording.total_calls() == 0) return;
    // If a recording had no room for some calls, it is unknown which rules decided these calls.
    const bool is_unclear = recording.uncounted_calls() > 0;
    for (record::RecordedRule& rule : recording.rules()) {
        RuleInRun& of_run =
            rules_[{std::move(rule.file), rule.line, std::move(rule.name), recording.facts().process.run}];
        ++of_run.recordings;
        of_run.is_used |= rule.is_used || is_unclear;
        of_run.is_live |= is_live;
    }
}

std::vector<RuleUseCount> RuleUseCounter::all() const {
    std::vector<RuleUseCount> counts;
    for (const auto& [key, of_run] : rules_) {
        const auto& [file, line, name, run] = key;
        const bool is_known =
            !counts.empty() && counts.back().file == file && counts.back().line == line && counts.back().name == name;
        if (!is_known) counts.push_back({.name = name, .file = file, .line = line});
        counts.back().recordings += of_run.recordings;
        if (of_run.is_used) continue;
        counts.back().without_use += of_run.recordings;
        counts.back().may_follow |= of_run.is_live;
    }
    return counts;
}

bool has_unused_rule(const std::vector<RuleUseCount>& rules) {
    return std::ranges::any_of(rules, &RuleUseCount::is_unused);
}

std::string unused_rules_text(const std::vector<RuleUseCount>& rules, std::size_t most) {
    std::string text;
    std::size_t count = 0;
    for (const RuleUseCount& rule : rules)
        if (rule.is_unused() && (++count <= most || most == 0)) text += unused_rule_text(rule) + "\n";
    if (most != 0 && count > most)
        text += fmt::format("and {} decided no call\n", counted(count - most, "more rule"));
    return text;
}

Json rules_json(const std::vector<RuleUseCount>& rules) {
    return json_list(rules, [](const RuleUseCount& rule) -> Json {
        return {{"name", rule.name},
                {"file", text_or_null(rule.file)},
                {"line", rule.line},
                {"recordings", rule.recordings},
                {"without_use", rule.without_use}};
    });
}

}  // namespace fp32shim::cli
