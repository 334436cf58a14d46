// The verdict of `fp32shim verify` as text. It may be quoted in reports, so it claims only what recordings can prove.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "cli/recordings/process_text.hpp"
#include "cli/report/tables.hpp"
#include "cli/verify/documents.hpp"
#include "cli/verify/verdict.hpp"
#include "record/pinned_variables.hpp"

namespace fp32shim::cli {
namespace {

constexpr std::string_view scope_note_begin =
    "The verdict is about matrix products of float32 and float64 data by functions of BLAS and cuBLAS. It is not "
    "about products of other types, even if a program converted its data to them (numpy multiplies float16 in its "
    "own loops, and torch's quantised layers multiply integers). A CPU library is taken to multiply in the format "
    "that its function's name stands for. ";

constexpr std::string_view scope_note_begin_of_accumulation =
    "The verdict is about what products of float16 and bfloat16 matrices by functions of cuBLAS may add in. That "
    "follows from the compute type, the handle's math mode and the reduction scheme of the algorithm; no result was "
    "measured. It is not about products of other types, or about what else a program adds. ";

constexpr std::string_view scope_note =
    "Products that the shim does not see are judged by the files that the processes had loaded and the programs that "
    "they "
    "started: known libraries, and files with instructions that multiply BF16 or FP16. The verdict does not cover "
    "other loops with which a program or library multiplies by itself, code that programs generate, load or look "
    "up themselves at run time (for a GPU whose kernels are not recorded, for example), LAPACK routines that "
    "multiply inside their own library, "
    "linker namespaces of dlmopen, processes without a recording that were killed or ended past the C library, "
    "what constructors do before the shim's or destructors after it, what a forked child loads before it executes a "
    "program, processes that could not record what they multiplied, loaded or started (a line on stderr says so), "
    "programs started by system calls that bypass the C library, or elsewhere (by ssh, srun or a container service). "
    "A recording is not sealed: anyone who can write to it can change it.";

constexpr std::string_view scope_note_without_end =
    " Not all of these recordings were made under an `fp32shim run` that waited for its program (without --quiet), "
    "so some may be missing: only those of children that found their parent's are asked for.";

constexpr std::string_view scope_note_of_recorded_bypasses =
    " The products of oneDNN are those that its verbose mode prints, those of XLA are in the programs that JAX gave "
    "it to compile for a CPU, and kernels on NVIDIA's GPUs are judged by their names or tensor-core instructions: "
    "docs/what-it-sees.md says what these leave out.";

constexpr std::string_view scope_note_of_order =
    " Matrix products, products with a vector and solves have a fixed order. Products inside LAPACK (numpy.linalg, "
    "scipy.linalg), other functions of BLAS, sums and element-wise functions may differ between machines";

/// Returns scope_note_of_order, followed by a remark that says whether the variables of `run --reproducible` were set
/// for the products that have no fixed order.
std::string order_scope_text(const MergedCalls& calls) {
    const auto has_codes = [](std::uint16_t pins) { return (pins & record::pin_library_codes) != 0; };
    const bool had_codes =
        calls.recording_count() > 0 && std::ranges::all_of(calls.processes(), [&](const MergedProcess& process) {
            return (process.is_children_file() || has_codes(process.facts.process.pins)) &&
                   process.missed_marks == 0 &&
                   std::ranges::all_of(process.marks, has_codes, &record::UnrecordedProcess::pins);
        });
    return fmt::format(
        "{}{}.", scope_note_of_order,
        had_codes
            ? ", but less so under the variables of `run --reproducible`, which were set as the processes started"
            : "; they depend on the variables of `run --reproducible`, and not all of these are "
              "known to have had the values that it sets");
}

/// Returns a line for each environment variable in `pins`. The line names the products that the variable keeps at
/// float32 and the products that it does not keep at float32.
std::string pins_reach_text(std::uint16_t pins) {
    std::string text;
    for (const record::PinnedVariable& pin : record::all_pins)
        if ((pins & pin.bit) != 0) text += fmt::format("     {} {}\n", pin.entry, pin.reach);
    return text;
}

/// Returns the beginning of a line about recordings: `a.fp32rec: ` or `a.fp32rec and 3 more: `; empty if the line is
/// about all recordings.
std::string recordings_prefix(const std::vector<std::string>& recordings, const MergedCalls& calls) {
    if (recordings.size() == calls.processes().size()) return {};
    const std::size_t others = recordings.size() - 1;
    return recordings.front() + (others == 0 ? "" : fmt::format(" and {} more", others)) + ": ";
}

/// The maximum number of entries in a list of violations, recordings, kernels or jobs. Further ones are only counted.
constexpr std::size_t max_violators = 20;

/// Returns an indented line for each of the first violations of a recording.
std::string products_text(const JudgedCallCounts& judged, const MergedCalls& calls) {
    std::string text;
    std::size_t said = 0;
    for (const auto& [index, count] : judged.below_by_row) {
        if (said == max_violators) break;
        ++said;
        const MergedRow& row = calls.rows()[index];
        const std::string ran = row.accumulator.empty() ? "at " + printable(row.effective_format())
                                                        : "adding in " + row.accumulator_text();
        text += fmt::format("    {} of {} {} {}\n", counted(count, "call"), printable(row.function_text()),
                            row.size_text(), ran);
    }
    if (judged.below_by_row.size() > said)
        text += fmt::format("    and {} more\n", judged.below_by_row.size() - said);
    return text;
}

/// Returns a line for each of the first recordings with calls below the floor. The line names the process, the
/// program, the machine and the job. `judged` has the calls of each recording, in the order of the recordings.
std::string violators_text(const MergedCalls& calls, const std::vector<JudgedCallCounts>& judged,
                           std::size_t violations) {
    std::string text;
    std::size_t said = 0, found = 0;
    for (std::size_t i = 0; i < judged.size(); ++i) {
        if (judged[i].below == 0 || ++found > max_violators) continue;
        ++said;
        const MergedProcess& process = calls.processes()[i];
        text += fmt::format("- {}: {} of {}\n", printable(process.path), counted(judged[i].below, "call"),
                            printable(process_text(process.facts.process)));
        if (judged[i].below_by_row.size() > 1 || violations > 1) text += products_text(judged[i], calls);
    }
    if (found > said) text += fmt::format("- and {} more; --format json has them all\n", found - said);
    return text.empty() ? text : "\nThese calls were made by:\n" + text;
}

/// Returns the tables of the violations: the calls, and the processes that made them.
std::string violations_text(const VerifyResult& verified, const MergedCalls& calls,
                            const std::vector<JudgedCallCounts>& judged) {
    if (verified.violations.empty()) return {};
    return '\n' + call_site_table(verified.violations, 0).text() +
           violators_text(calls, judged, verified.violations.size());
}

/// Returns the libraries of the counted calls: `BLAS, cuBLAS or oneDNN`. Names oneDNN and XLA only if they told of
/// products, and kernels only if some were launched on a GPU.
std::string libraries_text(const MergedCalls& calls) {
    std::vector<std::string_view> names = {"BLAS", "cuBLAS"};
    if (calls.onednn_calls() > 0) names.emplace_back("oneDNN");
    if (calls.xla_products() > 0) names.emplace_back("XLA");
    if (calls.kernel_launches() > 0) names.emplace_back("kernels on GPUs");
    const std::string_view last = names.back();
    names.pop_back();
    return fmt::format("{} or {}", fmt::join(names, ", "), last);
}

/// Returns lines about products of other kinds than float32 matrices; empty if there are none.
std::string types_text(const VerifyResult& verified, const MergedCalls& calls, const VerifyOptions& options) {
    std::string text = operand_types_text(calls);
    const std::uint64_t float32 = verified.count_violating_calls(&MergedRow::is_float32);
    if (const std::uint64_t vectors = calls.vector_products().calls; vectors > 0)
        text += fmt::format("{} with a vector\n", counted(vectors, "product"));
    if (const std::uint64_t compiled = calls.xla_products(); compiled > 0)
        text += fmt::format("{} that XLA compiled for a CPU; how often {} ran, if at all, is not counted\n",
                            counted(compiled, "product"), compiled == 1 ? "it" : "they");
    if (asked_floor(options) == policy::Floor::fp64 && float32 > 0)
        text += fmt::format("{} below fp64 {} of float32, as the program called {}\n", counted(float32, "call"),
                            float32 == 1 ? "is" : "are", float32 == 1 ? "it" : "them");
    return text.empty() ? text : '\n' + text;
}

/// The maximum number of doubts that are listed. Further doubts are only counted.
constexpr std::size_t max_doubts = 200;

/// Returns a line for each of the first doubts, and a line with the number of the remaining doubts.
std::string doubts_text(const std::vector<Doubt>& doubts) {
    std::string text;
    for (const Doubt& doubt : std::span(doubts).first(std::min(doubts.size(), max_doubts)))
        text += fmt::format("- {}{}{}\n", printable(doubt.where), doubt.where.empty() ? "" : ": ",
                            printable(doubt.reason));
    if (doubts.size() > max_doubts)
        text += fmt::format("- and {} more; --format json has them all\n", doubts.size() - max_doubts);
    return text;
}

/// Returns the message for the case that no recording could be read.
std::string unread_text(const VerifyResult& verified) {
    return coloured(inconclusive.title, inconclusive.colour) + ": no recording could be read.\n" +
           doubts_text(verified.doubts);
}

/// Returns the possible bypasses of one list; empty if there are none.
std::string bypasses_text(BypassStanding standing, const VerifyResult& verified, const MergedCalls& calls,
                          const VerdictWords& claim) {
    const auto index = static_cast<std::size_t>(standing);
    if (verified.bypasses[index].empty()) return {};
    std::string text = "\n" + fmt::format(fmt::runtime(bypass_lists[index].title), claim.below);
    if (standing == BypassStanding::recorded)
        text += fmt::format(" ({} of oneDNN, {} of kernels on GPUs)", counted(calls.onednn_calls(), "product"),
                            launch_count_text(verified.kernels.launches));
    text += ":\n";
    for (const PossibleBypass& bypass : verified.bypasses[index]) {
        text += fmt::format("- {}: {}{}", printable(bypass.name),
                            printable(recordings_prefix(bypass.recordings, calls)), printable(bypass.reason));
        const std::string pinned = pins_text(bypass.pins);
        if (standing == BypassStanding::open && !(pinned.empty() && bypass.remedy.empty()))
            text += fmt::format("\n  -> {}\n{}", pinned.empty() ? printable(bypass.remedy) : pinned,
                                pins_reach_text(bypass.pins));
        else
            text += (standing == BypassStanding::assumed && !pinned.empty() ? "; " + pinned : "") + "\n";
    }
    return text;
}

/// Returns true if some recordings were not made by a `fp32shim run` that waited for its program.
bool lacks_end(const MergedCalls& calls) {
    return std::ranges::any_of(calls.processes(), [](const MergedProcess& process) {
        return !process.is_children_file() && (process.facts.flags & record::format::flag_run_is_awaited) == 0;
    });
}

/// Returns the end of the summary: how many emulated products kept the bits of float64; empty if none was emulated.
std::string bits_text(const EmulatedCallCounts& emulated) {
    const std::uint64_t count = emulated.known + emulated.unknown;
    if (count == 0) return {};
    return fmt::format("; at least {} bits in {} of {}", bits_of_float64, count_text(emulated.of_float64),
                       emulated.unknown == 0 ? counted(count, "emulated product")
                                             : counted(count, "product") + " that cuBLAS may have emulated");
}

}  // namespace

std::string verdict_summary(const VerifyResult& verified, const MergedCalls& calls, const VerifyOptions& options) {
    const bool of_accumulation = !options.accumulate.empty();
    const VerdictWords claim = verdict_words(options.at_least, of_accumulation);
    const std::uint64_t total =
        of_accumulation ? verified.half_calls : calls.total().calls - verified.allowed_launches;
    const std::string bits = bits_text(verified.emulated);
    const std::string recordings = counted(calls.recording_count(), "recording");
    const std::string all = counted(total, of_accumulation ? "half product" : "call");
    if (!verified.violations.empty()) {
        const std::uint64_t allowed =
            claim.below.empty() ? 0 : verified.count_violating_calls(&MergedRow::has_only_permitted_format);
        const std::uint64_t ran = verified.count_violating_calls([](const MergedRow*) { return true; }) - allowed;
        const std::string_view was = allowed == 1 ? "was" : "were";
        if (ran == 0)
            return fmt::format("{} of {} in {} {} allowed to run{}{}", count_text(allowed), all, recordings, was,
                               claim.below, bits);
        const std::string others =
            allowed == 0 ? "" : fmt::format(", and {} {} allowed to", count_text(allowed), was);
        return fmt::format("{} of {} in {} {}{}{}", count_text(ran), all, recordings, claim.broken, others, bits);
    }
    const bool is_shown = verified.verdict().exit_code == exit_code::ok;
    if (of_accumulation)
        return fmt::format("{} of {} in {} {}{}", count_text(verified.shown_calls), all, recordings,
                           verified.shown_calls == 1 ? "adds in FP32" : claim.held,
                           is_shown                       ? ""
                           : verified.shown_calls < total ? "; the rest is not known"
                                                          : "; there may have been others");
    if (is_shown)
        return fmt::format("{} of {} on {} data in {} {}{}",
                           total == 1 ? "the one call" : "all " + counted(total, "call"), libraries_text(calls),
                           calls.float64_calls() == 0       ? "float32"
                           : calls.float64_calls() == total ? "float64"
                                                            : "float32 and float64",
                           recordings, claim.held, bits);
    const bool is_rest = verified.shown_calls < total;
    return fmt::format("{} of {} of {} in {} {}; {}{}", count_text(verified.shown_calls), counted(total, "call"),
                       libraries_text(calls), recordings, claim.held,
                       is_rest ? "the rest is not known" : "there may have been others", bits);
}

std::string verdict_scope_text(const VerifyOptions& options, const MergedCalls& calls) {
    std::string text(options.accumulate.empty() ? scope_note_begin : scope_note_begin_of_accumulation);
    text += scope_note;
    if (lacks_end(calls)) text += scope_note_without_end;
    if (calls.onednn_calls() + calls.xla_products() + calls.kernel_launches() > 0)
        text += scope_note_of_recorded_bypasses;
    if (options.reproducible) text += order_scope_text(calls);
    return text;
}

std::string text_of(const VerifyResult& verified, const MergedCalls& calls, const VerifyOptions& options,
                    const std::vector<JudgedCallCounts>& judged) {
    if (calls.processes().empty()) return unread_text(verified);
    const VerdictWords claim = verdict_words(options.at_least, !options.accumulate.empty());
    std::string text = fmt::format("{}: {}.\n", coloured(verified.verdict().title, verified.verdict().colour),
                                   verdict_summary(verified, calls, options));
    text += violations_text(verified, calls, judged) + types_text(verified, calls, options);
    if (const std::string kernels = kernels_text(verified.kernels); !kernels.empty())
        text += fmt::format("\n{}\n", printable(kernels));
    if (!verified.allowed_kernels.empty())
        text += fmt::format(
            "\nKernels that are not judged, because --allow-kernel names them: {} with {}\n",
            printable(listed({verified.allowed_kernels.begin(), verified.allowed_kernels.end()}, max_violators)),
            launch_count_text(verified.allowed_launches));
    if (has_unused_rule(verified.rules)) text += '\n' + unused_rules_text(verified.rules, max_doubts);
    if (!verified.doubts.empty()) text += "\nNot known:\n";
    text += doubts_text(verified.doubts);
    if (!verified.expected.unexpected.empty())
        text += fmt::format("\nRecordings of jobs that were not expected: {}\n",
                            printable(listed(verified.expected.unexpected, max_violators)));
    for (std::size_t i = 0; i < verified.bypasses.size(); ++i)
        text += bypasses_text(static_cast<BypassStanding>(i), verified, calls, claim);
    if (const auto count = calls.lost_changes(); count > 0) text += fmt::format("\n{}\n", lost_changes_text(count));
    const std::string of = options.accumulate.empty()
                               ? fmt::format("products of float32 and float64 by {}", libraries_text(calls))
                               : "what products of float16 and bfloat16 by cuBLAS add in";
    return text +
           fmt::format("\nThis verdict is about {}; docs/what-it-sees.md#what-a-verdict-covers has its limits.{}{}\n",
                       of, options.reproducible ? order_scope_text(calls) : "",
                       lacks_end(calls) ? scope_note_without_end : "");
}

}  // namespace fp32shim::cli
