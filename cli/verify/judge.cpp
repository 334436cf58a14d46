// Judges rows and processes for `fp32shim verify`: which calls are shown to meet the criterion that the options name,
// which calls violate it, and what is in doubt.
#include <fmt/format.h>

#include <algorithm>

#include "cli/recordings/csv_and_json_columns.hpp"
#include "cli/recordings/process_text.hpp"
#include "cli/verify/verdict.hpp"
#include "policy/glob.hpp"
#include "policy/messages.hpp"
#include "policy/words.hpp"

namespace fp32shim::cli {
namespace {

/// Returns the strictest floor (lowest allowed format) that a format meets; nullopt if it is unknown. With
/// --allow-bf16x9, bf16x9 meets fp32. `bits` is the number of bits that an emulation of float64 kept.
std::optional<policy::Floor> floor_met_by_format(policy::AppliedFormat format, std::string_view function, int bits,
                                                 const VerifyOptions& options) {
    if (format == policy::AppliedFormat::bf16x9 && options.allow_bf16x9) return policy::Floor::fp32;
    const bool has_fewer_bits = format == policy::AppliedFormat::fp64_emulated && bits > 0 && bits < bits_of_float64;
    if (has_fewer_bits && asked_floor(options) == policy::Floor::fp64) return policy::Floor::none;
    return floor_shown_by(format, function, bits);
}
std::optional<policy::Floor> floor_met_by_format(const MergedRow& row, const VerifyOptions& options) {
    const auto applied = policy::parse_word(policy::applied_words, row.effective_format());
    return applied ? floor_met_by_format(*applied, row.function, row.mantissa_bits, options) : std::nullopt;
}

/// Returns true if `function` is a kernel that --allow-kernel names, either by its name in the recording or by the
/// shorter name that is shown to people.
bool is_allowed_kernel(const std::string& function, const VerifyOptions& options) {
    if (!function.starts_with(record::kernel_prefix)) return false;
    MergedRow row;
    row.function = function;
    return std::ranges::any_of(options.allowed_kernels, [&](const std::string& glob) {
        return policy::glob_matches(glob, function.substr(record::kernel_prefix.size())) ||
               policy::glob_matches(glob, row.function_text());
    });
}

/// Returns the floor below which a call violates what the options ask. For a kernel, this is at most fp32, because it
/// is not known whether the kernel multiplies and which precision the program wanted. For a product that XLA
/// compiled, it is also at most fp32, because the product may never have run.
policy::Floor floor_of_violation(const VerifyOptions& options, std::string_view function) {
    const bool may_multiply = function.starts_with(record::kernel_prefix) || function.starts_with(record::xla_prefix);
    return may_multiply ? std::min(asked_floor(options), policy::Floor::fp32) : asked_floor(options);
}

/// Returns true if the calls of a row ran, or were allowed to run, below the floor that the options ask for. `row` is
/// null for calls of which only the number is known.
bool is_below(const record::RecordedRow* row, const VerifyOptions& options) {
    if (row == nullptr || row->is_overflow) return false;
    const std::string function(row->decision.call.function);
    const auto strictness = floor_met_by_format(row->decision.actual.value_or(row->decision.applied), function,
                                                row->decision.mantissa_bits, options);
    return strictness && *strictness < floor_of_violation(options, function) && !is_allowed_kernel(function, options);
}

/// Describes the launches of a kernel, with its name, and with the line of the program if it is known.
std::string launches_text(const MergedRow& row) {
    return fmt::format("{} of the kernel {} ({}{}{})", launch_count_text(row.counters.calls), row.function_text(),
                       row.caller_to_provider_text(), row.where.empty() ? "" : ", ", row.where);
}

/// Describes the calls of a row that is no kernel. For XLA, these are compilations, because a recording does not tell
/// how often the compiled products ran.
std::string calls_text(const MergedRow& row) {
    return fmt::format("{} of {} {} ({}{}{})", counted(row.counters.calls, row.is_xla() ? "compilation" : "call"),
                       row.function, row.size_text(), row.caller_to_provider_text(), row.where.empty() ? "" : ", ",
                       row.where);
}

/// Adds the calls of a row to `emulated` if cuBLAS may have emulated their float64 products.
void count_emulated(const MergedRow& row, EmulatedCallCounts& emulated) {
    if (row.applied != "fp64_emulated") return;
    const std::uint64_t count = row.counters.calls;
    (row.effective_format() != row.applied ? emulated.native
     : row.mantissa_bits == 0              ? emulated.unknown
                                           : emulated.known) += count;
    if (row.mantissa_bits >= bits_of_float64) emulated.of_float64 += count;
}

void judge_row(const MergedRow& row, const VerifyOptions& options, VerifyResult& verified) {
    const policy::Floor at_least = asked_floor(options);
    const std::uint64_t count = row.counters.calls;
    if (row.is_overflow) {
        verified.add_doubt(fmt::format("{} {} counted, but nothing else is known about {}", counted(count, "call"),
                                       count == 1 ? "is" : "are", count == 1 ? "it" : "them"));
        return;
    }
    if (is_allowed_kernel(row.function, options)) {
        verified.allowed_kernels.insert(row.function_text());
        verified.allowed_launches += count;
        return;
    }
    const auto strictness = floor_met_by_format(row, options);
    const std::string what = row.is_kernel() ? launches_text(row) : calls_text(row);
    const std::string contradiction = describe_contradiction(row);
    if (!contradiction.empty() && (!strictness || *strictness >= at_least)) {
        verified.add_doubt(fmt::format("{}: the recording contradicts itself, so it was damaged or changed: {}", what,
                                       contradiction));
    } else if (strictness) {
        if (*strictness >= at_least)
            verified.shown_calls += count;
        else if (*strictness < floor_of_violation(options, row.function))
            verified.violations.push_back(&row);
        else
            verified.add_doubt(what + ": it multiplies in float32, if it multiplies");
    } else if (row.reason == "no_product") {
        verified.shown_calls += count;  // nothing was multiplied
    } else if (row.effective_format() == "fp64_emulated") {
        verified.add_doubt(
            row.mantissa_bits == 0
                ? what + ": cuBLAS may have emulated float64; how many bits it kept is not recorded"
                : fmt::format("{}: cuBLAS emulated float64 with {} bits of fixed-point numbers, which no lower "
                              "format can be compared with",
                              what, row.mantissa_bits));
    } else if (row.effective_format() == "fixed") {
        verified.add_doubt(
            fmt::format("{}: operands were rounded to fixed-point numbers ({}), which no format can be compared with",
                        what, static_cast<std::string_view>(row.detail)));
    } else if (row.is_kernel() && !row.detail.empty()) {
        verified.add_doubt(fmt::format("{}: it {}", what, row.detail));
    } else if (row.reason == "observed" || row.is_half()) {
        const bool converts = std::string_view(row.function).ends_with("_convert");
        verified.add_doubt(fmt::format("{}: {} {}, narrower than float32", what,
                                       converts ? "the result is" : "operands are", row.dtype));
    } else if (row.is_onednn() || row.is_xla()) {
        std::string line;
        const auto execution = row.onednn_execution(line);
        if (row.is_xla() && execution && execution->source_type.empty())
            verified.add_doubt(what + ": what it multiplies is not known");
        else
            verified.add_doubt(
                fmt::format("{}: {}; {}: {}", what, execution ? execution->doubt : "its line cannot be read",
                            row.is_xla() ? "XLA compiled" : "oneDNN printed", std::string_view(row.detail)));
    } else {
        verified.add_doubt(what + ": forwarded unchanged, so their format is not known (" + row.reason + ")");
    }
}

/// Returns true if a call multiplied, but not in a fixed order. For a call with invalid arguments it is not known
/// whether the library multiplied, since OpenBLAS accepts transpositions that the standard does not have. This is a
/// doubt and no violation, so false is returned.
bool has_other_order(record::How how, policy::Reason reason) {
    return how != record::How::fixed_order && reason != policy::Reason::no_product &&
           reason != policy::Reason::invalid_arguments;
}

/// Returns true if a size is 0, so that nothing is multiplied or added up.
bool is_empty(const MergedRow& row) { return row.m == 0 || row.n == 0 || row.k == 0 || row.batch == 0; }

void judge_order(const MergedRow& row, VerifyResult& verified) {
    if (row.is_overflow) return judge_row(row, {}, verified);
    const std::uint64_t count = row.counters.calls;
    if (row.how == "fixed_order" || row.reason == "no_product" || is_empty(row))
        verified.shown_calls += count;
    else if (row.is_kernel() || row.is_xla())
        verified.add_doubt((row.is_kernel() ? launches_text(row) : calls_text(row)) +
                           ": if it multiplies, nobody knows in which order");
    else if (row.reason == "invalid_arguments")
        verified.add_doubt(
            fmt::format("{} of {} {}: invalid by the BLAS standard, but the library may have multiplied",
                        counted(count, "call"), row.function, row.size_text()));
    else
        verified.violations.push_back(&row);
}

/// Judges the format in which a product of float16 or bfloat16 adds. Products of other types are not judged.
void judge_accumulator(const MergedRow& row, const VerifyOptions& options, VerifyResult& verified) {
    if (row.is_overflow || (row.is_kernel() && is_allowed_kernel(row.function, options)))
        return judge_row(row, options, verified);
    const std::uint64_t count = row.counters.calls;
    if (row.is_kernel()) {
        if (row.reason == "no_product") return;
        verified.add_doubt(launches_text(row) + ": if it multiplies, what it adds in is not known");
        return;
    }
    if (!row.is_half()) return;
    verified.half_calls += count;
    const std::string what = fmt::format("{} of {} {} ({})", counted(count, "call"), row.function, row.size_text(),
                                         row.caller_to_provider_text());
    if (const std::string contradiction = describe_contradiction(row); !contradiction.empty())
        verified.add_doubt(
            fmt::format("{}: the recording contradicts itself, so it was damaged or "
                        "changed: {}",
                        what, contradiction));
    else if (is_empty(row) || row.accumulator == "fp32")
        verified.shown_calls += count;
    else if (row.accumulator.empty())
        verified.add_doubt(what + ": what it adds in is not known");
    else
        verified.violations.push_back(&row);
}

/// Returns true for products of float16 and bfloat16 that may add all terms, or only partial sums, in a lower
/// precision than FP32. `row` may be null.
bool adds_below_fp32(const record::RecordedRow* row) {
    return row != nullptr && !row->is_overflow && multiplies(row->decision.call) &&
           row->decision.accumulator != policy::Accumulator::unknown &&
           row->decision.accumulator != policy::Accumulator::fp32;
}

/// Adds doubts about one process. `is_continued` says that another recording has the later part of the process.
void judge_process(const MergedProcess& process, bool is_continued, VerifyResult& verified) {
    const auto doubt = [&](std::string reason) { verified.doubts.push_back({process.path, std::move(reason)}); };
    if (process.uncounted_calls > 0)
        doubt(fmt::format("there was no room for {}: only the number is known",
                          counted(process.uncounted_calls, "call")));
    if (process.objects.kernels_missed)
        doubt(
            "some kernels that it launched on a GPU may not be recorded: a reload turned the recording of kernels on "
            "or off, a graph with them was made before this recording, there was no room or memory for them, or the "
            "driver has functions that this version does not know");
    if (process.dropped_events > 0)
        doubt(fmt::format("{} {} dropped", counted(process.dropped_events, "event"),
                          process.dropped_events == 1 ? "was" : "were"));
    if (const std::string why = early_end_text(process.facts); !why.empty() && !is_continued) doubt(why);
    if (process.state == record::RecordingState::live)
        doubt(fmt::format("process {} still runs: more calls may follow", process.facts.process.pid));
}

/// Returns the usual spelling of the bypass name `word`, in which upper and lower case do not matter. `child:NAME`
/// stays unchanged. Returns an empty text for an unknown name.
std::string canonical_bypass_name(const std::string& word) {
    if (is_child_bypass_name(word)) return word;
    for (const std::string_view known : possible_bypass_names())
        if (policy::equal_ignoring_case(known, word)) return std::string(known);
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

/// Returns true if the bypass name `word` is in one of `lists`, the values of --assume-unused: as one of the names
/// between commas or, since the name of a child may contain commas, as a whole value.
bool is_assumed_unused(const std::vector<std::string>& lists, const std::string& word) {
    return std::ranges::any_of(lists, [&](const std::string& list) {
        return list == word || std::ranges::count(split_at_commas(list), word, canonical_bypass_name) > 0;
    });
}

}  // namespace

std::string problem_with_bypass_names(const std::string& list) {
    for (const std::string& word : split_at_commas(list)) {
        if (!canonical_bypass_name(word).empty()) continue;
        std::vector<std::string_view> words = possible_bypass_names();
        words.push_back("child:NAME");
        return policy::unknown_word_error(word, words);
    }
    return {};
}

policy::Floor asked_floor(const VerifyOptions& options) {
    return policy::parse_word(policy::verified_floor_words, options.at_least).value_or(policy::Floor::fp32);
}

bool is_violation(const record::RecordedRow* row, const VerifyOptions& options) {
    if (!options.accumulate.empty()) return adds_below_fp32(row);
    if (!options.reproducible) return is_below(row, options);
    return row != nullptr && !row->is_overflow && multiplies(row->decision.call) &&
           !std::string_view(row->decision.call.function).starts_with(record::kernel_prefix) &&
           !std::string_view(row->decision.call.function).starts_with(record::xla_prefix) &&
           has_other_order(row->decision.how, row->decision.reason);
}

const Verdict& VerifyResult::verdict() const {
    if (!violations.empty()) return violated;
    const bool has_open_bypass = !bypasses[static_cast<std::size_t>(BypassStanding::open)].empty();
    return doubts.empty() && !has_open_bypass ? shown : inconclusive;
}

VerifyResult verify_calls(const MergedCalls& calls, const std::vector<ReadingProblem>& problems,
                          const VerifyOptions& options, ExpectedJobList expected) {
    const policy::Floor at_least = asked_floor(options);
    VerifyResult verified;
    verified.rules = calls.rules();
    verified.kernels = summarize_kernels(calls);
    verified.expected = std::move(expected);
    compare_jobs(calls.processes(), verified.expected);
    for (const std::string& job : verified.expected.missing)
        verified.add_doubt(fmt::format("job {} {}", job, no_recording_of_job));
    for (const MergedRow* row : sorted(calls.rows(), RowOrder::calls)) {
        if (row->counters.calls == 0) continue;
        if (!options.accumulate.empty()) {
            judge_accumulator(*row, options, verified);
            continue;
        }
        options.reproducible ? judge_order(*row, verified) : judge_row(*row, options, verified);
        if (!options.reproducible) count_emulated(*row, verified.emulated);
    }
    if (const EmulatedCallCounts& emulated = verified.emulated; emulated.unknown > 0)
        verified.add_doubt(
            fmt::format("how many bits cuBLAS kept is known of {} of {} that it may have emulated: audits ask it, "
                        "with FP32_MATMUL_AUDIT=1 in every call but solves and captured products",
                        count_text(emulated.known + emulated.native),
                        counted(emulated.known + emulated.native + emulated.unknown, "product")));
    for (const MergedProcess& process : calls.processes())
        judge_process(process, continues_after_reload(process, calls.processes()), verified);
    for (const ReadingProblem& problem : problems) verified.doubts.push_back({problem.path, problem.text});
    if (calls.total().calls == 0 && !calls.processes().empty())
        verified.add_doubt("no recording has calls");
    else if (!options.accumulate.empty() && verified.half_calls == 0 && !calls.processes().empty())
        verified.add_doubt("no half products were recorded");
    const auto asks_onednn = [](const MergedProcess& process) { return process.objects.ask_onednn; };
    std::vector<PossibleBypass> bypasses = find_possible_bypasses(calls.processes());
    if (auto zgemv = find_unseen_zgemv(calls)) bypasses.push_back(*std::move(zgemv));
    for (PossibleBypass& bypass : bypasses) {
        const bool is_no_matter = bypass.is_float32 && !options.reproducible && at_least <= policy::Floor::fp32;
        const BypassStanding standing = bypass.is_recorded   ? BypassStanding::recorded
                                        : is_no_matter       ? BypassStanding::float32
                                        : bypass.is_harmless ? BypassStanding::examined
                                        : is_assumed_unused(options.assumed_unused, bypass.name)
                                            ? BypassStanding::assumed
                                            : BypassStanding::open;
        if (options.reproducible && bypass.name == onednn_name)
            bypass.remedy = std::ranges::any_of(calls.processes(), asks_onednn)
                                ? ""
                                : "FP32_MATMUL_ONEDNN=1, which run --reproducible sets, records its products";
        verified.bypasses[static_cast<std::size_t>(standing)].push_back(std::move(bypass));
    }
    return verified;
}

}  // namespace fp32shim::cli
