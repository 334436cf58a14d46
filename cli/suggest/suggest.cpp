// fp32shim suggest: turns the audits in recordings into a policy that keeps products exact whose errors exceeded a
// tolerance.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/output/terminal.hpp"
#include "cli/product_groups/groups.hpp"
#include "cli/product_groups/line_texts.hpp"
#include "cli/product_groups/policy_text.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/recordings/row_audits.hpp"
#include "cli/report/output_file.hpp"
#include "policy/words.hpp"

namespace fp32shim::cli {
namespace {

struct SuggestOptions {
    std::vector<std::string> recordings;
    std::string dtype, precision, metric, output;
    double tolerance = 1e-2;
    bool conservative = false;
};

/// Share of a group's calls of which audits have to show that no more are beyond the tolerance.
constexpr double well_bounded = 0.05;
/// Maximum number of comment lines about single products before a rule.
constexpr std::size_t most_lines_of_a_rule = 8;

/// All products of some recordings, with their audits in one format.
struct AuditedGroups {
    Groups groups;
    AuditSums audits;                                      ///< by number of the group
    std::map<std::size_t, std::uint64_t> host_ns;          ///< by number of the group
    std::map<std::size_t, std::uint64_t> calls;            ///< by number of the group
    std::map<std::size_t, std::uint64_t> noise;            ///< audits left out as noise, by number of the group
    std::map<policy::AuditFormat, std::uint64_t> formats;  ///< number of audits of these types, by tested format
    Share of_other_types;                                  ///< calls that the policy is not about
    std::uint64_t audits_of_other_types = 0;
    Share float64_on_gpu;  ///< calls that no audit can judge, and no rule lowers
    std::uint64_t total_ns = 0;
    std::uint64_t recordings = 0;
    /// Times of the first and the last audit, as shares of the time from a recording's first call to its last.
    double first_audit = 1;
    double last_audit = 0;
    std::int64_t began_ns = INT64_MAX;  ///< begin of the first recording
};

TriedTypes types_of(const SuggestOptions& options) {
    return options.dtype == to_string(TriedTypes::float64) ? TriedTypes::float64 : TriedTypes::float32;
}

constexpr std::string_view single_word = "fp32";
constexpr std::string_view sgemm_word = "sgemm";

policy::AuditFormat format_of(const SuggestOptions& options) {
    if (options.precision == single_word) return policy::AuditFormat::fp32;
    if (options.precision == sgemm_word) return policy::AuditFormat::sgemm;
    return options.precision == "medium" ? policy::AuditFormat::bf16 : policy::AuditFormat::tf32;
}

/// Returns the format in which products of these types are called, to which audits compare lower ones.
policy::AuditFormat exact_format(TriedTypes types) {
    return types == TriedTypes::float64 ? policy::AuditFormat::fp64 : policy::AuditFormat::fp32;
}

/// Returns the name of the products' own format.
std::string_view exact_name(const SuggestOptions& options) {
    return types_of(options) == TriedTypes::float64 ? "FP64" : "FP32";
}

/// Returns the type that the options do not name.
std::string_view other_type(const SuggestOptions& options) {
    return to_string(types_of(options) == TriedTypes::float64 ? TriedTypes::float32 : TriedTypes::float64);
}

policy::Metric metric_of(const SuggestOptions& options) {
    return *policy::parse_word(policy::metric_words, options.metric);
}

/// Adds an audit, judged by the options instead of by the policy that was in force.
void add_audit(const record::Audit& recorded, std::size_t group, const SuggestOptions& options,
               AuditedGroups& found) {
    const policy::Metric metric = metric_of(options);
    if ((recorded.notes & record::audit_noise) != 0 && metric != policy::Metric::component) {
        ++found.noise[group];
        return;
    }
    record::Audit audit = recorded;
    audit.flags &= static_cast<std::uint8_t>(~record::audit_beyond);
    if (!(audit.errors.by(metric) <= options.tolerance)) audit.flags |= record::audit_beyond;
    found.audits.add(static_cast<std::uint32_t>(group), audit);
}

void add_recording(const record::RecordingReader& recording, const SuggestOptions& options,
                   RecordedProductsReader& reader, AuditedGroups& found) {
    std::map<std::uint32_t, std::size_t> numbers;
    std::set<std::uint32_t> others;  // rows of other types
    const TriedTypes types = types_of(options);
    std::int64_t first_ns = INT64_MAX;
    std::int64_t last_ns = INT64_MIN;
    ++found.recordings;
    found.began_ns = std::min(found.began_ns, recording.facts().opened_ns);
    for (const auto& [id, counters] : recording.counters()) {
        const record::RecordedRow* const row = recording.row(id);
        found.total_ns += counters.total_ns;
        first_ns = std::min(first_ns, counters.first_ns);
        last_ns = std::max(last_ns, counters.last_ns);
        if (row == nullptr || row->is_overflow) continue;
        if (!are_tried(types, row->decision.call.dtype)) {
            found.of_other_types.add(counters);
            others.insert(id);
            continue;
        }
        if (types == TriedTypes::float64 && row->decision.call.device == policy::Device::cuda) {
            found.float64_on_gpu.add(counters);
            continue;
        }
        const std::size_t number = found.groups.number_of(reader.group_of(*row, recording));
        numbers[id] = number;
        found.host_ns[number] += counters.total_ns;
        found.calls[number] += counters.calls;
    }
    recording.visit_audits([&](const record::RecordedAudit& audit) {
        if (others.contains(audit.row) && !is_about_nonfinite(audit.audit)) ++found.audits_of_other_types;
        const auto number = numbers.find(audit.row);
        if (number == numbers.end() || audit.audit.reference != exact_format(types)) return true;
        ++found.formats[audit.audit.tested];
        if (audit.audit.tested != format_of(options)) return true;
        add_audit(audit.audit, number->second, options, found);
        const double share = last_ns <= first_ns ? 0
                                                 : static_cast<double>(audit.end_ns - first_ns) /
                                                       static_cast<double>(last_ns - first_ns);
        found.first_audit = std::min(found.first_audit, std::clamp(share, 0.0, 1.0));
        found.last_audit = std::max(found.last_audit, std::clamp(share, 0.0, 1.0));
        return true;
    });
}

/// Chooses the groups that a policy keeps exact, and gives the reasons.
class Choice {
  public:
    Choice(const AuditedGroups& found, const SuggestOptions& options)
        : found_(found), options_(options), metric_(metric_of(options)) {
        for (const RowAudits& audits : found.audits.all()) by_group_[audits.row] = &audits;
        for (std::size_t i = 0; i < found.groups.all().size(); ++i) {
            const RowAudits* const audits = audits_of(i);
            const bool is_judged = audits != nullptr && audits->compared > 0;
            if (!is_judged && found.noise.contains(i)) {
                noise_.push_back(i);
            } else if (!is_judged) {
                unaudited_.push_back(i);
            } else if (!(audits->worst.by(metric_) <= options.tolerance)) {
                beyond_.push_back(i);
            } else if (most_beyond(i).value_or(1) <= well_bounded) {
                bounded_.push_back(i);
            }
        }
        exact_ = beyond_;
        if (!options.conservative) return;
        for (std::size_t i = 0; i < found.groups.all().size(); ++i)
            if (!contains(exact_, i) && (contains(unaudited_, i) || contains(noise_, i) || shares_a_location(i)))
                widened_.push_back(i);
        exact_ = union_of(exact_, widened_);
    }

    const Subset& exact() const { return exact_; }
    const Subset& beyond() const { return beyond_; }
    const Subset& unaudited() const { return unaudited_; }
    /// Returns the groups of which every result that was audited is noise without being lowered.
    const Subset& noise() const { return noise_; }
    /// Returns the groups without an error beyond the tolerance of which at most well_bounded of the calls are
    /// beyond.
    const Subset& bounded() const { return bounded_; }
    /// Returns the audited groups without an error beyond the tolerance.
    std::uint64_t fine() const {
        return found_.groups.all().size() - beyond_.size() - unaudited_.size() - noise_.size();
    }

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
        return fmt::format("{}: {} up to {:.2g}{}, in {} of {}{}{}; {} of the host time", head, options_.metric,
                           audits->worst.by(metric_), mean_text(*audits, calls_of(group)),
                           counted(audits->compared, "audit"), counted(calls_of(group), "call"),
                           beyond_text(*audits, group), own_error_text(*audits), share);
    }

    std::uint64_t calls_of(std::size_t group) const {
        const auto calls = found_.calls.find(group);
        return calls == found_.calls.end() ? 0 : calls->second;
    }

    std::optional<double> most_beyond(std::size_t group) const {
        return audits_of(group)->most_beyond(calls_of(group));
    }

    std::string mean_text(const RowAudits& audits, std::uint64_t calls) const {
        if (const auto mean = audits.estimated_mean(metric_, calls)) return fmt::format(", mean {:.2g}", *mean);
        const bool is_early = audits.not_noted == 0;
        return fmt::format(", mean {:.2g} of {}", audits.sum.by(metric_) / static_cast<double>(audits.compared),
                           is_early ? "the first calls alone" : "these");
    }

    std::string beyond_text(const RowAudits& audits, std::size_t group) const {
        if (audits.beyond == 0) return {};
        const auto most = most_beyond(group);
        return fmt::format(", {} beyond{}", count_text(audits.beyond),
                           most ? fmt::format(" (of all calls at most {})", bound_text(*most)) : "");
    }

    /// Returns the own error of products that are not lowered, which a pin does not remove.
    std::string own_error_text(const RowAudits& audits) const {
        if (audits.checked == 0 || metric_ != policy::Metric::row) return {};
        const auto error = static_cast<double>(audits.fp32_error);
        return fmt::format(", {}'s own {:.2g}{}", exact_name(options_), error,
                           error > options_.tolerance ? " is beyond the tolerance too" : "");
    }

    const AuditedGroups& found_;
    const SuggestOptions& options_;
    policy::Metric metric_;
    std::map<std::size_t, const RowAudits*> by_group_;
    Subset beyond_, bounded_, noise_, unaudited_, widened_, exact_;
};

std::uint64_t sum_of(const std::map<std::size_t, std::uint64_t>& values, const Subset& groups) {
    std::uint64_t sum = 0;
    for (const std::size_t group : groups)
        if (const auto found = values.find(group); found != values.end()) sum += found->second;
    return sum;
}

constexpr std::string_view caveat =
    "Audits judge products, not what the program makes of them: only its own results tell whether this is enough.";
/// Returns a command that records audits of a type.
std::string audit_command_for(std::string_view dtype) {
    return fmt::format("FP32_MATMUL_AUDIT=0.01{} fp32shim run --log run.fp32rec -- PROGRAM",
                       dtype == to_string(TriedTypes::float64) ? ",float64" : "");
}

/// The commands to take after a policy, which run the program itself.
struct NextCommands {
    std::string_view try_it;  ///< with the policy's path in place of {}
    std::string_view search;
};

NextCommands next_commands(const SuggestOptions& options) {
    // sensitivity lowers products of float32 only.
    if (types_of(options) == TriedTypes::float64)
        return {"fp32shim run --cpu emulate --policy {} -- PROGRAM",
                "fp32shim bisect --dtype float64 --cpu emulate -- TEST"};
    return {"fp32shim sensitivity --cpu emulate --policy {} -- PROGRAM",
            "fp32shim sensitivity --cpu emulate -- PROGRAM"};
}

std::string try_command(const SuggestOptions& options, std::string_view file) {
    return fmt::format(fmt::runtime(next_commands(options).try_it), file);
}

/// Returns true if a rule names a call site by its offset.
bool names_offset(const std::string& policy) {
    for (std::size_t at = policy.find("\nwhen = "); at != std::string::npos; at = policy.find("\nwhen = ", at + 1))
        if (policy.substr(at, policy.find('\n', at + 1) - at).find("+0x") != std::string::npos) return true;
    return false;
}

/// Returns lines about the groups that no audit found beyond the tolerance, and how much that says.
std::string fine_text(const Choice& choice, const std::string& share) {
    if (choice.fine() == 0) return {};
    const std::uint64_t bounded = choice.bounded().size();
    std::string text = fmt::format("# No audit was beyond it in {}.", counted(choice.fine(), "group"));
    if (bounded > 0)
        text += fmt::format(
            " In {} of them, {} of the host time, at most {:g}% of the calls are beyond,\n"
            "# with 95% certainty each (Clopper-Pearson).",
            bounded, share, well_bounded * 100);
    if (bounded < choice.fine())
        text += fmt::format(" In {} too few calls were drawn to say that at most {:g}% are.",
                            bounded == 0 ? "all of them" : "the others", well_bounded * 100);
    return text + "\n";
}

std::string policy_header(const AuditedGroups& found, const Choice& choice, const SuggestOptions& options,
                          const std::string& policy) {
    std::uint64_t audits = 0;
    std::uint64_t calls = 0;
    for (const RowAudits& row : found.audits.all()) audits += row.compared;
    for (const auto& [group, count] : found.calls) calls += count;
    const auto share_of = [&](const Subset& groups) {
        return share_text(sum_of(found.host_ns, groups), found.total_ns);
    };
    std::string text = fmt::format(
        "# Suggested by fp32shim suggest {} from {} of {}: {} in {}.\n"
        "# Products that exceeded {:g} by the metric \"{}\"{} stay exact: {} of {} groups, {} of the host time.\n"
        "# The audited calls lie between {:.0f}% and {:.0f}% of the time from the first call to the last.\n",
        FP32SHIM_VERSION, counted(audits, "audit"), counted(calls, "call"),
        counted(found.groups.all().size(), "group"), counted(found.recordings, "recording"), options.tolerance,
        options.metric, options.metric == "mean" ? " (max |D| / mean |R|)" : "", choice.beyond().size(),
        found.groups.all().size(), share_of(choice.beyond()), std::floor(found.first_audit * 100),
        std::floor(found.last_audit * 100));
    text += fine_text(choice, share_of(choice.bounded()));
    const auto add_left_out = [&](const Subset& groups, std::string_view why) {
        if (groups.empty()) return;
        text += fmt::format("# {}: {} of the groups, {} of the host time; they {}.\n", why, groups.size(),
                            share_of(groups),
                            options.conservative ? "stay exact" : "are lowered; --conservative keeps them exact");
    };
    add_left_out(choice.unaudited(), "Never audited");
    add_left_out(choice.noise(),
                 fmt::format("Only noise in {} already, which no audit can judge", exact_name(options)));
    if (found.of_other_types.calls > 0)
        text += fmt::format(
            "# Not judged: {} of {}, {} of the host time. This policy leaves them as they are; suggest --dtype {}\n"
            "# is about them, and needs audits of theirs.\n",
            counted(found.of_other_types.calls, "call"), other_type(options),
            share_text(found.of_other_types.host_ns, found.total_ns), other_type(options));
    if (found.float64_on_gpu.calls > 0)
        text += fmt::format("# On a GPU, where float64 is not lowered: {}, {} of the host time.\n",
                            counted(found.float64_on_gpu.calls, "call"),
                            share_text(found.float64_on_gpu.host_ns, found.total_ns));
    if (names_offset(policy))
        text +=
            "# A place such as program!main+0x1c4 is no longer valid once the program is recompiled: record and "
            "suggest again.\n";
    return text +
           fmt::format(
               "# {}\n# To see the output under this policy: {}\n# If its error is too large: {} names the lines at "
               "fault\n\n",
               caveat, try_command(options, "FILE"), next_commands(options).search);
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
    const std::string of_others =
        found.of_other_types.calls == 0
            ? ""
            : fmt::format("; {} {} of {}", counted(found.of_other_types.calls, "call"),
                          found.of_other_types.calls == 1 ? "is" : "are", other_type(options)) +
                  (found.audits_of_other_types > 0
                       ? fmt::format(", with {}: give --dtype {}", counted(found.audits_of_other_types, "audit"),
                                     other_type(options))
                       : fmt::format(", without audits: record some by {}, and give --dtype {}",
                                     audit_command_for(other_type(options)), other_type(options)));
    if (found.groups.all().empty() && !of_others.empty())
        return fmt::format("found no products of {} in these recordings{}", to_string(types_of(options)), of_others);
    if (found.groups.all().empty() && found.float64_on_gpu.calls > 0)
        return fmt::format("{} of float64 ran on a GPU, where float64 is neither audited nor lowered",
                           counted(found.float64_on_gpu.calls, "call"));
    if (others.empty())
        return fmt::format("found no audits of {} in these recordings; record some: {}{}", wanted,
                           audit_command_for(to_string(types_of(options))), of_others);
    return fmt::format("found no audits of {}, only of {}; record with [audit] {} = \"{}\", or give --precision",
                       wanted, others, types_of(options) == TriedTypes::float64 ? "float64" : "against", wanted);
}

int suggest(SuggestOptions& options) {
    if (options.precision.empty())
        options.precision = types_of(options) == TriedTypes::float64 ? single_word : "high";
    if (types_of(options) == TriedTypes::float32)
        if (const std::string problem = problem_in_float32_precision(options.precision); !problem.empty()) {
            say("suggest", problem);
            return exit_code::usage;
        }
    RecordingPaths paths = find_recordings(options.recordings);
    if (paths.errors.empty()) mention_other_files_of_runs(paths);
    if (print_errors("suggest", paths)) return exit_code::usage;
    if (const std::string problem = output_problem(options.output, paths.paths); !problem.empty()) {
        say("suggest", problem);
        return exit_code::usage;
    }
    AuditedGroups found;
    RecordedProductsReader reader;
    const auto problems = visit_recordings(paths.paths, [&](const std::string&, record::RecordingReader& recording) {
        add_recording(recording, options, reader, found);
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
        found.groups, choice.exact(), {options.precision, "", "suggest", types_of(options)},
        [&](const Subset& groups) { return choice.evidence(groups); }, &lines);
    output.put(policy_header(found, choice, options, policy) + policy);
    if (const std::string problem = output.finish(); !problem.empty()) {
        say("suggest", problem);
        return exit_code::usage;
    }
    if (!options.output.empty() && options.output != "-")
        print(fmt::format("{} Next: {}\nIf the error is too large: {} names the lines at fault\n", caveat,
                          try_command(options, options.output), next_commands(options).search));
    return is_damaged ? exit_code::finding : exit_code::ok;
}

}  // namespace

Action define_suggest(CLI::App& app) {
    auto options = std::make_shared<SuggestOptions>();
    app.add_option("RECORDING", options->recordings, "Recordings with audits, folders with recordings, or globs")
        ->type_name("FILE")
        ->required();
    options->dtype = to_string(TriedTypes::float32);
    add_choice(app, "--dtype", options->dtype, {to_string(TriedTypes::float32), to_string(TriedTypes::float64)},
               "Type of the products that the policy is about, real and complex (default: float32)");
    add_choice(app, "--precision", options->precision, {"high", "medium", single_word, sgemm_word},
               "Precision for everything that tolerates it (default: high; with --dtype float64: fp32)");
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
