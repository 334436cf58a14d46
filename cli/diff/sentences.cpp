// The sentences with which the outcome of `fp32shim diff` begins.
#include <fmt/format.h>

#include <utility>

#include "cli/diff/outcome.hpp"
#include "cli/output/terminal.hpp"

namespace fp32shim::cli {
namespace {

std::string share(std::uint64_t part, std::uint64_t all) {
    return fmt::format("{} of {}", count_text(part), counted(all, "product"));
}

/// Returns ` (fp32 -> tf32)`, if all changes of precision are this one.
std::string precisions_text(const ResultSummary& summary) {
    if (summary.precisions.size() != 1) return {};
    const auto& [a, b] = *summary.precisions.begin();
    return fmt::format(" ({} -> {})", a, b);
}

/// Returns the sentence for results that differ.
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

/// Returns how many products with other results read the same.
std::string operands_sentence(const DiffOutcome& outcome) {
    const ResultSummary& summary = outcome.summary;
    const std::uint64_t all = outcome.paired.pairs.size() - summary.same_bits, unknown = summary.unknown_operands;
    if (unknown == all) return "not recorded on both sides";
    std::string text =
        fmt::format("{} with other results read the same bits on both sides, {} did not",
                    share(summary.same_operands, all), count_text(all - unknown - summary.same_operands));
    if (unknown > 0) text += fmt::format("; of {} it is not recorded on both sides", count_text(unknown));
    return text;
}

/// Returns which runs have no fingerprints among the selected calls. Precondition: at least one has none.
std::string no_results_sentence(const DiffOutcome& outcome) {
    std::string lacking, unselected;
    for (const auto& [name, side] : {std::pair("A", &outcome.a), std::pair("B", &outcome.b)}) {
        if (side->fingerprints() > 0) continue;
        std::string& names = side->selects_nothing() ? unselected : lacking;
        names += names.empty() ? name : fmt::format(" and {}", name);
    }
    std::string text = "Results were not compared, because ";
    if (!unselected.empty()) text += fmt::format("no call of {} is selected", unselected);
    if (lacking.empty()) return text;
    return text + fmt::format("{}{} no fingerprints", unselected.empty() ? "" : ", and ",
                              lacking + (lacking.size() > 1 ? " have" : " has"));
}

/// Returns the differences of the environments.
std::string environment_sentence(const DiffOutcome& outcome) {
    const Environment &a = outcome.a.environment, &b = outcome.b.environment;
    if (a.is_empty() || b.is_empty())
        return fmt::format("not recorded in {}", !b.is_empty() ? "A" : !a.is_empty() ? "B" : "A and B");
    const std::string difference = environment_difference(a, b);
    return difference.empty() ? "no difference is recorded" : difference;
}

}  // namespace

std::string headline(const DiffOutcome& outcome) {
    const ResultSummary& summary = outcome.summary;
    const std::uint64_t all = outcome.paired.pairs.size();
    if (!outcome.has_results()) return no_results_sentence(outcome);
    if (outcome.rows != nullptr) return row_headline(outcome);
    if (all == 0) return "Nothing was compared: no product of A has a counterpart in B";
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
    if (!outcome.a.calls.filter()->is_empty())
        sentences.push_back("Filter: only the calls that the options select are compared");
    const PairedResults& paired = outcome.paired;
    const bool differs = outcome.summary.same_bits < paired.pairs.size();
    if (differs) sentences.push_back("Operands: " + operands_sentence(outcome));
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
    if (!outcome.has_results()) return sentences;
    if (outcome.rows != nullptr)
        for (std::string& sentence : row_remarks(outcome)) sentences.push_back(std::move(sentence));
    if (!paired.unpaired_a.empty() || !paired.unpaired_b.empty())
        sentences.push_back(fmt::format("Not aligned: {} of A, {} of B", counted(paired.unpaired_a.size(), "product"),
                                        counted(paired.unpaired_b.size(), "product")));
    const std::uint64_t unseen_a = outcome.a.lost + outcome.a.without_fingerprint();
    const std::uint64_t unseen_b = outcome.b.lost + outcome.b.without_fingerprint();
    if (unseen_a + unseen_b > 0)
        sentences.push_back(fmt::format("Not compared, without a fingerprint: {} of A, {} of B",
                                        counted(unseen_a, "call"), counted(unseen_b, "call")));
    return sentences;
}

}  // namespace fp32shim::cli
