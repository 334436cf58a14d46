// Writes the outcome of `fp32shim diff` as text, as JSON and as a page.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/diff/changes.hpp"
#include "cli/diff/pairs.hpp"
#include "cli/diff/results.hpp"
#include "cli/diff/rows.hpp"
#include "cli/diff/summary.hpp"
#include "cli/output/json_fwd.hpp"
#include "cli/recordings/recordings.hpp"

namespace fp32shim::cli {

struct DiffOutcome {
    const DiffSide& a;
    const DiffSide& b;
    const PairedResults& paired;
    const ResultSummary& summary;
    const CallComparison& changes;
    double bound = 0;
    const RowComparison* rows =
        nullptr;  ///< comparison of `--by row`, which makes no pairs of products; null without the option

    /// Returns true if both runs have fingerprints.
    bool both_have_fingerprints() const { return a.fingerprint_count() > 0 && b.fingerprint_count() > 0; }

    /// Returns true if every product with a fingerprint has a counterpart with identical bits (by row: if all rows
    /// have), and no fingerprint was lost.
    bool has_equal_results() const {
        if (rows != nullptr) return rows->has_equal_results() && a.lost == 0 && b.lost == 0;
        return summary.same_bits == paired.pairs.size() && paired.unpaired_a.empty() && paired.unpaired_b.empty() &&
               a.lost == 0 && b.lost == 0;
    }
};

/// Maximum number of lines in the table of growth.
inline constexpr std::size_t growth_steps = 20;

/// Returns an estimated difference with two digits, or `inf`.
std::string difference_text(double difference);

/// Returns the first sentence of the outcome: whether results are the same, in the same order and at the same
/// precision, or why none were compared.
std::string headline(const DiffOutcome& outcome);
/// Returns sentences about what the headline does not cover, and about what was assumed.
std::vector<std::string> remarks(const DiffOutcome& outcome);
/// Returns, under a heading, a command for each run without fingerprints that would record it with them; empty if
/// there is none to show.
std::string commands_to_record_results(const DiffOutcome& outcome);
/// Returns the commands of a run's processes: `python3 train.py`.
std::string command_of(const DiffSide& side);

/// Returns the text. `top` is the number of rows in each table of groups; 0: all. `stream`, 1 or 2, decides about
/// width and colours.
std::string diff_text(const DiffOutcome& outcome, std::size_t top, int stream);

/// Returns the JSON that docs/schema.md describes.
Json diff_json(const DiffOutcome& outcome);
/// Returns the tables of the text as JSON, each with at most `most` groups, and the texts about notable products.
Json page_tables_json(const DiffOutcome& outcome, std::size_t most);
/// Returns a page that loads nothing else, in UTF-8 and of limited size. `problems` are shown as warnings. The frame
/// of the page is report/page/diff.html.
std::string diff_html_page(const DiffOutcome& outcome, const std::vector<ReadingProblem>& problems);

/// Returns one line of text about a product of one run: its number, function, sizes, place, format and provider.
std::string product_line(const DiffSide& side, std::size_t product);
/// Returns a product of one run as JSON: its number, thread, function, place, provider, format and algorithm.
Json product_json(const DiffSide& side, std::size_t product);
/// Returns a pair of products as JSON; null if there is none.
Json pair_json(const DiffOutcome& outcome, std::optional<std::size_t> pair);

}  // namespace fp32shim::cli
