// Computes a rectangle of the result of a job, tile by tile, from packed copies of the factors.
#pragma once

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "shim/blas/multiply/job.hpp"
#include "shim/blas/multiply/pack.hpp"
#include "shim/blas/multiply/parallel_for.hpp"
#include "shim/blas/multiply/tile.hpp"
#include "shim/level3/finite.hpp"

namespace fp32shim::blas {

/// Sets the elements of the result in `rows` of one column to alpha sum + beta element. `re` and `im` are the sums;
/// `im` is not read for real elements.
template <class Real>
void add_to_rows(const MultiplyJob<Real>& job, const TileLoops<Real>& loops, IndexRange rows, std::int64_t column,
                 const Real* re, const Real* im, Element<Real> alpha, Element<Real> beta) {
    Real* const to = job.result + (rows.begin + column * job.ld) * job.width;
    const bool meets_diagonal = job.has_real_diagonal && rows.begin <= column && column < rows.end;
    Real* const imaginary_diagonal = meets_diagonal ? to + (column - rows.begin) * 2 + 1 : nullptr;
    if (meets_diagonal) *imaginary_diagonal = 0;
    loops.add_column(re, job.width == 2 ? im : nullptr, to, static_cast<int>(rows.end - rows.begin),
                     {alpha.re, alpha.im}, {beta.re, beta.im});
    if (meets_diagonal) *imaginary_diagonal = 0;
}

/// Computes a rectangle of the result of one job, tile by tile.
template <class Real>
class ResultRectangle {
  public:
    /// `memory` has numbers_needed() numbers. The work ends early if `was_abandoned` becomes true (see
    /// parallel_for()).
    ResultRectangle(const MultiplyJob<Real>& job, const TileLoops<Real>& loops,
                    const std::atomic<bool>& was_abandoned, Real* memory)
        : job_(job),
          loops_(loops),
          was_abandoned_(was_abandoned),
          left_panels_(memory),
          right_panels_(memory + left_numbers(job, loops)),
          unconverted_(right_panels_ + right_numbers(job, loops)) {}

    /// Returns the size of the constructor's `memory` in numbers.
    static std::int64_t numbers_needed(const MultiplyJob<Real>& job, const TileLoops<Real>& loops) {
        const std::int64_t one_panel = std::max(loops.rows, loops.columns) * real_depth_at_once(job, loops);
        return left_numbers(job, loops) + right_numbers(job, loops) + (loops.converts_to_bf16() ? one_panel : 0);
    }

    /// Computes a rectangle. `columns` are real columns; each complex column counts as two.
    void compute(IndexRange rows, IndexRange columns) {
        if (compute_unpacked(rows, columns)) return;
        const std::int64_t step = loops_.summed_at_once / job_.width;
        if (loops_.begin != nullptr) loops_.begin();
        for (std::int64_t j = columns.begin; j < columns.end; j += columns_at_once<Real>) {
            columns_ = {j, std::min(j + columns_at_once<Real>, columns.end)};
            for (std::int64_t k = 0; k < job_.depth && !was_abandoned_.load(std::memory_order_relaxed); k += step) {
                block_ = {k, std::min(k + step, job_.depth)};
                compute_block(rows);
            }
        }
        if (loops_.end != nullptr) loops_.end();
    }

  private:
    /// Computes a result of few rows without packed copies, which would cost more time than they save. Returns false,
    /// and computes nothing, if the result has more rows, or if the loops cannot read a factor as it is stored.
    bool compute_unpacked(IndexRange rows, IndexRange columns) const {
        const UnpackedLoop<Real>& unpacked = loops_.unpacked;
        if (rows.count() > unpacked.rows || job_.summed != Summed::all || job_.written != Part::whole) return false;
        const StridedFactor<Real> left = strided_real_factor(job_, false);
        const StridedFactor<Real> right = strided_real_factor(job_, true);
        if (left.index_stride != 1 || right.data == nullptr) return false;
        for (std::int64_t j = columns.begin; j < columns.end; j += unpacked.columns)
            for (std::int64_t k = 0; k < job_.depth && !was_abandoned_.load(std::memory_order_relaxed);
                 k += summed_at_once)
                unpacked.add_to_result({left.at(rows.begin, k), left.summed_stride, right.at(j, k),
                                        right.index_stride, right.summed_stride},
                                       std::min(summed_at_once, job_.depth - k),
                                       {at(rows.begin, j), job_.ld, static_cast<int>(rows.count()),
                                        static_cast<int>(std::min<std::int64_t>(unpacked.columns, columns.end - j)),
                                        job_.alpha.re, k == 0 ? job_.beta.re : Real{1}});
        return true;
    }

    static std::int64_t real_depth_at_once(const MultiplyJob<Real>& job, const TileLoops<Real>& loops) {
        return round_up(std::min(job.depth * job.width, loops.summed_at_once), loops.summed_unit);
    }
    static std::int64_t left_numbers(const MultiplyJob<Real>& job, const TileLoops<Real>& loops) {
        return round_up(std::min(job.rows, rows_at_once<Real>), loops.rows) * real_depth_at_once(job, loops);
    }
    static std::int64_t right_numbers(const MultiplyJob<Real>& job, const TileLoops<Real>& loops) {
        return round_up(std::min(job.columns * job.width, columns_at_once<Real>), loops.columns) *
               real_depth_at_once(job, loops);
    }

    void pack_rows_of_left_factor(IndexRange rows) {
        if (!loops_.converts_to_bf16()) return pack_panels(job_, false, rows, block_, loops_.rows, left_panels_);
        for (std::int64_t row = rows.begin; row < rows.end; row += loops_.rows) {
            pack_panels(job_, false, {row, std::min(row + loops_.rows, rows.end)}, block_, loops_.rows, unconverted_);
            loops_.convert_left(unconverted_, block_depth(), left_panels_ + (row - rows.begin) * panel_depth());
        }
    }
    void pack_columns_of_right_factor() {
        if (!loops_.converts_to_bf16())
            return pack_panels(job_, true, columns_, block_, loops_.columns, right_panels_);
        for (std::int64_t column = columns_.begin; column < columns_.end; column += loops_.columns) {
            const auto present = static_cast<int>(std::min<std::int64_t>(loops_.columns, columns_.end - column));
            Real* const to = right_panels_ + (column - columns_.begin) * panel_depth();
            if constexpr (std::is_same_v<Real, float>) {
                const StridedFactor<Real> stored = strided_real_factor(job_, true);
                if (stored.summed_stride == 1 && loops_.convert_stored_right != nullptr) {
                    loops_.convert_stored_right(stored.at(column, block_.begin), stored.index_stride, present,
                                                block_depth(), to);
                    continue;
                }
            }
            pack_panels(job_, true, {column, column + present}, block_, loops_.columns, unconverted_);
            loops_.convert_right(unconverted_, block_depth(), to);
        }
    }

    void compute_block(IndexRange rows) {
        pack_columns_of_right_factor();
        if (job_.summed_by_row)
            zero_adds_nothing_ = are_finite(right_panels_, round_up(columns_.end - columns_.begin, loops_.columns));
        for (std::int64_t i = rows.begin; i < rows.end; i += rows_at_once<Real>) {
            const IndexRange packed{i, std::min(i + rows_at_once<Real>, rows.end)};
            pack_rows_of_left_factor(packed);
            if (!job_.summed_by_row)
                zero_adds_nothing_ = are_finite(left_panels_, round_up(packed.end - i, loops_.rows));
            for (std::int64_t column = columns_.begin; column < columns_.end; column += loops_.columns)
                for (std::int64_t row = packed.begin; row < packed.end; row += loops_.rows)
                    compute_tile({row, std::min(row + loops_.rows, packed.end)},
                                 {column, std::min(column + loops_.columns, columns_.end)},
                                 left_panels_ + (row - packed.begin) * panel_depth(),
                                 right_panels_ + (column - columns_.begin) * panel_depth());
        }
    }

    bool are_finite(const Real* panels, std::int64_t width) const {
        constexpr int floats = std::is_same_v<Real, double> ? 2 : 1;
        return job_.summed == Summed::all ||
               all_finite(reinterpret_cast<const float*>(panels),
                          static_cast<std::size_t>(width * block_depth() * floats), floats == 2);
    }

    /// Returns the number of real indices of the sum in the current block.
    std::int64_t block_depth() const { return (block_.end - block_.begin) * job_.width; }
    /// Returns how many numbers a panel has for one row or column; two BF16 numbers count as one.
    std::int64_t panel_depth() const {
        return loops_.converts_to_bf16() ? round_up(block_depth(), loops_.summed_unit) / 2 : block_depth();
    }
    std::int64_t element_column(std::int64_t real_column) const { return real_column / job_.width; }

    IndexRange clipped_to_block(IndexRange range) const {
        return {std::clamp(range.begin, block_.begin, block_.end), std::clamp(range.end, block_.begin, block_.end)};
    }

    void compute_tile(IndexRange rows, IndexRange columns, const Real* left, const Real* right) {
        const std::int64_t first_column = element_column(columns.begin);
        const std::int64_t last_column = element_column(columns.end - 1);
        if (!job_.writes(rows.begin, last_column) && !job_.writes(rows.end - 1, first_column)) return;
        // The elements in opposite corners of a tile have the shortest and the longest sum.
        const IndexRange first = clipped_to_block(job_.summed_range(rows.begin, first_column));
        const IndexRange last = clipped_to_block(job_.summed_range(rows.end - 1, last_column));
        const IndexRange any{std::min(first.begin, last.begin), std::max(first.end, last.end)};
        if (any.begin >= any.end) return;
        // Only whole parts of summed_in_chain terms are skipped, since parts begin at the same terms in all tiles.
        const std::int64_t skipped = (any.begin - block_.begin) * job_.width / summed_in_chain * summed_in_chain;
        const std::int64_t depth = (any.end - block_.begin) * job_.width - skipped;
        const bool is_uniform = can_be_added_at_once(rows, columns);
        const ResultTile<Real> result{at(rows.begin, columns.begin),
                                      job_.ld,
                                      static_cast<int>(rows.end - rows.begin),
                                      static_cast<int>(columns.end - columns.begin),
                                      job_.alpha.re,
                                      begins_in_block(rows.begin, first_column) ? job_.beta.re : Real{1}};
        if (is_uniform && first.count() == block_.count() && last.count() == block_.count())
            return loops_.add_to_result(left, right, depth, result);
        alignas(64) Real tile[max_tile_numbers<Real>];
        if (zero_adds_nothing_)
            loops_.sum(left + skipped * loops_.rows, right + skipped * loops_.columns, depth, tile);
        else
            sum_one_by_one(tile, rows, columns, left, right);
        if (job_.summed != Summed::all) make_zeros_positive(tile, rows, columns);
        is_uniform ? loops_.add_sums(tile, result) : write_columns(tile, rows, columns);
    }

    /// Sums up each element by itself, without the zeros beside a triangle. This is needed if the other factor has
    /// infinity or NaN, since zero times infinity or NaN is NaN.
    void sum_one_by_one(Real* tile, IndexRange rows, IndexRange columns, const Real* left, const Real* right) const {
        std::fill_n(tile, loops_.rows * loops_.columns, Real{0});
        for (std::int64_t j = columns.begin; j < columns.end; ++j)
            for (std::int64_t i = rows.begin; i < rows.end; ++i) {
                const IndexRange own = clipped_to_block(job_.summed_range(i, element_column(j)));
                Real& sum = tile[(j - columns.begin) * loops_.rows + (i - rows.begin)];
                const std::int64_t end = (own.end - block_.begin) * job_.width;
                for (std::int64_t p = (own.begin - block_.begin) * job_.width; p < end;) {
                    Real of_part = 0;
                    do {
                        of_part = fused_multiply_add_plain(left[p * loops_.rows + (i - rows.begin)],
                                                           right[p * loops_.columns + (j - columns.begin)], of_part);
                    } while (++p < end && p % summed_in_chain != 0);
                    sum = sum + of_part;
                }
            }
    }

    /// Replaces -0 by 0 in the sums that lack terms of the block. The zeros of a triangle, whether added or left out,
    /// may have turned -0 into 0, or 0 into -0 if sums are rounded down.
    void make_zeros_positive(Real* tile, IndexRange rows, IndexRange columns) const {
        if (!has_whole_block(rows.begin, element_column(columns.begin)) &&
            !has_whole_block(rows.end - 1, element_column(columns.end - 1))) {
            for (int i = 0; i < loops_.rows * loops_.columns; ++i) tile[i] = tile[i] == 0 ? Real{0} : tile[i];
            return;
        }
        for (std::int64_t j = columns.begin; j < columns.end; ++j)
            for (std::int64_t i = rows.begin; i < rows.end; ++i) {
                Real& sum = tile[(j - columns.begin) * loops_.rows + (i - rows.begin)];
                if (sum == 0 && !has_whole_block(i, element_column(j))) sum = 0;
            }
    }

    bool has_whole_block(std::int64_t row, std::int64_t column) const {
        return clipped_to_block(job_.summed_range(row, column)).count() == block_.count();
    }
    /// Returns true if the first term of an element is in the current block.
    bool begins_in_block(std::int64_t row, std::int64_t column) const {
        return job_.summed_range(row, column).begin >= block_.begin;
    }

    /// Returns true if all elements of a tile are real and written, have terms in the current block, and either all
    /// begin in it or all begin before it. Checking the elements in opposite corners is enough.
    bool can_be_added_at_once(IndexRange rows, IndexRange columns) const {
        const auto has_terms = [&](std::int64_t row, std::int64_t column) {
            return clipped_to_block(job_.summed_range(row, column)).count() > 0;
        };
        return job_.width == 1 && job_.writes(rows.begin, columns.end - 1) &&
               job_.writes(rows.end - 1, columns.begin) &&
               (job_.summed == Summed::all ||
                (has_terms(rows.begin, columns.begin) && has_terms(rows.end - 1, columns.end - 1) &&
                 begins_in_block(rows.begin, columns.begin) == begins_in_block(rows.end - 1, columns.end - 1)));
    }

    Real* at(std::int64_t row, std::int64_t real_column) const {
        return job_.result + (row + element_column(real_column) * job_.ld) * job_.width;
    }

    void write_columns(const Real* tile, IndexRange rows, IndexRange columns) const {
        for (std::int64_t j = columns.begin; j < columns.end; j += job_.width) {
            const Real* const sums = tile + (j - columns.begin) * loops_.rows;
            const std::int64_t column = element_column(j);
            const IndexRange written = job_.written_rows(column, rows);
            // The sums of the rows in `first` begin in this block. The sums of the rows in `begun` began in an
            // earlier block, which was added to the result.
            const IndexRange begun = job_.rows_summed_in_block(column, written, {0, block_.begin}, block_);
            const IndexRange first = job_.rows_summed_in_block(column, written, block_, block_);
            write_rows(sums, rows.begin, begun, column, {1});
            write_rows(sums, rows.begin, first, column, job_.beta);
        }
    }

    void write_rows(const Real* sums, std::int64_t first_of_tile, IndexRange rows, std::int64_t column,
                    Element<Real> beta) const {
        if (rows.begin >= rows.end) return;
        const Real* const re = sums + (rows.begin - first_of_tile);
        add_to_rows(job_, loops_, rows, column, re, re + loops_.rows, job_.alpha, beta);
    }

    const MultiplyJob<Real>& job_;
    const TileLoops<Real>& loops_;
    const std::atomic<bool>& was_abandoned_;
    Real* left_panels_;
    Real* right_panels_;
    Real* unconverted_;  ///< memory for one panel before its conversion, if the loops convert panels to BF16
    IndexRange columns_{};
    IndexRange block_{};
    bool zero_adds_nothing_ = true;  ///< true if no factor is a triangle, or if the other packed factor has neither
                                     ///< NaN nor infinity, which times 0 would be NaN
};

/// Multiplies the result by beta. This is the whole job if alpha is 0, or if the sums have no terms.
template <class Real>
void scale_result(const MultiplyJob<Real>& job, const TileLoops<Real>& loops) {
    const Real zeros[max_tile_rows] = {};
    for (std::int64_t j = 0; j < job.columns; ++j)
        for (std::int64_t i = 0; i < job.rows; i += loops.rows) {
            const IndexRange rows = job.written_rows(j, {i, std::min(i + loops.rows, job.rows)});
            if (rows.begin < rows.end) add_to_rows(job, loops, rows, j, zeros, zeros, {}, job.beta);
        }
}

}  // namespace fp32shim::blas
