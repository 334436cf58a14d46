// Declares what `fp32shim diff` finds in two runs, and the functions that write it as a text, as JSON or as an HTML
// page. The functions that compare are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/diff/results.hpp"
#include "cli/output/json_fwd.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/recordings/row_groups.hpp"

namespace fp32shim::cli {

// --- How often, how long and at which precisions groups of calls ran. No results of the calls are compared, so the
// recordings need no fingerprints (hashes of results).

/// The totals over all calls of one run, or over the calls of one group in a run.
struct CallTotals : CallSum {
    std::map<std::string, std::uint64_t> formats;  ///< number of calls for each format in which calls ran

    CallTotals() = default;
    explicit CallTotals(const MergedCalls& calls);
    void add(const RowGroup& group);
    /// Returns the formats as text, the most frequent format first: `tf32`, or `tf32 90.0%, fp32 10.0%`. Returns an
    /// empty text if there are no calls.
    std::string formats_text() const;
};

/// The calls of both runs that have the same values of the grouping keys.
struct ComparedGroup {
    std::vector<std::string>
        keys;  ///< values of the keys in CallComparison::keys, in the same order; empty where a value is unknown
    CallTotals a, b;

    /// Returns true if both runs have calls in this group, and the formats or their shares of the calls differ
    /// between the runs.
    bool ran_at_other_formats() const;
};

/// A kind of product that most calls of run A computed with another algorithm of cublasLt than most calls of run B.
struct AlgorithmChange {
    const MergedRow* a;  ///< row (recorded decision) of run A that has an algorithm and the most calls
    const MergedRow* b;  ///< row of run B that has an algorithm and the most calls
};
/// Returns a text such as `another algorithm (split-K 4 -> 1)`, or an empty text if the algorithms are the same or
/// one is unknown.
std::string algorithm_change_text(const MergedRow& a, const MergedRow& b);

struct CallComparison {
    std::vector<std::string_view> keys;  ///< names in JSON of the keys by which calls are grouped
    std::vector<ComparedGroup> groups;   ///< first the groups that ran in other formats, then the other groups; the
                                         ///< largest change comes first in both parts
    std::uint64_t groups_at_other_formats = 0;  ///< number of groups that ran in other formats
    std::uint64_t kinds_with_algorithms =
        0;  ///< number of kinds of products for which both runs recorded an algorithm of cublasLt
    std::vector<AlgorithmChange> other_algorithms;
};

/// Compares the calls of two runs. If `grouping` is empty, calls are grouped by source line, scope and function,
/// without the scope if no call has one, and by the calling library instead of the line if no call has a line. If a
/// function of the program makes calls from other lines in one run than in the other, as after an edit, its lines are
/// left out, and its calls form one group. Offsets into compiled code are treated in the same way. `order` names the
/// quantity whose change decides the order of the groups.
CallComparison compare_calls(const DiffSide& a, const DiffSide& b, Grouping grouping, RowOrder order);

// --- Pairs of products: one product of run A, and the product of run B that certainly or most likely did the same
// work

/// Two products of the same kind, one of each run.
struct ResultPair {
    std::size_t a = 0;      ///< index of the product in DiffSide::products of run A
    std::size_t b = 0;      ///< index of the product in DiffSide::products of run B
    double difference = 0;  ///< estimated relative difference of the results; 0 if they have the same bits
    bool same_bits = false;
    std::uint8_t other_operands = operands_unknown;  ///< OperandBits of the operands that differ

    bool has_same_operands() const { return other_operands == 0; }
};

struct PairedResults {
    std::vector<ResultPair> pairs;        ///< sorted by the time of the product in run A
    std::vector<std::size_t> unpaired_a;  ///< products without a counterpart, in the order of DiffSide::products
    std::vector<std::size_t> unpaired_b;
    std::uint64_t elsewhere =
        0;  ///< pairs with equal bits whose products come in another order, or on threads that do not match
    std::uint64_t nearest = 0;   ///< pairs with different bits that were chosen because their results are near
    std::uint64_t doubtful = 0;  ///< pairs with different bits that were chosen only by their order, although that
                                 ///< order may be meaningless
};

/// Pairs the products of two runs. First pairs products with equal bits that correspond to each other in the order of
/// matched threads. Then pairs products of one kind regardless of their order: first those with equal bits, then
/// those with equal operands. The rest is paired in order. If products of a kind come in another order or on several
/// threads, products with near results are paired instead.
PairedResults pair_results(const DiffSide& a, const DiffSide& b, std::vector<ReadingProblem>& problems);

// --- The first differences, and how the differences grow

/// A sequence of consecutive pairs of aligned products.
struct GrowthStep {
    std::size_t first = 0, last = 0;  ///< indices in PairedResults::pairs
    std::uint64_t same_bits = 0;
    double median = 0;        ///< median of the differences
    std::size_t largest = 0;  ///< index of the pair with the largest difference

    std::uint64_t product_count() const { return last - first + 1; }
};

/// Pairs of aligned products with the same location, function and sizes, and with the same precision in each run.
struct ResultGroup {
    std::uint64_t products = 0;
    std::uint64_t other_bits = 0;
    std::size_t first = 0;        ///< index in PairedResults::pairs of the group's first product
    std::size_t first_other = 0;  ///< index in PairedResults::pairs of the group's first product with different bits,
                                  ///< if other_bits is not 0
    std::size_t largest = 0;  ///< index in PairedResults::pairs of the group's product with the largest difference
};

/// Divides the pairs into at most `most` steps of equal length. The last step may be shorter.
std::vector<GrowthStep> difference_growth(const std::vector<ResultPair>& pairs, std::size_t most);

/// Products without a counterpart that have the same location, function and sizes.
struct UnpairedProductGroup {
    std::uint64_t products = 0;
    std::size_t first = 0;  ///< index of the group's first product in DiffSide::products
};
/// Groups the products without a counterpart. The largest group comes first.
std::vector<UnpairedProductGroup> group_unpaired_products(const DiffSide& side,
                                                          const std::vector<std::size_t>& unpaired);

struct ResultSummary {
    std::uint64_t same_bits = 0;
    std::uint64_t other_precision = 0;  ///< number of products that ran at different precisions in A and in B
    std::uint64_t other_precision_other_bits =
        0;  ///< number of products that ran at different precisions and have different bits
    std::set<std::pair<std::string, std::string>> precisions;  ///< pairs of different precisions, in A and in B
    std::uint64_t same_operands = 0;  ///< number of products with different bits from equal operands
    std::uint64_t unknown_operands =
        0;  ///< number of products with different bits for which a run has no hashes of operands
    std::optional<std::size_t>
        first_same_operands;                  ///< index of the first pair with different bits from equal operands
    std::uint64_t beyond = 0;                 ///< number of products whose difference exceeds the bound
    std::optional<std::size_t> first_other;   ///< index of the first pair with different bits
    std::optional<std::size_t> first_beyond;  ///< index of the first pair beyond the bound
    std::optional<std::size_t>
        largest;  ///< index of the pair with the largest difference; absent if all pairs have identical bits
    std::vector<ResultGroup> groups;  ///< sorted by their largest difference, in falling order
};

ResultSummary summarize_results(const DiffSide& a, const DiffSide& b, const std::vector<ResultPair>& pairs,
                                double bound);

// --- The result matrices of two runs row by row, for `--by row`. The runs may divide the rows into different
// batches, because only sums of the rows' hashes are compared.

/// The number of result rows of one kind that a run has computed once a product has ended, and the sum of their
/// hashes.
struct RunningRowSum {
    std::uint64_t rows = 0;
    std::uint32_t sum = 0;    ///< sum of the rows' hashes
    std::size_t product = 0;  ///< index of the product in DiffSide::products
};

/// The rows of a kind in one run.
struct RowSumsOfSide {
    std::vector<RunningRowSum> steps = {};  ///< one step for each product, in the order of time
    std::size_t next = 0;  ///< index of the first step after the last point at which both runs have the same rows

    std::uint64_t row_count() const { return steps.empty() ? 0 : steps.back().rows; }
};

/// A kind of rows that may be compared with each other: they have the same type and length, and their elements are
/// sums of equally many terms.
struct RowKind {
    /// `not_compared` means that the runs have different numbers of these rows. For `same`, only the sums over all
    /// rows have to agree, because rows from several source lines may come in another order if the batches differ.
    enum class Outcome : std::uint8_t { other, not_compared, same };

    SharedText dtype;
    std::int64_t length = 0, terms = 0;
    RowSumsOfSide a = {}, b = {};
    std::uint64_t same = 0;  ///< number of rows up to the last point at which both runs have the same rows
    Outcome outcome = Outcome::not_compared;
};

struct RowComparison {
    std::vector<RowKind>
        kinds;  ///< first the kinds with different rows, sorted by the time in A of the first such row
    struct LeftOutProducts {
        std::uint64_t without_hashes = 0;  ///< number of products that were recorded without hashes of rows
        std::uint64_t without_rows = 0;    ///< number of products of routines whose results have no rows
        std::set<std::string> names{};     ///< functions, sizes and source lines of the products without rows
    } left_a, left_b;

    std::uint64_t count_kinds(RowKind::Outcome outcome) const;
    bool compares_nothing() const { return count_kinds(RowKind::Outcome::not_compared) == kinds.size(); }
    /// Returns true if every product was compared, and all rows have the same bits.
    bool has_equal_results() const;
};
RowComparison compare_rows(const DiffSide& a, const DiffSide& b);

// --- The outcome

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

/// Returns the first sentence of a comparison by row. `outcome.rows` must be set for this and the next three
/// functions.
std::string row_headline(const DiffOutcome& outcome);
std::vector<std::string> row_remarks(const DiffOutcome& outcome);
/// Returns a text about the first products with different rows, and the table of kinds.
std::string rows_text(const DiffOutcome& outcome, std::size_t top, int stream);
Json rows_json(const DiffOutcome& outcome);

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
