// fp32shim suggest: turns the audits in recordings into a policy that keeps products exact whose errors exceeded a
// tolerance.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/output/terminal.hpp"
#include "cli/product_groups/groups.hpp"
#include "cli/product_groups/line_texts.hpp"
#include "cli/product_groups/policy_text.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/recordings/row_audits.hpp"
#include "cli/report/output_file.hpp"
#include "policy/words.hpp"

namespace fp32shim::cli {
namespace {

struct SuggestOptions {
    std::vector<std::string> recordings;
    std::string precision, metric, output;
    double tolerance = 1e-2;
    bool conservative = false;
};

/// Maximum number of comment lines about single products before a rule.
constexpr std::size_t most_lines_of_a_rule = 8;

/// All products of some recordings, with their audits in one format.
struct AuditedGroups {
    Groups groups;
    AuditSums audits;                                      ///< audits by index of the group
    std::map<std::size_t, std::uint64_t> host_ns;          ///< host time by index of the group
    std::map<policy::AuditFormat, std::uint64_t> formats;  ///< number of audits against FP32, by tested format
    std::uint64_t total_ns = 0;
    std::uint64_t recordings = 0;
    std::int64_t began_ns = INT64_MAX;  ///< start of the first recording
};

policy::AuditFormat format_of(const SuggestOptions& options) {
    return options.precision == "medium" ? policy::AuditFormat::bf16 : policy::AuditFormat::tf32;
}

void add_recording(const record::RecordingReader& recording, policy::AuditFormat format,
                   RecordedProductsReader& reader, AuditedGroups& found) {
    std::map<std::uint32_t, std::size_t> numbers;
    ++found.recordings;
    found.began_ns = std::min(found.began_ns, recording.facts().opened_ns);
    for (const auto& [id, counters] : recording.counters()) {
        const record::RecordedRow* const row = recording.row(id);
        found.total_ns += counters.total_ns;
        if (row == nullptr || row->is_overflow) continue;
        const std::size_t number = found.groups.number_of(reader.group_of(*row, recording));
        numbers[id] = number;
        found.host_ns[number] += counters.total_ns;
    }
    recording.visit_audits([&](const record::RecordedAudit& audit) {
        const auto number = numbers.find(audit.row);
        if (number == numbers.end() || audit.audit.reference != policy::AuditFormat::fp32) return true;
        ++found.formats[audit.audit.tested];
        if (audit.audit.tested == format) found.audits.add(static_cast<std::uint32_t>(number->second), audit.audit);
        return true;
    });
}

/// Chooses the groups that a policy keeps exact, and gives the reasons.
class Choice {
  public:
    Choice(const AuditedGroups& found, const SuggestOptions& options)
        : found_(found), options_(options), metric_(*policy::parse_word(policy::metric_words, options.metric)) {
        for (const RowAudits& audits : found.audits.all()) by_group_[audits.row] = &audits;
        for (std::size_t i = 0; i < found.groups.all().size(); ++i) {
            const RowAudits* const audits = audits_of(i);
            const bool is_judged = audits != nullptr && audits->compared > 0;
            if (!is_judged) {
                unaudited_.push_back(i);
            } else if (!(audits->worst.by(metric_) <= options.tolerance)) {
                beyond_.push_back(i);
            }
        }
        exact_ = beyond_;
        if (!options.conservative) return;
        for (std::size_t i = 0; i < found.groups.all().size(); ++i)
            if (!contains(exact_, i) && (contains(unaudited_, i) || shares_a_location(i))) widened_.push_back(i);
        exact_ = union_of(exact_, widened_);
    }

    const Subset& exact() const { return exact_; }
    const Subset& beyond() const { return beyond_; }
    const Subset& unaudited() const { return unaudited_; }

    /// Returns comment lines with the errors that justify a rule about some groups, the largest first.
    std::vector<std::string> evidence(const Subset& groups) const {
        Subset sorted = groups;
        std::ranges::stable_sort(sorted, std::greater<>(), [this](std::size_t i) {
            const RowAudits* const audits = audits_of(i);
            return audits == nullptr ? -1.0 : audits->worst.by(metric_);
        });
        std::vector<std::string> lines = {found_.groups[sorted.front()].location_text()};
        for (const std::size_t i : sorted) {
            if (lines.size() > most_lines_of_a_rule) {
                lines.push_back(fmt::format("and {} more", sorted.size() - most_lines_of_a_rule));
                break;
            }
            lines.push_back(group_line(i));
        }
        return lines;
    }

  private:
    const RowAudits* audits_of(std::size_t group) const {
        const auto found = by_group_.find(group);
        return found == by_group_.end() ? nullptr : found->second;
    }

    bool shares_a_location(std::size_t group) const {
        return std::ranges::any_of(beyond_, [&](std::size_t bad) {
            const GroupKey &a = found_.groups[bad].key, &b = found_.groups[group].key;
            return a.location.members() == b.location.members() && a.scope == b.scope;
        });
    }

    std::string group_line(std::size_t group) const {
        const Group& about = found_.groups[group];
        const auto host_ns = found_.host_ns.find(group);
        const std::string share = share_text(host_ns == found_.host_ns.end() ? 0 : host_ns->second, found_.total_ns);
        const std::string head = fmt::format("{} {}", about.key.function, about.key.size_text());
        const RowAudits* const audits = audits_of(group);
        if (audits == nullptr || audits->compared == 0)
            return fmt::format("{}: never audited; {} of the host time", head, share);
        return fmt::format("{}: {} up to {:.2g}, mean {:.2g}, in {}; {} of the host time", head, options_.metric,
                           audits->worst.by(metric_), audits->mean(metric_), counted(audits->compared, "audit"),
                           share);
    }

    const AuditedGroups& found_;
    const SuggestOptions& options_;
    policy::Metric metric_;
    std::map<std::size_t, const RowAudits*> by_group_;
    Subset beyond_, unaudited_, widened_, exact_;
};

std::uint64_t sum_of(const std::map<std::size_t, std::uint64_t>& values, const Subset& groups) {
    std::uint64_t sum = 0;
    for (const std::size_t group : groups)
        if (const auto found = values.find(group); found != values.end()) sum += found->second;
    return sum;
}

/// Returns true if a rule names a call site by its offset.
bool names_offset(const std::string& policy) {
    for (std::size_t at = policy.find("\nwhen = "); at != std::string::npos; at = policy.find("\nwhen = ", at + 1))
        if (policy.substr(at, policy.find('\n', at + 1) - at).find("+0x") != std::string::npos) return true;
    return false;
}

std::string policy_header(const AuditedGroups& found, const Choice& choice, const SuggestOptions& options,
                          const std::string& policy) {
    std::uint64_t audits = 0;
    for (const RowAudits& row : found.audits.all()) audits += row.compared;
    std::string text = fmt::format(
        "# Suggested by fp32shim suggest {} from {} of {} in {}.\n"
        "# Products that exceeded {:g} by the metric \"{}\" stay exact: {} of {} groups, {} of the host time.\n",
        FP32SHIM_VERSION, counted(audits, "audit"), counted(found.groups.all().size(), "group"),
        counted(found.recordings, "recording"), options.tolerance, options.metric, choice.beyond().size(),
        found.groups.all().size(), share_text(sum_of(found.host_ns, choice.beyond()), found.total_ns));
    if (!choice.unaudited().empty())
        text += fmt::format("# Never audited: {} of the groups, {} of the host time; they {}.\n",
                            choice.unaudited().size(),
                            share_text(sum_of(found.host_ns, choice.unaudited()), found.total_ns),
                            options.conservative ? "stay exact" : "are lowered; --conservative keeps them exact");
    if (names_offset(policy))
        text +=
            "# A place such as program!main+0x1c4 is no longer valid once the program is recompiled: record and "
            "suggest again.\n";
    return text + "# To try this policy on a CPU: fp32shim run --cpu emulate --policy FILE -- PROGRAM\n\n";
}

/// Returns the reason why nothing can be suggested; empty if something can.
std::string why_nothing(const AuditedGroups& found, const SuggestOptions& options) {
    const auto count_of = [&](policy::AuditFormat format) {
        const auto counted = found.formats.find(format);
        return counted == found.formats.end() ? 0 : counted->second;
    };
    if (count_of(format_of(options)) > 0) return {};
    std::string others;
    for (const auto& [format, count] : found.formats)
        others += fmt::format("{}{}", others.empty() ? "" : ", ", policy::to_string(format));
    const auto wanted = policy::to_string(format_of(options));
    if (others.empty())
        return fmt::format(
            "found no audits of {} in these recordings; record some: FP32_MATMUL_AUDIT=0.01 fp32shim run --log "
            "run.fp32rec -- PROGRAM",
            wanted);
    return fmt::format("found no audits of {}, only of {}; record with [audit] against = \"{}\", or give --precision",
                       wanted, others, wanted);
}

int suggest(SuggestOptions& options) {
    const RecordingPaths paths = find_recordings(options.recordings);
    if (print_errors("suggest", paths)) return exit_code::usage;
    if (const std::string problem = output_problem(options.output, paths.paths); !problem.empty()) {
        say("suggest", problem);
        return exit_code::usage;
    }
    AuditedGroups found;
    RecordedProductsReader reader;
    const auto problems = visit_recordings(paths.paths, [&](const std::string&, record::RecordingReader& recording) {
        add_recording(recording, format_of(options), reader, found);
    });
    const bool is_damaged = print_problems("suggest", problems);
    if (found.recordings == 0) return exit_code::usage;
    if (const std::string why = why_nothing(found, options); !why.empty()) {
        say("suggest", why);
        return exit_code::inconclusive;
    }
    const Choice choice(found, options);
    ReportOutput output(options.output);
    const LineTexts lines(found.groups, found.began_ns);
    const std::string policy = policy_lowering_all_but(
        found.groups, choice.exact(), {options.precision, "", "suggest"},
        [&](const Subset& groups) { return choice.evidence(groups); }, &lines);
    output.put(policy_header(found, choice, options, policy) + policy);
    if (const std::string problem = output.finish(); !problem.empty()) {
        say("suggest", problem);
        return exit_code::usage;
    }
    return is_damaged ? exit_code::finding : exit_code::ok;
}

}  // namespace

Action define_suggest(CLI::App& app) {
    auto options = std::make_shared<SuggestOptions>();
    app.add_option("RECORDING", options->recordings, "Recordings with audits, folders with recordings, or globs")
        ->type_name("FILE")
        ->required();
    options->precision = "high";
    add_choice(app, "--precision", options->precision, {"high", "medium"},
               "Precision for everything that tolerates it");
    options->metric = "row";
    add_choice(app, "--metric", options->metric, policy::texts_of(policy::metric_words), "Measure of the error");
    add_number(app, "--tolerance", options->tolerance, "Largest acceptable error");
    app.add_flag(
        "--conservative", options->conservative,
        "Keep products exact that were never audited, and all products of a place where one must stay exact");
    add_output(app, options->output);
    return [options] { return suggest(*options); };
}

}  // namespace fp32shim::cli
