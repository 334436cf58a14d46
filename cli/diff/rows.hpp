// Compares the results of two runs row by row, for `fp32shim diff --by row`. The runs may divide the rows into other
// batches: what is compared are sums sum of the rows' hashes.
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
struct RunningRowSum {
    std::uint64_t rows = 0;
    std::uint32_t sum = 0;    ///< of the rows' hashes
    std::size_t product = 0;  ///< index in DiffSide::products
};

/// The rows of a kind in one run.
struct RowSumsOfSide {
    std::vector<RunningRowSum> steps = {};  ///< in the order of time
    std::size_t next = 0;                   ///< index of the step after the last agreement

    std::uint64_t row_count() const { return steps.empty() ? 0 : steps.back().rows; }
};

/// Rows that may be compared with each other: they have the same type and length, and their elements are sums of
/// equally many terms.
struct RowKind {
    /// Rows are compared if there are as many in both runs. One kind may come from several places, whose rows
    /// alternate in another way if the batches differ, so only the sums over all of them have to agree.
    enum class Outcome : std::uint8_t { other, not_compared, same };

    SharedText dtype;
    std::int64_t length = 0, terms = 0;
    RowSumsOfSide a = {}, b = {};
    std::uint64_t same =
        0;  ///< number of rows up to the last agreement: the last point at which both have the same rows
    Outcome outcome = Outcome::not_compared;
};

struct RowComparison {
    std::vector<RowKind> kinds;  ///< kinds with other rows first, by the time in A at which these rows begin
    struct LeftOutProducts {
        std::uint64_t without_hashes = 0;  ///< products that were recorded without hashes of rows
        std::uint64_t without_rows = 0;    ///< products of routines whose results have no rows
        std::set<std::string> names{};     ///< functions, sizes and lines of the products without rows
    } left_a, left_b;

    std::uint64_t count_kinds(RowKind::Outcome outcome) const;
    bool compares_nothing() const { return count_kinds(RowKind::Outcome::not_compared) == kinds.size(); }
    /// Returns true if every product was compared, and all rows have the same bits.
    bool has_equal_results() const;
};
RowComparison compare_rows(const DiffSide& a, const DiffSide& b);

struct DiffOutcome;
/// Returns the first sentence of a comparison by row, and the remarks that only this comparison has. Precondition,
/// here and below: outcome.rows is set.
std::string row_headline(const DiffOutcome& outcome);
std::vector<std::string> row_remarks(const DiffOutcome& outcome);
/// Returns the first products with other rows, and the table of kinds.
std::string rows_text(const DiffOutcome& outcome, std::size_t top, int stream);
Json rows_json(const DiffOutcome& outcome);

}  // namespace fp32shim::cli
