// Compares the result matrices of two runs row by row, for `fp32shim diff --by row`. The runs may divide the rows
// into different batches, because only sums of the rows' hashes are compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cli/diff/results.hpp"
#include "cli/output/json_fwd.hpp"

namespace fp32shim::cli {

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

struct DiffOutcome;
/// Returns the first sentence of a comparison by row. `outcome.rows` must be set for this and all following
/// functions.
std::string row_headline(const DiffOutcome& outcome);
std::vector<std::string> row_remarks(const DiffOutcome& outcome);
/// Returns a text about the first products with different rows, and the table of kinds.
std::string rows_text(const DiffOutcome& outcome, std::size_t top, int stream);
Json rows_json(const DiffOutcome& outcome);

}  // namespace fp32shim::cli
