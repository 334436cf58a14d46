// Writes the sentences with which the outcome of `fp32shim diff` begins.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "cli/diff/outcome.hpp"
#include "cli/output/shell_words.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/process_text.hpp"
#include "policy/load.hpp"

namespace fp32shim::cli {
namespace {

std::string share(std::uint64_t part, std::uint64_t all) {
    return fmt::format("{} of {}", count_text(part), counted(all, "product"));
}

/// Returns a text such as ` (fp32 -> tf32)` if this is the change of all products whose precision changed, and
/// otherwise an empty text.
std::string precisions_text(const ResultSummary& summary) {
    if (summary.precisions.size() != 1) return {};
    const auto& [a, b] = *summary.precisions.begin();
    return fmt::format(" ({} -> {})", a, b);
}

/// Returns the sentence about results that differ.
std::string difference_sentence(const ResultSummary& summary, std::uint64_t all) {
    const std::uint64_t other_bits = all - summary.same_bits;
    if (summary.other_precision == 0)
        return fmt::format("Other results: {}; all ran at the same precision", share(other_bits, all));
    std::string text = fmt::format("{} ran at another precision{}; of these, {} gave other results",
                                   share(summary.other_precision, all), precisions_text(summary),
                                   count_text(summary.other_precision_other_bits));
    if (summary.other_precision < all)
        text += fmt::format(", and {} of the {} at the same precision",
                            count_text(other_bits - summary.other_precision_other_bits),
                            count_text(all - summary.other_precision));
    return text;
}

/// Returns a text such as `: 3 with equal inputs, 374 with other inputs`, or `, with other inputs` if the inputs of
/// all results are of one kind.
std::string inputs_text(std::uint64_t equal, std::uint64_t other, std::uint64_t unknown) {
    std::string text;
    for (const auto& [count, what] : {std::pair(equal, "equal inputs"), std::pair(other, "other inputs"),
                                      std::pair(unknown, "inputs that are not recorded on both sides")}) {
        if (count == equal + other + unknown) return fmt::format(", with {}", what);
        if (count > 0) text += fmt::format("{}{} with {}", text.empty() ? ": " : ", ", count_text(count), what);
    }
    return text;
}

/// Returns the sentence about the first product that computed different results from equal inputs, or an empty text
/// if there is no such product.
std::string beginning_sentence(const DiffOutcome& outcome) {
    const ResultSummary& summary = outcome.summary;
    if (!summary.first_same_operands) return {};
    const std::vector<ResultPair>& pairs = outcome.paired.pairs;
    const ResultPair& pair = pairs[*summary.first_same_operands];
    const MergedRow &a = outcome.a.row_of(pair.a), &b = outcome.b.row_of(pair.b);
    const auto ended = [&](const ResultPair& one) { return outcome.a.products[one.a].end_ns; };
    const bool is_first =
        std::ranges::all_of(pairs, [&](const ResultPair& one) { return one.same_bits || ended(one) >= ended(pair); });
    std::string text = fmt::format(
        "{} difference begins at {}: equal inputs, other bits", is_first ? "The" : "A",
        !a.where.empty() ? std::string(a.where) : fmt::format("{} {}", std::string_view(a.function), a.size_text()));
    if (a.effective_format() != b.effective_format())
        text += fmt::format("; A ran it at {} ({}), B at {} ({})", std::string_view(a.effective_format()),
                            std::string_view(a.requested), std::string_view(b.effective_format()),
                            std::string_view(b.requested));
    const std::uint64_t all = pairs.size() - summary.same_bits, unknown = summary.unknown_operands;
    if (all == 1) return text;
    return text + fmt::format("; {} more {}{}", count_text(all - 1), all == 2 ? "differs" : "differ",
                              inputs_text(summary.same_operands - 1, all - unknown - summary.same_operands, unknown));
}

/// Returns what is known about the inputs of the results that differ, if none of these results has equal inputs.
std::string operands_sentence(const ResultSummary& summary, std::uint64_t all) {
    const std::uint64_t unknown = summary.unknown_operands;
    if (unknown == all) return "not recorded on both sides";
    if (unknown == 0)
        return "other ones for each result that differs: the difference begins outside of the products that are "
               "compared";
    return fmt::format("other ones for {}, not recorded on both sides for {}", counted(all - unknown, "result"),
                       count_text(unknown));
}

/// Returns the settings at the start of each run that the other run does not have, such as `default native -> default
/// high`.
std::string settings_difference(const DiffOutcome& outcome) {
    const auto settings_in = [](const DiffSide& side) {
        std::set<std::string> settings;
        for (const MergedProcess& process : side.calls.processes())
            if (!process.is_children_file())
                std::ranges::move(settings_texts(process.facts), std::inserter(settings, settings.end()));
        return settings;
    };
    const std::set<std::string> a = settings_in(outcome.a), b = settings_in(outcome.b);
    const auto only = [](const std::set<std::string>& here, const std::set<std::string>& there) {
        std::vector<std::string> texts;
        std::ranges::set_difference(here, there, std::back_inserter(texts));
        return texts.empty() ? "the same without these" : fmt::format("{}", fmt::join(texts, ", "));
    };
    return a == b ? "" : fmt::format("{} -> {}", only(a, b), only(b, a));
}

/// Returns the options of `fp32shim run` under which a process was recorded, as far as its recording contains them.
std::string options_of(const record::StartEvent& start) {
    const bool is_reproducible = start.cpu_mode == policy::CpuMode::reproducible;
    // The site policy of this machine (/etc/fp32shim/policy.toml) applies to every run, so the command needs no
    // option for settings that come from that policy.
    policy::Policy site;
    if (!start.policy_sha256.empty()) site = policy::read_policy_file(policy::PolicyLoadOptions().site_policy).policy;
    const bool is_sites = site.sha256 == start.policy_sha256;
    const std::pair<std::string_view, std::string> options[] = {
        {"precision", is_sites && start.default_precision == site.default_precision
                          ? ""
                          : std::string(policy::to_string(start.default_precision))},
        {"floor", is_sites && start.floor == site.floor ? "" : std::string(policy::to_string(start.floor))},
        {"cpu", is_reproducible ? "" : std::string(policy::to_string(start.cpu_mode))},
        {"where", policy::to_string(start.where)}};
    std::string text = start.policy_sha256.empty() || is_sites ? "" : " --policy POLICY.toml";
    if (is_reproducible) text += " --reproducible";
    for (const auto& [option, value] : options)
        if (value != "native" && value != "none" && value != "off" && !value.empty())
            text += fmt::format(" --{} {}", option, value);
    return text;
}

/// Returns the reason why results were not compared: the runs that have no fingerprints among the selected calls. At
/// least one run must have none.
std::string no_results_sentence(const DiffOutcome& outcome) {
    if (outcome.a.calls.calls_before_filter() == 0 && outcome.b.calls.calls_before_filter() == 0)
        return "Nothing was compared, because neither A nor B has a recorded product";
    std::string lacking, unselected;
    for (const auto& [name, side] : {std::pair("A", &outcome.a), std::pair("B", &outcome.b)}) {
        if (side->fingerprint_count() > 0) continue;
        std::string& names = side->filter_selects_nothing() ? unselected : lacking;
        names += names.empty() ? name : fmt::format(" and {}", name);
    }
    std::string text = "Results were not compared, because ";
    if (!unselected.empty()) text += fmt::format("no call of {} is selected", unselected);
    if (lacking.empty()) return text;
    return text + fmt::format("{}{} no fingerprints", unselected.empty() ? "" : ", and ",
                              lacking + (lacking.size() > 1 ? " have" : " has"));
}

/// Returns the differences between the recorded environments of both runs.
std::string environment_sentence(const DiffOutcome& outcome) {
    const EnvironmentFacts &a = outcome.a.environment, &b = outcome.b.environment;
    const bool a_lacks = a.is_empty() || a.is_noted() < b.is_noted();
    const bool b_lacks = b.is_empty() || b.is_noted() < a.is_noted();
    if (a_lacks || b_lacks) return fmt::format("not recorded in {}", !b_lacks ? "A" : !a_lacks ? "B" : "A and B");
    const std::string difference = environment_difference_text(a, b);
    return difference.empty() ? "no difference is recorded" : difference;
}

/// Returns a text such as `: daxpy_, ddot_` with at most three functions whose calls lack fingerprints, or an empty
/// text if there are none.
std::string functions_without_fingerprint(const DiffOutcome& outcome) {
    std::set<std::string> names;
    for (const DiffSide* const side : {&outcome.a, &outcome.b}) {
        std::map<std::string_view, std::uint64_t> calls, fingerprints;
        for (const MergedRow& row : side->calls.rows()) calls[row.function] += row.counters.calls;
        for (const FingerprintedProduct& product : side->products) ++fingerprints[side->rows[product.row].function];
        for (const auto& [function, count] : calls)
            if (count > fingerprints[function] && !function.empty()) names.emplace(function);
    }
    return names.empty() ? "" : ": " + listed({names.begin(), names.end()}, 3);
}

}  // namespace

std::string command_of(const DiffSide& side) {
    std::vector<std::string> commands;
    for (const MergedProcess& process : side.calls.processes()) {
        if (process.is_children_file()) continue;
        const record::ProcessFacts& facts = process.facts.process;
        const std::string& text = facts.command.empty() ? facts.executable : facts.command;
        if (std::ranges::find(commands, text) == commands.end()) commands.push_back(text);
    }
    return listed(commands, 2);
}

std::string difference_text(double difference) {
    if (difference == 0) return "0";
    return std::isfinite(difference) ? fmt::format("{:.1e}", difference) : "inf";
}

std::string headline(const DiffOutcome& outcome) {
    const ResultSummary& summary = outcome.summary;
    const std::uint64_t all = outcome.paired.pairs.size();
    if (!outcome.both_have_fingerprints()) return no_results_sentence(outcome);
    if (outcome.rows != nullptr) return row_headline(outcome);
    if (all == 0) return "Nothing was compared: no product of A has a counterpart in B";
    if (std::string text = beginning_sentence(outcome); !text.empty()) return text;
    if (summary.same_bits < all) return difference_sentence(summary, all);
    const bool is_moved = outcome.paired.elsewhere > 0;
    std::string text =
        fmt::format("Same results in {} order: {}", is_moved ? "another" : "the same", share(all, all));
    if (is_moved)
        text += fmt::format("; {} of them at another position or on another thread",
                            count_text(outcome.paired.elsewhere));
    if (summary.other_precision > 0)
        text += fmt::format("; {} of them at another precision{}", count_text(summary.other_precision),
                            precisions_text(summary));
    const std::size_t unpaired_a = outcome.paired.unpaired_a.size(), unpaired_b = outcome.paired.unpaired_b.size();
    if (unpaired_a + unpaired_b > 0)
        text += fmt::format("; {} of A and {} of B have no counterpart", counted(unpaired_a, "other product"),
                            count_text(unpaired_b));
    return text;
}

std::vector<std::string> remarks(const DiffOutcome& outcome) {
    std::vector<std::string> sentences = {"Environment: " + environment_sentence(outcome)};
    if (const std::string settings = settings_difference(outcome); !settings.empty())
        sentences.push_back("Settings: " + settings);
    if (!outcome.a.calls.filter()->is_empty())
        sentences.push_back("Filter: only the calls that the options select are compared");
    const PairedResults& paired = outcome.paired;
    const bool differs = outcome.summary.same_bits < paired.pairs.size();
    if (const auto& others = outcome.changes.other_algorithms; !others.empty()) {
        const auto& [a, b] = others.front();
        sentences.push_back(
            fmt::format("Algorithms of cublasLt: {}, by place, function and size, mostly ran by another, "
                        "which may add in another order; the first: {} {}, {}",
                        share(others.size(), outcome.changes.kinds_with_algorithms), std::string_view(a->function),
                        a->size_text(), algorithm_change_text(*a, *b)));
    }
    const std::uint64_t all = paired.pairs.size();
    if (differs && outcome.summary.first_same_operands)
        sentences.push_back(difference_sentence(outcome.summary, all));
    else if (differs)
        sentences.push_back("Inputs: " + operands_sentence(outcome.summary, all - outcome.summary.same_bits));
    if (differs && paired.elsewhere > 0)
        sentences.push_back(
            fmt::format("Another order: {} with the same bits at another position or on another thread",
                        counted(paired.elsewhere, "product")));
    if (paired.nearest > 0)
        sentences.push_back(
            fmt::format("Another order: {} with other bits compared with the nearest result of the same kind",
                        counted(paired.nearest, "product")));
    if (paired.doubtful > 0)
        sentences.push_back(fmt::format(
            "Uncertain: {} with other bits; their kinds come in another order or on several threads, so such a pair "
            "may be two different products",
            counted(paired.doubtful, "pair")));
    if (!outcome.both_have_fingerprints()) return sentences;
    if (outcome.rows != nullptr)
        for (std::string& sentence : row_remarks(outcome)) sentences.push_back(std::move(sentence));
    if (!paired.unpaired_a.empty() || !paired.unpaired_b.empty())
        sentences.push_back(fmt::format("Not aligned: {} of A, {} of B", counted(paired.unpaired_a.size(), "product"),
                                        counted(paired.unpaired_b.size(), "product")));
    const std::uint64_t unseen_a = outcome.a.lost + outcome.a.calls_without_fingerprint();
    const std::uint64_t unseen_b = outcome.b.lost + outcome.b.calls_without_fingerprint();
    if (unseen_a + unseen_b > 0)
        sentences.push_back(fmt::format("Not compared, without a fingerprint: {} of A, {} of B{}",
                                        counted(unseen_a, "call"), counted(unseen_b, "call"),
                                        functions_without_fingerprint(outcome)));
    return sentences;
}

std::string commands_to_record_results(const DiffOutcome& outcome) {
    std::string text;
    for (const DiffSide* const side : {&outcome.a, &outcome.b}) {
        if (side->fingerprint_count() > 0 || side->lost > 0 || side->filter_selects_nothing()) continue;
        if (std::ranges::none_of(side->calls.rows(), [](const MergedRow& row) { return row.device == "cpu"; }))
            continue;
        const MergedProcess& first =
            *std::ranges::find_if_not(side->calls.processes(), &MergedProcess::is_children_file);
        const std::string command = command_of(*side);
        const bool is_one = command == first.facts.process.command && command.size() < 1000;
        const std::string name = std::filesystem::path(first.path).stem().string() + "-results.fp32rec";
        text += printable(fmt::format("  fp32shim run --audit fingerprint{} --log {} -- {}",
                                      options_of(first.facts.start), quote_shell_path(name),
                                      is_one ? command : "PROGRAM")) +
                "\n";
    }
    if (text.empty()) return text;
    return "To compare results, record with fingerprints (a command is shown as it was recorded, without quotes):\n" +
           text;
}

}  // namespace fp32shim::cli
