// Compares the results of two runs row by row, for `fp32shim diff --by row`. The runs may divide the rows into other
// batches: what is compared are the sums of the rows' hashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/diff/results.hpp"
#include "cli/output/json_fwd.hpp"

namespace fp32shim::cli {

/// Sums over the rows of a kind in one run, up to the end of a product.
struct RowStep {
    std::uint64_t rows = 0;
    std::uint32_t sum = 0;    ///< sum of the rows' hashes
    std::size_t product = 0;  ///< index in ResultsOfSide::products
};

/// Rows that may be compared with each other: of one type and length, of sums with as many terms.
struct RowKind {
    SharedText dtype;
    std::int64_t length = 0, terms = 0;
    std::vector<RowStep> a = {}, b = {};  ///< by time
    std::uint64_t same = 0;  ///< number of rows up to the last point at which both runs have the same rows
    std::size_t next_a = 0, next_b = 0;  ///< indices of the steps after that point

    std::uint64_t rows_a() const { return a.empty() ? 0 : a.back().rows; }
    std::uint64_t rows_b() const { return b.empty() ? 0 : b.back().rows; }
    enum class Outcome : std::uint8_t { other, not_compared, same };
    /// Rows are compared only if there are as many in both runs: one kind may come from several places, whose rows
    /// take turns in another way if the batches are others, so only the sums over all of them have to agree.
    Outcome outcome() const {
        if (rows_a() != rows_b()) return Outcome::not_compared;
        return same == rows_a() ? Outcome::same : Outcome::other;
    }
};

struct RowComparison {
    std::vector<RowKind> kinds;  ///< those with other rows first, by the time in A at which these begin
    struct Left {
        std::uint64_t unknown = 0;  ///< products whose recording has no hashes of rows
        std::uint64_t no_rows = 0;  ///< products of routines whose results have no rows
    } left_a, left_b;

    std::uint64_t count(RowKind::Outcome outcome) const;
    std::uint64_t compared() const { return kinds.size() - count(RowKind::Outcome::not_compared); }
    /// Returns true if every product was compared, and all rows have the same bits.
    bool is_equal() const {
        return count(RowKind::Outcome::same) == kinds.size() &&
               left_a.unknown + left_a.no_rows + left_b.unknown + left_b.no_rows == 0;
    }
};

RowComparison compare_rows(const ResultsOfSide& a, const ResultsOfSide& b);

struct DiffOutcome;
/// Returns the first sentence of a comparison by row, and the remarks that only this comparison has. Precondition,
/// here and below: outcome.rows is set.
std::string row_headline(const DiffOutcome& outcome);
std::vector<std::string> row_remarks(const DiffOutcome& outcome);
/// Returns the first product with other rows, and the table of kinds.
std::string rows_text(const DiffOutcome& outcome, std::size_t top, int stream);
Json rows_json(const DiffOutcome& outcome);

}  // namespace fp32shim::cli
