// Writes the outcome of `fp32shim diff` as a text, as JSON or as an HTML page.
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
    const RowComparison* rows = nullptr;  ///< comparison by rows of the results, which `--by row` makes instead of
                                          ///< one by pairs of products; null without this option

    /// Returns true if both runs have fingerprints.
    bool both_have_fingerprints() const { return a.fingerprint_count() > 0 && b.fingerprint_count() > 0; }

    /// Returns true if every product with a fingerprint has a counterpart with identical bits, and no fingerprint was
    /// lost. With `--by row`, returns true if all rows of the results have equal bits, and no fingerprint was lost.
    bool has_equal_results() const {
        if (rows != nullptr) return rows->has_equal_results() && a.lost == 0 && b.lost == 0;
        return summary.same_bits == paired.pairs.size() && paired.unpaired_a.empty() && paired.unpaired_b.empty() &&
               a.lost == 0 && b.lost == 0;
    }
};

/// The maximum number of lines in the table that shows how differences grow.
inline constexpr std::size_t growth_steps = 20;

/// Returns an estimated relative difference with two digits, or `inf`.
std::string difference_text(double difference);

/// Returns the first sentence of the outcome. It says whether the results are the same, in the same order and at the
/// same precision, or why no results were compared.
std::string headline(const DiffOutcome& outcome);
/// Returns sentences about facts that the headline does not cover, and about assumptions of the comparison.
std::vector<std::string> remarks(const DiffOutcome& outcome);
/// Returns a heading and, for each run without fingerprints, a command that would record the run with fingerprints.
/// Returns an empty text if there is no such command.
std::string commands_to_record_results(const DiffOutcome& outcome);
/// Returns the commands of a run's processes, such as `python3 train.py`.
std::string command_of(const DiffSide& side);

/// Returns the outcome as a text. `top` is the largest number of rows in each table of groups, or 0 for all rows. The
/// terminal on `stream`, which is 1 or 2, determines the width and the colours.
std::string diff_text(const DiffOutcome& outcome, std::size_t top, int stream);

/// Returns the outcome as the JSON that docs/schema.md describes.
Json diff_json(const DiffOutcome& outcome);
/// Returns the tables of the text as JSON, each with at most `most` groups, and texts about noteworthy products.
Json page_tables_json(const DiffOutcome& outcome, std::size_t most);
/// Returns an HTML page in UTF-8, of limited size, that loads no other files. `problems` are shown as warnings. The
/// frame of the page is report/page/diff.html.
std::string diff_html_page(const DiffOutcome& outcome, const std::vector<ReadingProblem>& problems);

/// Returns one line of text about one product of one run: its number, function, sizes, source line, format and
/// library.
std::string product_line(const DiffSide& side, std::size_t product);
/// Returns one product of one run as JSON: its number, thread, function, source line, library, format and algorithm.
Json product_json(const DiffSide& side, std::size_t product);
/// Returns the pair of products with index `pair` as JSON, or null if `pair` is empty.
Json pair_json(const DiffOutcome& outcome, std::optional<std::size_t> pair);

}  // namespace fp32shim::cli
