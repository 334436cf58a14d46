// Compares the results of two runs row by row, for `fp32shim diff --by row`. The runs may divide the rows into other
// batches: what is compared are sums of the rows' hashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cli/diff/results.hpp"
#include "cli/output/json_fwd.hpp"

namespace fp32shim::cli {

/// Sums over the rows of a kind in one run, up to the end of a product.
struct RowStep {
    std::uint64_t rows = 0;
    std::uint32_t sum = 0;    ///< of the rows' hashes
    std::size_t product = 0;  ///< index in ResultsOfSide::products
};

/// The rows of a kind in one run.
struct RowsOfSide {
    std::vector<RowStep> steps = {};  ///< by time
    std::size_t next = 0;             ///< index of the step after the last agreement

    std::uint64_t rows() const { return steps.empty() ? 0 : steps.back().rows; }
};

/// Rows that may be compared with each other: they have the same type and length, and their elements are sums of
/// equally many terms.
struct RowKind {
    /// Rows are compared if there are as many in both runs. One kind may come from several places, whose rows
    /// alternate in another way if the batches differ, so only the sums over all of them have to agree.
    enum class Outcome : std::uint8_t { other, not_compared, same };

    SharedText dtype;
    std::int64_t length = 0, terms = 0;
    RowsOfSide a = {}, b = {};
    std::uint64_t same =
        0;  ///< number of rows up to the last agreement: the last point at which both have the same rows
    Outcome outcome = Outcome::not_compared;
};

struct RowComparison {
    std::vector<RowKind> kinds;  ///< those with other rows first, by the time in A at which these begin
    struct LeftOut {
        std::uint64_t without_hashes = 0;  ///< products that were recorded without hashes of rows
        std::uint64_t without_rows = 0;    ///< products of routines whose results have no rows
        std::set<std::string> names{};     ///< functions, sizes and lines of the products without rows
    } left_a, left_b;

    std::uint64_t count(RowKind::Outcome outcome) const;
    bool compares_nothing() const { return count(RowKind::Outcome::not_compared) == kinds.size(); }
    /// Returns true if every product was compared, and all rows have the same bits.
    bool is_equal() const;
};
RowComparison compare_rows(const ResultsOfSide& a, const ResultsOfSide& b);

struct DiffOutcome;
/// Returns the first sentence of a comparison by row, and the remarks that only this comparison has. Precondition,
/// here and below: outcome.rows is set.
std::string row_headline(const DiffOutcome& outcome);
std::vector<std::string> row_remarks(const DiffOutcome& outcome);
/// Returns the first products with other rows, and the table of kinds.
std::string rows_text(const DiffOutcome& outcome, std::size_t top, int stream);
Json rows_json(const DiffOutcome& outcome);

}  // namespace fp32shim::cli
