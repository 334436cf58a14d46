// The outcome of `fp32shim diff`, as text, JSON and a page.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/diff/pairs.hpp"
#include "cli/diff/results.hpp"
#include "cli/diff/summary.hpp"
#include "cli/output/json_fwd.hpp"
#include "cli/recordings/recordings.hpp"

namespace fp32shim::cli {

struct DiffOutcome {
    const ResultsOfSide& a;
    const ResultsOfSide& b;
    const PairedResults& paired;
    const ResultSummary& summary;
    double bound = 0;

    /// Returns true if every product with a fingerprint has a counterpart with the same bits.
    bool is_equal() const {
        return summary.same_bits == paired.pairs.size() && paired.unpaired_a.empty() && paired.unpaired_b.empty() &&
               a.lost == 0 && b.lost == 0;
    }
};

/// Number of lines of the table of growth.
inline constexpr std::size_t growth_steps = 20;

/// Returns an estimated difference in two digits; `inf` if it is infinite.
std::string difference_text(double difference);

/// Returns one sentence: are the results the same, in the same order, at the same precision?
std::string headline(const DiffOutcome& outcome);
/// Returns sentences about what the headline does not cover, and about what was assumed.
std::vector<std::string> remarks(const DiffOutcome& outcome);

/// Returns the text. `top`: rows of the tables of groups; 0: all. `stream`: 1 or 2 for a terminal's width and
/// colours.
std::string diff_text(const DiffOutcome& outcome, std::size_t top, int stream);

/// Returns the JSON that docs/cli/formats.md describes, with at most `most_groups` groups.
Json diff_json(const DiffOutcome& outcome, std::size_t most_groups = SIZE_MAX);
/// Returns the page, which loads nothing else: UTF-8, of bounded size. `problems` are shown as warnings.
/// report/page/results.html has its frame.
std::string results_page(const DiffOutcome& outcome, const std::vector<ReadingProblem>& problems);

/// Returns a pair of products in JSON; null if there is none.
Json product_json(const DiffOutcome& outcome, std::optional<std::size_t> pair);

}  // namespace fp32shim::cli
