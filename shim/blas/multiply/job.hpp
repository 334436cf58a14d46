// One product of two factors (a job), in the form that the loops compute. The result is always column-major: a
// row-major result is computed as the transposed product of the transposed factors. `Real` is the type of the
// numbers, float or double.
#pragma once

#include <algorithm>
#include <cstdint>

#include "shim/blas/emulate/scratch.hpp"
#include "shim/blas/multiply/threads.hpp"
#include "shim/blas/multiply/tile.hpp"
#include "shim/level3/operand_view.hpp"

namespace fp32shim::blas {

/// A factor of a job. An index of the result is a row of the left factor, or a column of the right factor.
template <class Real>
struct JobFactor {
    OperandView<Element<Real>> view;
    bool is_swapped = false;  ///< true if the index of the sum is the row of `view`

    /// Returns the element at the index `index` of the result and the index `summed` of the sum.
    Element<Real> at(std::int64_t index, std::int64_t summed) const {
        return is_swapped ? view.at(summed, index) : view.at(index, summed);
    }
};

/// The range of indices over which an element of the result is summed. If a factor is triangular, this range ends at
/// the element's row or column (`up_to`), or begins there (`from`).
enum class Summed : std::uint8_t { all, up_to, from };

/// The factor, if any, that a triangular product or solve overwrites.
enum class InPlace : std::uint8_t { none, left, right };

/// One product of two factors with a column-major result, and the part of the result that is to be computed.
template <class Real>
struct MultiplyJob {
    JobFactor<Real> left;
    JobFactor<Real> right;
    Real* result = nullptr;  ///< element (i, j) is at result + (i + j * ld) * width
    std::int64_t ld = 0;
    int width = 1;  ///< how many numbers an element has: 1, or 2 if it is complex
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t depth = 0;
    Element<Real> alpha;
    Element<Real> beta;
    Summed summed = Summed::all;
    bool summed_by_row = false;  ///< true: `summed` is about the element's row; false: about its column
    Part written = Part::whole;  ///< the part of the column-major result that is written
    bool has_real_diagonal = false;
    InPlace in_place = InPlace::none;
    bool solves = false;  ///< true if the job multiplies by the inverse of the triangular factor (solve.hpp)

    Matrix result_matrix() const {
        constexpr bool is_double = sizeof(Real) == sizeof(double);
        return {reinterpret_cast<float*>(result), rows,       columns,  ld, false,
                width * (is_double ? 2 : 1),      width == 2, is_double};
    }
    bool writes(std::int64_t row, std::int64_t column) const { return contains(written, row, column); }
    /// Returns the part of `rows` that is written in column `column`.
    IndexRange written_rows(std::int64_t column, IndexRange rows) const {
        if (written == Part::upper) return {rows.begin, std::min(rows.end, column + 1)};
        if (written == Part::lower) return {std::max(rows.begin, column), rows.end};
        return rows;
    }
    /// Returns the part of `rows` whose sums, in column `column`, begin at an index in `begin` and include an index
    /// in `block`.
    IndexRange rows_summed_in_block(std::int64_t column, IndexRange rows, IndexRange begin, IndexRange block) const {
        const auto contains = [](IndexRange range, std::int64_t index) {
            return range.begin <= index && index < range.end;
        };
        constexpr IndexRange none{0, 0};
        if (summed_by_row && summed == Summed::from)
            return {std::max(rows.begin, begin.begin), std::min({rows.end, begin.end, block.end})};
        if (!contains(begin, summed == Summed::from ? column : 0)) return none;
        if (summed_by_row) return {std::max(rows.begin, block.begin), rows.end};
        const bool has_one =
            summed == Summed::all || (summed == Summed::up_to ? column >= block.begin : column < block.end);
        return has_one ? rows : none;
    }
    /// Returns the range of indices over which one element is summed.
    IndexRange summed_range(std::int64_t row, std::int64_t column) const {
        const std::int64_t index = summed_by_row ? row : column;
        if (summed == Summed::up_to) return {0, std::min(index + 1, depth)};
        return {summed == Summed::from ? index : 0, depth};
    }
};

/// Returns the job that computes the product of `factors`, which are two factors of `product`.
template <class Real>
MultiplyJob<Real> job_of(const Level3& product, const TwoFactorProduct<Element<Real>>& factors);

/// Computes a job on at most `threads.count` threads, including the calling thread. Returns false, and changes
/// nothing, if there is no memory.
template <class Real>
bool run_job(const MultiplyJob<Real>& job, const TileLoops<Real>& loops, ThreadLimit threads,
             ProductScratch& scratch);

/// Calls `use` with each job of a product, in the order in which the jobs must run.
template <class Real, class Use>
void for_each_job(const Level3& product, const Use& use) {
    for_each_two_factor_product<Element<Real>>(product,
                                               [&](const auto& factors) { use(job_of<Real>(product, factors)); });
}

}  // namespace fp32shim::blas
