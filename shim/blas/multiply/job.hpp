// One product of two factors as the loops see it: the result is column-major. A row-major result is the transposed
// product of the transposed factors. `Real` is the type of the numbers, float or double.
#pragma once

#include <algorithm>
#include <cstdint>

#include "shim/level3/operand_view.hpp"

namespace fp32shim::blas {

/// A factor, whose rows are indexed like those of the result (left), or whose columns are like its columns (right).
template <class Real>
struct Side {
    ViewOf<ElementOf<Real>> view;
    bool is_swapped = false;  ///< the indices of `view` change places

    /// Returns the element at an index of the result and an index of the sum.
    ElementOf<Real> at(std::int64_t index, std::int64_t summed) const {
        return is_swapped ? view.at(summed, index) : view.at(index, summed);
    }
};

/// The indices of the sum that an element of the result has: all, or, of a triangular factor, those up to the
/// element's row or column, or from it on.
enum class Summed : std::uint8_t { all, up_to, from };

/// The factor that a triangular product or solve overwrites.
enum class InPlace : std::uint8_t { none, left, right };

template <class Real>
struct Job {
    Side<Real> left;
    Side<Real> right;
    Real* result = nullptr;  ///< element (i, j) is at result + (i + j * ld) * width
    std::int64_t ld = 0;
    int width = 1;  ///< numbers per element
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t depth = 0;
    ElementOf<Real> alpha;
    ElementOf<Real> beta;
    Summed summed = Summed::all;
    bool summed_by_row = false;  ///< up to or from the row; otherwise the column
    Part written = Part::whole;  ///< of the result, seen column-major
    bool has_real_diagonal = false;
    InPlace in_place = InPlace::none;
    bool solves = false;  ///< multiplies by the inverse of the triangular factor (solve.hpp)

    bool writes(std::int64_t row, std::int64_t column) const { return contains(written, row, column); }
    /// Returns those of `rows` that are written in a column.
    IndexRange written_rows(std::int64_t column, IndexRange rows) const {
        if (written == Part::upper) return {rows.begin, std::min(rows.end, column + 1)};
        if (written == Part::lower) return {std::max(rows.begin, column), rows.end};
        return rows;
    }
    /// Returns those of `rows` whose sums begin at an index in `begin`, and have one in `block`.
    IndexRange rows_with_sums(std::int64_t column, IndexRange rows, IndexRange begin, IndexRange block) const {
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
    /// Returns the indices of the sum of one element.
    IndexRange summed_of(std::int64_t row, std::int64_t column) const {
        const std::int64_t index = summed_by_row ? row : column;
        if (summed == Summed::up_to) return {0, std::min(index + 1, depth)};
        return {summed == Summed::from ? index : 0, depth};
    }
};

template <class Real>
Job<Real> job_of(const Level3& product, const FactorsOf<ElementOf<Real>>& factors);

/// Returns the result of a job as a matrix.
template <class Real>
Matrix result_of(const Job<Real>& job);

/// Calls `use` with each job of a product, in order.
template <class Real, class Use>
void for_each_job(const Level3& product, const Use& use) {
    for_each_product_of_factors<ElementOf<Real>>(product,
                                                 [&](const auto& factors) { use(job_of<Real>(product, factors)); });
}

}  // namespace fp32shim::blas
