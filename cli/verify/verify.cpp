// fp32shim verify: decides if recordings show that nothing ran below a format. The messages may be quoted in reports,
// so they claim only what recordings can prove.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/output/json.hpp"
#include "cli/output/moment.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/columns.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/process_text.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/report/output_file.hpp"
#include "cli/report/tables.hpp"
#include "cli/verify/bypasses.hpp"
#include "cli/verify/documents.hpp"
#include "cli/verify/evidence.hpp"
#include "cli/verify/expected_jobs.hpp"
#include "cli/verify/onednn_log.hpp"
#include "policy/messages.hpp"
#include "policy/words.hpp"

namespace fp32shim::cli {
namespace {

struct VerifyOptions {
    std::vector<std::string> recordings;
    std::vector<std::string> assumed_unused;  ///< each element may have several names, separated by commas
    std::string at_least, expect, onednn_log, output;
    std::string format = "table";
    bool allow_bf16x9 = false, requires_rules = false, reproducible = false;
};

/// A reason why the verdict cannot be `shown`.
struct Doubt {
    std::string where;  ///< path of the recording; empty: all recordings
    std::string reason;
};

/// A verdict as a word in JSON, as text, and as the command's exit code.
struct Verdict {
    std::string_view word, title;
    Colour colour;
    int exit_code;
};
constexpr Verdict shown = {"shown", "Shown", Colour::green, exit_code::ok};
constexpr Verdict violated = {"violated", "Violated", Colour::red, exit_code::finding};
constexpr Verdict inconclusive = {"inconclusive", "Inconclusive", Colour::yellow, exit_code::inconclusive};

/// All results on which the verdict depends.
struct Verified {
    std::vector<const MergedRow*> violations;
    std::vector<Doubt> doubts;
    std::vector<PossibleBypass> bypasses;  ///< possible bypasses, except those in `assumed`
    std::vector<PossibleBypass> assumed;   ///< possible bypasses that --assume-unused names, or --onednn-log shows
    std::vector<PossibleBypass> float32;   ///< possible bypasses that always multiply at float32
    std::vector<PossibleBypass> examined;  ///< uncovered children whose files have nothing known that multiplies
    std::vector<RuleCount> rules;
    ExpectedJobs expected;
    OneDnnLog onednn_log;
    std::uint64_t shown_calls = 0;

    /// Returns the number of calls of violations that `is_of` selects.
    std::uint64_t violating_calls(bool (MergedRow::*is_of)() const) const {
        std::uint64_t sum = 0;
        for (const MergedRow* row : violations)
            if ((row->*is_of)()) sum += row->counters.calls;
        return sum;
    }
    const Verdict& verdict() const {
        if (!violations.empty()) return violated;
        return doubts.empty() && bypasses.empty() ? shown : inconclusive;
    }
};

/// Returns the floor that a format meets; nullopt if the format is unknown. With `allow_bf16x9`, bf16x9 meets fp32.
std::optional<policy::Floor> floor_met_by_format(policy::Applied format, bool allow_bf16x9) {
    if (format == policy::Applied::bf16x9 && allow_bf16x9) return policy::Floor::fp32;
    return floor_shown_by(format);
}
std::optional<policy::Floor> floor_met_by_format(const std::string& format, bool allow_bf16x9) {
    const auto applied = policy::parse_word(policy::applied_words, format);
    return applied ? floor_met_by_format(*applied, allow_bf16x9) : std::nullopt;
}

/// Returns true if the calls of a row ran, or were allowed to run, below the floor. `row` is null for calls without a
/// row.
bool is_below(const record::RecordedRow* row, policy::Floor at_least, bool allow_bf16x9) {
    if (row == nullptr || row->is_overflow) return false;
    const auto strictness = floor_met_by_format(row->decision.actual.value_or(row->decision.applied), allow_bf16x9);
    return strictness && *strictness < at_least;
}

void judge_row(const MergedRow& row, policy::Floor at_least, bool allow_bf16x9, Verified& verified) {
    const std::uint64_t count = row.counters.calls;
    if (row.is_overflow) {
        verified.doubts.push_back(
            {"", fmt::format("{} {} counted, but nothing else is known about {}", counted(count, "call"),
                             count == 1 ? "is" : "are", count == 1 ? "it" : "them")});
        return;
    }
    const auto strictness = floor_met_by_format(row.ran_at(), allow_bf16x9);
    const std::string what =
        fmt::format("{} of {} {} ({})", counted(count, "call"), row.function, row.size_text(), row.route_text());
    const std::string contradiction = contradiction_in(row);
    if (!contradiction.empty() && (!strictness || *strictness >= at_least)) {
        verified.doubts.push_back(
            {"", fmt::format("{}: the recording contradicts itself, so it was damaged or changed: {}", what,
                             contradiction)});
    } else if (strictness) {
        if (*strictness >= at_least)
            verified.shown_calls += count;
        else
            verified.violations.push_back(&row);
    } else if (row.reason == "no_product") {
        verified.shown_calls += count;  // nothing was multiplied
    } else if (row.ran_at() == "fp64_emulated") {
        verified.doubts.push_back(
            {"", what + ": cuBLAS may have emulated float64; how many bits it kept is not recorded"});
    } else if (row.ran_at() == "fixed") {
        verified.doubts.push_back(
            {"",
             fmt::format("{}: operands were rounded to fixed-point numbers ({}), with which no format is compared",
                         what, static_cast<std::string_view>(row.detail))});
    } else if (row.reason == "observed") {
        verified.doubts.push_back({"", what + ": operands are " + row.dtype + ", narrower than float32"});
    } else {
        verified.doubts.push_back(
            {"", what + ": forwarded unchanged, so their format is not known (" + row.reason + ")"});
    }
}

/// Returns true if a call multiplied, and not in a fixed order. One with invalid arguments is a doubt: OpenBLAS takes
/// transpositions that the standard does not have.
bool has_other_order(record::How how, policy::Reason reason) {
    return how != record::How::fixed_order && reason != policy::Reason::no_product &&
           reason != policy::Reason::invalid_arguments;
}

void judge_order(const MergedRow& row, Verified& verified) {
    if (row.is_overflow) return judge_row(row, policy::Floor::none, false, verified);
    const std::uint64_t count = row.counters.calls;
    if (row.how == "fixed_order" || row.reason == "no_product")
        verified.shown_calls += count;
    else if (row.reason == "invalid_arguments")
        verified.doubts.push_back(
            {"", fmt::format("{} of {} {}: invalid by the BLAS standard, but the library may have multiplied",
                             counted(count, "call"), row.function, row.size_text())});
    else
        verified.violations.push_back(&row);
}

/// Adds doubts about one process. `is_continued` says that another recording has the later part of the process.
void judge_process(const MergedProcess& process, bool is_continued, Verified& verified) {
    const auto doubt = [&](std::string reason) { verified.doubts.push_back({process.path, std::move(reason)}); };
    if (process.uncounted_calls > 0) {
        doubt(fmt::format("there was no room for {}: only the number is known",
                          counted(process.uncounted_calls, "call")));
    }
    if (process.dropped_events > 0)
        doubt(fmt::format("{} {} dropped", counted(process.dropped_events, "event"),
                          process.dropped_events == 1 ? "was" : "were"));
    if (const std::string why = early_end_text(process.facts); !why.empty() && !is_continued) doubt(why);
    if (process.state == record::RecordingState::live) {
        doubt(fmt::format("process {} still runs: more calls may follow", process.facts.process.pid));
    }
}

/// Returns a bypass's name in its usual spelling; `child:NAME` stays unchanged. Returns an empty text for an unknown
/// name.
std::string canonical_bypass_name(const std::string& word) {
    if (is_child_name(word)) return word;
    for (const std::string_view known : possible_bypass_names()) {
        if (policy::equal_ignoring_case(known, word)) return std::string(known);
    }
    return {};
}

std::vector<std::string> split_at_commas(const std::string& list) {
    std::vector<std::string> words;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        words.push_back(list.substr(begin, end - begin));
        begin = end + 1;
    }
    return words;
}

std::string problem_with_bypass_names(const std::string& list) {
    for (const std::string& word : split_at_commas(list)) {
        if (!canonical_bypass_name(word).empty()) continue;
        std::vector<std::string_view> words = possible_bypass_names();
        words.push_back("child:NAME");
        return policy::not_one_of(word, words);
    }
    return {};
}

/// Returns true if a list of --assume-unused contains the name `word`. The name of a child may contain commas.
bool is_among(const std::vector<std::string>& lists, const std::string& word) {
    return std::ranges::any_of(lists, [&](const std::string& list) {
        return list == word || std::ranges::count(split_at_commas(list), word, canonical_bypass_name) > 0;
    });
}

constexpr std::string_view onednn_name = "oneDNN";

/// Judges the entries of oneDNN by its log, and says in them what the log shows. Returns true if the log shows that
/// oneDNN multiplied at float32. Nothing in a log names its process, so it counts only if one process had oneDNN.
bool judge_onednn_log(const OneDnnLog& log, const std::vector<MergedProcess>& processes,
                      std::vector<PossibleBypass>& bypasses) {
    if (log.file.empty()) return false;
    std::set<std::string> paths;
    bool is_in_mark = false;
    for (const PossibleBypass& bypass : bypasses) {
        if (bypass.name != onednn_name) continue;
        paths.insert(bypass.recordings.begin(), bypass.recordings.end());
    }
    std::int64_t began_ns = 0;
    for (const MergedProcess& process : processes) {
        if (!paths.contains(process.path)) continue;
        const auto& facts = process.facts;
        began_ns = facts.process_start_ns != 0 ? facts.process_start_ns : facts.opened_ns;
        is_in_mark = is_in_mark || !process.marks.empty();
    }
    const std::string why_not = paths.size() > 1 || is_in_mark
                                    ? fmt::format("{} cannot tell which of several processes it is of", log.file)
                                    : log.why_not_shown(began_ns);
    for (PossibleBypass& bypass : bypasses) {
        if (bypass.name != onednn_name) continue;
        bypass.reason +=
            why_not.empty()
                ? fmt::format(
                      "; {} shows {}, if it is of this process and is whole", log.file,
                      log.products == 0 ? "no product" : counted(log.products, "product") + ", all at fp32 or above")
                : "; " + why_not;
    }
    return why_not.empty();
}

/// Returns the floor that --at-least names; with --reproducible, which needs none, fp32.
policy::Floor floor_of(const VerifyOptions& options) {
    return policy::parse_word(policy::verified_floor_words, options.at_least).value_or(policy::Floor::fp32);
}

Verified verify_calls(const MergedCalls& calls, const std::vector<ReadingProblem>& problems,
                      const VerifyOptions& options, ExpectedJobs expected, OneDnnLog log) {
    const policy::Floor at_least = floor_of(options);
    Verified verified;
    verified.rules = calls.rules();
    verified.expected = std::move(expected);
    verified.onednn_log = std::move(log);
    compare_jobs(calls.processes(), verified.expected);
    for (const std::string& job : verified.expected.missing)
        verified.doubts.push_back(
            {"", fmt::format("job {} is expected, but none of these recordings is of it", job)});
    for (const MergedRow* row : sorted(calls.rows(), RowOrder::calls)) {
        if (row->counters.calls == 0) continue;
        options.reproducible ? judge_order(*row, verified)
                             : judge_row(*row, at_least, options.allow_bf16x9, verified);
    }
    for (const MergedProcess& process : calls.processes())
        judge_process(process, is_continued(process, calls.processes()), verified);
    for (const ReadingProblem& problem : problems) verified.doubts.push_back({problem.path, problem.text});
    if (calls.total().calls == 0 && !calls.processes().empty())
        verified.doubts.push_back({"", "no calls were recorded"});
    std::vector<PossibleBypass> bypasses = find_possible_bypasses(calls.processes());
    // A log of oneDNN tells formats, but nothing of an order.
    const bool is_logged =
        !options.reproducible && judge_onednn_log(verified.onednn_log, calls.processes(), bypasses);
    for (PossibleBypass& bypass : bypasses) {
        const bool is_assumed =
            is_among(options.assumed_unused, bypass.name) || (is_logged && bypass.name == onednn_name);
        const bool is_no_matter = bypass.is_float32 && !options.reproducible && at_least <= policy::Floor::fp32;
        (is_no_matter         ? verified.float32
         : bypass.is_harmless ? verified.examined
         : is_assumed         ? verified.assumed
                              : verified.bypasses)
            .push_back(std::move(bypass));
    }
    return verified;
}

constexpr std::string_view scope_note =
    "Products that the shim does not see are judged by the files that the processes had loaded and the programs that "
    "they started. The verdict does not cover code that programs generate or load themselves at run time (for a GPU, "
    "for example), "
    "LAPACK routines that multiply inside their own library, linker namespaces of dlmopen, processes that were "
    "killed "
    "before their first product, and programs started by system calls that bypass the C library, or elsewhere (by "
    "ssh, srun "
    "or a container service). A recording is not sealed: anyone who can write to it can change it.";

constexpr std::string_view scope_note_of_order =
    " A fixed order is one of float32 matrix products only: matrix products of float64 that were seen count as "
    "products in another order; other products of float64, products with vectors (gemv, dot), sums and element-wise "
    "functions "
    "may differ between machines.";

std::string scope_text(const VerifyOptions& options) {
    return std::string(scope_note) + std::string(options.reproducible ? scope_note_of_order : "");
}

Json to_json(const PossibleBypass& bypass) {
    return {{"bypass", bypass.name},
            {"reason", bypass.reason},
            {"remedy", text_or_null(bypass.remedy)},
            {"pinned_by", record::entries_of(bypass.pins)},
            {"files", bypass.files},
            {"recordings", bypass.recordings}};
}

/// Returns an array with an entry for each bypass.
Json to_json(const std::vector<PossibleBypass>& bypasses) {
    Json entries = Json::array();
    for (const PossibleBypass& bypass : bypasses) entries.push_back(to_json(bypass));
    return entries;
}

Json to_json(const ExpectedJobs& expected) {
    return {{"file", text_or_null(expected.file)},
            {"jobs", expected.jobs.size()},
            {"missing", expected.missing},
            {"unexpected", expected.unexpected}};
}

/// Returns an entry for each recording with calls of a violation.
Json makers_of(std::size_t row, const MergedCalls& calls, const std::vector<JudgedCalls>& judged) {
    Json makers = Json::array();
    for (std::size_t i = 0; i < judged.size(); ++i) {
        const auto found = judged[i].below_by_row.find(row);
        if (found == judged[i].below_by_row.end()) continue;
        Json maker = identity_of(calls.processes()[i]);
        maker["calls"] = found->second;
        makers.push_back(std::move(maker));
    }
    return makers;
}

Json to_json(const Verified& verified, const MergedCalls& calls, const VerifyOptions& options,
             const std::vector<JudgedCalls>& judged) {
    Json json = {{"schema", 1},
                 {"verdict", verified.verdict().word},
                 {"at_least", text_or_null(options.at_least)},
                 {"reproducible", options.reproducible},
                 {"allow_bf16x9", options.allow_bf16x9},
                 {"recordings", calls.recording_count()},
                 {"calls", calls.total().calls},
                 {"calls_shown", verified.shown_calls},
                 {"float64_calls", calls.float64_calls()},
                 {"lost_changes", calls.lost_changes()},
                 {"processes", Json::array()},
                 {"violations", Json::array()},
                 {"doubts", Json::array()},
                 {"bypasses", to_json(verified.bypasses)},
                 {"assumed_unused", to_json(verified.assumed)},
                 {"always_float32", to_json(verified.float32)},
                 {"examined_children", to_json(verified.examined)},
                 {"rules", cli::to_json(verified.rules)},
                 {"expected", to_json(verified.expected)},
                 {"onednn_log",
                  {{"file", text_or_null(verified.onednn_log.file)},
                   {"processes", verified.onednn_log.processes},
                   {"products", verified.onednn_log.products},
                   {"below", verified.onednn_log.below}}},
                 {"scope", scope_text(options)}};
    for (std::size_t i = 0; i < calls.processes().size(); ++i)
        json["processes"].push_back(evidence_of(calls.processes()[i], judged[i]));
    for (const MergedRow* row : verified.violations) {
        Json violation = cli::to_json(row_columns(), *row);
        violation["made_by"] = makers_of(static_cast<std::size_t>(row - calls.rows().data()), calls, judged);
        json["violations"].push_back(std::move(violation));
    }
    for (const Doubt& doubt : verified.doubts) {
        json["doubts"].push_back({{"recording", text_or_null(doubt.where)}, {"reason", doubt.reason}});
    }
    return json;
}

/// Returns a line for each environment variable in `pins`, with the products that it keeps at float32 and those that
/// it does not.
std::string pins_reach_text(std::uint16_t pins) {
    std::string text;
    for (const record::Pin& pin : record::all_pins) {
        if ((pins & pin.bit) != 0) text += fmt::format("     {} {}\n", pin.entry, pin.reach);
    }
    return text;
}

/// Returns `a.fp32rec: ` or `a.fp32rec and 3 more: `; empty if the list has all recordings.
std::string recordings_prefix(const std::vector<std::string>& recordings, const MergedCalls& calls) {
    if (recordings.size() == calls.processes().size()) return {};
    const std::size_t others = recordings.size() - 1;
    return recordings.front() + (others == 0 ? "" : fmt::format(" and {} more", others)) + ": ";
}

/// Maximum number of recordings with violations that are listed. The others are only counted.
constexpr std::size_t most_violators = 20;

/// Returns an indented line for each of the first violations of a recording.
std::string products_text(const JudgedCalls& judged, const MergedCalls& calls) {
    std::string text;
    std::size_t said = 0;
    for (const auto& [index, count] : judged.below_by_row) {
        if (++said > most_violators) break;
        const MergedRow& row = calls.rows()[index];
        text += fmt::format("    {} of {} {} at {}\n", counted(count, "call"), printable(row.function),
                            row.size_text(), printable(row.ran_at()));
    }
    if (judged.below_by_row.size() > said)
        text += fmt::format("    and {} more\n", judged.below_by_row.size() - most_violators);
    return text;
}

/// Returns a line for each of the first recordings with calls below the floor: process, program, machine and job.
/// `judged` has the calls of each recording, in the order of the recordings.
std::string violators_text(const MergedCalls& calls, const std::vector<JudgedCalls>& judged, std::size_t violations) {
    std::string text;
    std::size_t said = 0, found = 0;
    for (std::size_t i = 0; i < judged.size(); ++i) {
        if (judged[i].below == 0 || ++found > most_violators) continue;
        ++said;
        const MergedProcess& process = calls.processes()[i];
        text += fmt::format("- {}: {} of {}\n", printable(process.path), counted(judged[i].below, "call"),
                            printable(process_text(process.facts.process)));
        if (judged[i].below_by_row.size() > 1 || violations > 1) text += products_text(judged[i], calls);
    }
    if (found > said) text += fmt::format("- and {} more; --format json has them all\n", found - said);
    return text.empty() ? text : "\nThese calls were made by:\n" + text;
}

/// Returns the verdict as a sentence. For a violation it adds the calls and the processes. `claim` has the words.
std::string sentence_of(const Verified& verified, const MergedCalls& calls, const std::vector<JudgedCalls>& judged,
                        const Claim& claim) {
    const std::uint64_t total = calls.total().calls;
    const std::string title = coloured(verified.verdict().title, verified.verdict().colour);
    const std::string recordings = counted(calls.recording_count(), "recording");
    if (!verified.violations.empty()) {
        std::uint64_t below = 0;
        for (const MergedRow* row : verified.violations) below += row->counters.calls;
        return fmt::format("{}: {} of {} in {} {}.\n\n{}{}", title, count_text(below), counted(total, "call"),
                           recordings, below == 1 ? claim.broken_one : claim.broken_many,
                           call_site_table(verified.violations, 0).text(),
                           violators_text(calls, judged, verified.violations.size()));
    }
    if (verified.verdict().exit_code == exit_code::ok)
        return fmt::format("{}: {} in {} {}.\n", title, total == 1 ? "the one call" : "all " + counted(total, "call"),
                           recordings, claim.held);
    const bool is_rest = verified.shown_calls < total;
    return fmt::format("{}: {} of {} in {} {}; {}.\n", title, count_text(verified.shown_calls),
                       counted(total, "call"), recordings, claim.held,
                       is_rest ? "the rest is not known" : "there may have been others");
}

/// Returns lines about the types of the operands; empty if all are of float32 or narrower and may be.
std::string types_text(const Verified& verified, const MergedCalls& calls, const VerifyOptions& options) {
    std::string text = operands_text(calls);
    const std::uint64_t float64 = verified.violating_calls(&MergedRow::is_float64);
    const std::uint64_t float32 = verified.violating_calls(&MergedRow::is_float32);
    if (options.reproducible && float64 > 0)
        text += fmt::format("{} in another order {} of float64, for which there is no fixed order\n",
                            counted(float64, "call"), float64 == 1 ? "is" : "are");
    if (floor_of(options) == policy::Floor::fp64 && float32 > 0)
        text += fmt::format("{} below fp64 {} of float32, as the program called {}\n", counted(float32, "call"),
                            float32 == 1 ? "is" : "are", float32 == 1 ? "it" : "them");
    return text.empty() ? text : '\n' + text;
}

/// Maximum number of doubts that are listed. The others are only counted.
constexpr std::size_t most_doubts = 200;

/// Returns a line for each of the first doubts, then the number of the others.
std::string doubts_text(const std::vector<Doubt>& doubts) {
    std::string text;
    for (const Doubt& doubt : std::span(doubts).first(std::min(doubts.size(), most_doubts)))
        text += fmt::format("- {}{}{}\n", printable(doubt.where), doubt.where.empty() ? "" : ": ",
                            printable(doubt.reason));
    if (doubts.size() > most_doubts)
        text += fmt::format("- and {} more; --format json has them all\n", doubts.size() - most_doubts);
    return text;
}

/// Returns the message for the case that no recording could be read.
std::string unread_text(const Verified& verified) {
    return coloured(inconclusive.title, inconclusive.colour) + ": no recording could be read.\n" +
           doubts_text(verified.doubts);
}

std::string text_of(const Verified& verified, const MergedCalls& calls, const VerifyOptions& options,
                    const std::vector<JudgedCalls>& judged) {
    if (calls.processes().empty()) return unread_text(verified);
    const Claim claim = claim_of(options.at_least);
    std::string text = sentence_of(verified, calls, judged, claim) + types_text(verified, calls, options);
    if (has_unused_rule(verified.rules)) text += '\n' + unused_rules_text(verified.rules, most_doubts);
    if (!verified.doubts.empty()) text += "\nNot known:\n";
    text += doubts_text(verified.doubts);
    if (!verified.expected.unexpected.empty())
        text += fmt::format("\nOf no expected job: {}\n",
                            printable(listed(verified.expected.unexpected, most_violators)));
    if (!verified.bypasses.empty()) {
        text += fmt::format(
            "\nNot seen (if you know that one of these was not used{}, add --assume-unused BYPASS):\n", claim.below);
    }
    for (const PossibleBypass& bypass : verified.bypasses) {
        text += fmt::format("- {}: {}{}\n", printable(bypass.name),
                            printable(recordings_prefix(bypass.recordings, calls)), printable(bypass.reason));
        const std::string pinned = pins_text(bypass.pins);
        if (!pinned.empty() || !bypass.remedy.empty())
            text += fmt::format("  -> {}\n{}", pinned.empty() ? printable(bypass.remedy) : pinned,
                                pins_reach_text(bypass.pins));
    }
    if (!verified.assumed.empty()) {
        text += fmt::format("\nAssumed not to have multiplied{} (--assume-unused{}):\n", claim.below,
                            options.reproducible ? "" : ", --onednn-log");
    }
    for (const PossibleBypass& bypass : verified.assumed) {
        const std::string pinned = pins_text(bypass.pins);
        text += fmt::format("- {}: {}{}{}{}\n", printable(bypass.name),
                            printable(recordings_prefix(bypass.recordings, calls)), printable(bypass.reason),
                            pinned.empty() ? "" : "; ", pinned);
    }
    if (!verified.float32.empty()) text += "\nNot counted. If these multiplied, they did so at float32:\n";
    for (const PossibleBypass& bypass : verified.float32) {
        text += fmt::format("- {}: {}{}\n", printable(bypass.name),
                            printable(recordings_prefix(bypass.recordings, calls)), printable(bypass.reason));
    }
    if (!verified.examined.empty())
        text += "\nNot counted. These were not covered, but nothing known that multiplies is in their files:\n";
    for (const PossibleBypass& bypass : verified.examined) {
        text += fmt::format("- {}: {}{}\n", printable(bypass.name),
                            printable(recordings_prefix(bypass.recordings, calls)), printable(bypass.reason));
    }
    if (const auto count = calls.lost_changes(); count > 0) text += fmt::format("\n{}\n", lost_changes_text(count));
    return text + fmt::format("\n{}\n", scope_text(options));
}

std::string problem_with_output(const VerifyOptions& options, const std::vector<std::string>& recordings) {
    if (!options.output.empty() && options.format == "table") return "--output needs --format json, html or in-toto";
    return output_problem(options.output, recordings);
}

/// Writes the result in the format that was asked for. Returns false after a message if that failed.
bool write(const Verified& verified, const MergedCalls& calls, const VerifyOptions& options,
           const std::vector<JudgedCalls>& judged) {
    if (options.format == "table") {
        print(text_of(verified, calls, options, judged));
        return true;
    }
    Json result = to_json(verified, calls, options, judged);
    const std::string date = timestamp(now_ns());
    if (options.format == "in-toto") {
        result = verdict_statement(result, date);
        if (result["subject"].empty()) {
            say("verify",
                "an in-toto Statement needs a subject, but of no recording a checksum could be computed; --format "
                "json "
                "has the result");
            return false;
        }
    }
    ReportOutput output(options.output);
    output.put(options.format == "html" ? verdict_page(result, date) : json_text(result));
    const std::string problem = output.finish();
    if (!problem.empty()) say("verify", problem);
    return problem.empty();
}

int verify(const VerifyOptions& options) {
    RecordingPaths found = find_recordings(options.recordings);
    if (found.errors.empty()) add_rest_of_runs(found);
    if (print_errors("verify", found)) return exit_code::usage;
    ExpectedJobs expected;
    OneDnnLog log;
    std::string problem = options.at_least.empty() && !options.reproducible
                              ? "--at-least or --reproducible is needed; see: fp32shim verify --help"
                              : problem_with_output(options, found.paths);
    if (problem.empty() && !options.expect.empty()) problem = read_expected_jobs(options.expect, expected);
    if (problem.empty() && !options.onednn_log.empty()) problem = read_onednn_log(options.onednn_log, log);
    if (problem.empty() && !options.onednn_log.empty() && floor_of(options) > policy::Floor::fp32)
        problem = "--onednn-log shows what ran at fp32 or above, so it cannot be used with --at-least fp64";
    if (!problem.empty()) {
        say("verify", problem);
        return exit_code::usage;
    }

    MergedCalls calls;
    std::vector<JudgedCalls> judged;
    const policy::Floor at_least = floor_of(options);
    const auto is_violation = [&](const record::RecordedRow* row) {
        if (!options.reproducible) return is_below(row, at_least, options.allow_bf16x9);
        return row != nullptr && !row->is_overflow && has_other_order(row->decision.how, row->decision.reason);
    };
    auto problems = visit_recordings(found.paths, [&](const std::string& path, auto& recording) {
        calls.add(path, recording);
        judged.push_back(judge_calls(recording, is_violation,
                                     [&](const record::RecordedRow* row) { return calls.index_of(row); }));
    });
    std::ranges::move(problems_of_copies(found), std::back_inserter(problems));
    const Verified verified = verify_calls(calls, problems, options, std::move(expected), std::move(log));
    if (!write(verified, calls, options, judged)) return exit_code::usage;
    const int status = verified.verdict().exit_code;
    const bool lacks_rule = options.requires_rules && has_unused_rule(verified.rules);
    return status == exit_code::ok && lacks_rule ? exit_code::finding : status;
}

}  // namespace

Action define_verify(CLI::App& app) {
    auto options = std::make_shared<VerifyOptions>();
    app.add_option("RECORDING", options->recordings, "Recordings, folders with recordings, or globs")
        ->type_name("FILE")
        ->required();
    auto* at_least = add_choice(app, "--at-least", options->at_least, policy::texts_of(policy::verified_floor_words),
                                "Lowest format that is allowed");
    auto* reproducible =
        app.add_flag("--reproducible", options->reproducible,
                     "Instead of that: all products must have run in a fixed order (run --reproducible)")
            ->excludes(at_least);
    app.add_flag("--allow-bf16x9", options->allow_bf16x9, "BF16x9 counts as FP32, as with [limits] allow_bf16x9");
    app.add_flag("--require-rules", options->requires_rules,
                 "Also end with status 1 if a rule of the policy decided no call");
    add_values(app, "--assume-unused", options->assumed_unused,
               "State that these bypasses, or children that were not covered (child:NAME), multiplied nothing below "
               "that format; names separated by commas; the verdict lists them")
        ->type_name(alternatives(possible_bypass_names()))
        ->check(problem_with_bypass_names);
    add_name(app, "--expect", options->expect, "FILE",
             "Jobs that must have recordings: ids, one a line, or what sacct prints");
    add_name(app, "--onednn-log", options->onednn_log, "FILE",
             "Output of the program with ONEDNN_VERBOSE=1, which shows how oneDNN multiplied")
        ->excludes(reproducible);
    add_format(app, {"table", "json", "html", "in-toto"},
               [options = options.get()](const std::string& word) { options->format = word; });
    add_output(app, options->output);
    return [options] { return verify(*options); };
}

}  // namespace fp32shim::cli
