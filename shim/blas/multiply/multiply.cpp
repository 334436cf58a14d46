#include "shim/blas/multiply/multiply.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "shim/blas/emulate/emulate.hpp"
#include "shim/blas/emulate/scratch.hpp"
#include "shim/blas/multiply/job.hpp"
#include "shim/blas/multiply/pack.hpp"
#include "shim/blas/multiply/threads.hpp"
#include "shim/blas/multiply/tile.hpp"
#include "shim/level3/finite.hpp"
#include "system/kept_state.hpp"

namespace fp32shim::blas {
namespace {

/// Bytes of a copy of the operand that a trmm in place overwrites.
constexpr std::int64_t bytes_copied_at_once = std::int64_t{8} << 20;

constexpr std::int64_t round_up(std::int64_t number, std::int64_t unit) { return (number + unit - 1) / unit * unit; }

const LoopsOfInstructionSet& loops_of([[maybe_unused]] InstructionSet instruction_set) {
#if defined(__x86_64__)
    if (instruction_set == InstructionSet::avx512) return avx512_loops;
    if (instruction_set == InstructionSet::avx2) return avx2_loops;
#endif
    return baseline_loops;
}

const LoopsOfInstructionSet& best_loops() {
#if defined(__x86_64__)
    if (has_fma() && has_avx512()) return avx512_loops;
    if (has_fma() && has_avx2()) return avx2_loops;
#endif
    return baseline_loops;
}

template <class Real>
bool all_numbers_finite(const Real* numbers, std::int64_t count) {
    constexpr bool is_double = sizeof(Real) == sizeof(double);
    return all_finite(reinterpret_cast<const float*>(numbers), static_cast<std::size_t>(count) * (is_double ? 2 : 1),
                      is_double);
}

/// Returns the result of a job as a matrix, which counts memory in floats.
template <class Real>
Matrix matrix_of(const Job<Real>& job) {
    constexpr bool is_double = sizeof(Real) == sizeof(double);
    return {reinterpret_cast<float*>(job.result), job.rows,       job.columns, job.ld, false,
            job.width * (is_double ? 2 : 1),      job.width == 2, is_double};
}

/// Sets rows of a column of the result to alpha sum + beta element. `im` is not read for real elements.
template <class Real>
void add_to_rows(const Job<Real>& job, const TileLoops<Real>& loops, IndexRange rows, std::int64_t column,
                 const Real* re, const Real* im, ElementOf<Real> alpha, ElementOf<Real> beta) {
    Real* const to = job.result + (rows.begin + column * job.ld) * job.width;
    const bool meets_diagonal = job.has_real_diagonal && rows.begin <= column && column < rows.end;
    Real* const imaginary_diagonal = meets_diagonal ? to + (column - rows.begin) * 2 + 1 : nullptr;
    if (meets_diagonal) *imaginary_diagonal = 0;
    loops.add_column(re, job.width == 2 ? im : nullptr, to, static_cast<int>(rows.end - rows.begin),
                     {alpha.re, alpha.im}, {beta.re, beta.im});
    if (meets_diagonal) *imaginary_diagonal = 0;
}

/// Computes a rectangle of the result of one job, by its tiles.
template <class Real>
class Rectangle {
  public:
    /// Ends early once `is_left` is true.
    Rectangle(const Job<Real>& job, const TileLoops<Real>& loops, const std::atomic<bool>& is_left, Real* memory)
        : job_(job),
          loops_(loops),
          is_left_(is_left),
          left_panels_(memory),
          right_panels_(memory + left_numbers(job, loops)),
          unconverted_(right_panels_ + right_numbers(job, loops)) {}

    /// Returns the size of `memory` in numbers.
    static std::int64_t numbers(const Job<Real>& job, const TileLoops<Real>& loops) {
        const std::int64_t one_panel = std::max(loops.rows, loops.columns) * real_depth_at_once(job, loops);
        return left_numbers(job, loops) + right_numbers(job, loops) + (loops.converts() ? one_panel : 0);
    }

    /// `columns` are real columns, of which a complex column has two.
    void run(IndexRange rows, IndexRange columns) {
        const std::int64_t step = loops_.summed_at_once / job_.width;
        if (loops_.begin != nullptr) loops_.begin();
        for (std::int64_t j = columns.begin; j < columns.end; j += columns_at_once<Real>) {
            columns_ = {j, std::min(j + columns_at_once<Real>, columns.end)};
            for (std::int64_t k = 0; k < job_.depth && !is_left_.load(std::memory_order_relaxed); k += step) {
                block_ = {k, std::min(k + step, job_.depth)};
                run_block(rows);
            }
        }
        if (loops_.end != nullptr) loops_.end();
    }

  private:
    static std::int64_t real_depth_at_once(const Job<Real>& job, const TileLoops<Real>& loops) {
        return round_up(std::min(job.depth * job.width, loops.summed_at_once), loops.summed_unit);
    }
    static std::int64_t left_numbers(const Job<Real>& job, const TileLoops<Real>& loops) {
        return round_up(std::min(job.rows, rows_at_once<Real>), loops.rows) * real_depth_at_once(job, loops);
    }
    static std::int64_t right_numbers(const Job<Real>& job, const TileLoops<Real>& loops) {
        return round_up(std::min(job.columns * job.width, columns_at_once<Real>), loops.columns) *
               real_depth_at_once(job, loops);
    }

    void pack_left_rows(IndexRange rows) {
        if (!loops_.converts())
            return pack_left(job_, block_, rows.begin, rows.end - rows.begin, loops_.rows, left_panels_);
        for (std::int64_t row = rows.begin; row < rows.end; row += loops_.rows) {
            pack_left(job_, block_, row, std::min<std::int64_t>(loops_.rows, rows.end - row), loops_.rows,
                      unconverted_);
            loops_.convert_left(unconverted_, depth(), left_panels_ + (row - rows.begin) * panel_depth());
        }
    }
    void pack_right_columns() {
        if (!loops_.converts())
            return pack_right(job_, block_, columns_.begin, columns_.end - columns_.begin, loops_.columns,
                              right_panels_);
        for (std::int64_t column = columns_.begin; column < columns_.end; column += loops_.columns) {
            const auto present = static_cast<int>(std::min<std::int64_t>(loops_.columns, columns_.end - column));
            Real* const to = right_panels_ + (column - columns_.begin) * panel_depth();
            if constexpr (std::is_same_v<Real, float>) {
                const StoredColumns stored = stored_columns(job_, column, block_.begin);
                if (stored.first != nullptr && loops_.convert_stored_right != nullptr) {
                    loops_.convert_stored_right(stored.first, stored.of_column, present, depth(), to);
                    continue;
                }
            }
            pack_right(job_, block_, column, present, loops_.columns, unconverted_);
            loops_.convert_right(unconverted_, depth(), to);
        }
    }

    void run_block(IndexRange rows) {
        pack_right_columns();
        if (job_.summed_by_row)
            zero_adds_nothing_ = are_finite(right_panels_, round_up(columns_.end - columns_.begin, loops_.columns));
        for (std::int64_t i = rows.begin; i < rows.end; i += rows_at_once<Real>) {
            const IndexRange packed{i, std::min(i + rows_at_once<Real>, rows.end)};
            pack_left_rows(packed);
            if (!job_.summed_by_row)
                zero_adds_nothing_ = are_finite(left_panels_, round_up(packed.end - i, loops_.rows));
            for (std::int64_t column = columns_.begin; column < columns_.end; column += loops_.columns)
                for (std::int64_t row = packed.begin; row < packed.end; row += loops_.rows)
                    run_tile({row, std::min(row + loops_.rows, packed.end)},
                             {column, std::min(column + loops_.columns, columns_.end)},
                             left_panels_ + (row - packed.begin) * panel_depth(),
                             right_panels_ + (column - columns_.begin) * panel_depth());
        }
    }

    bool are_finite(const Real* panels, std::int64_t width) const {
        return job_.summed == Summed::all || all_numbers_finite(panels, width * depth());
    }

    /// Real indices of the sum in this block.
    std::int64_t depth() const { return (block_.end - block_.begin) * job_.width; }
    /// Floats of one row or column of a panel.
    std::int64_t panel_depth() const {
        return loops_.converts() ? round_up(depth(), loops_.summed_unit) / 2 : depth();
    }
    std::int64_t element_of(std::int64_t real_column) const { return real_column / job_.width; }

    IndexRange clipped(IndexRange range) const {
        return {std::clamp(range.begin, block_.begin, block_.end), std::clamp(range.end, block_.begin, block_.end)};
    }

    void run_tile(IndexRange rows, IndexRange columns, const Real* left, const Real* right) {
        const std::int64_t first_column = element_of(columns.begin);
        const std::int64_t last_column = element_of(columns.end - 1);
        if (!job_.writes(rows.begin, last_column) && !job_.writes(rows.end - 1, first_column)) return;
        // Of all elements of a tile, those in opposite corners have the shortest and the longest sum.
        const IndexRange first = clipped(job_.summed_of(rows.begin, first_column));
        const IndexRange last = clipped(job_.summed_of(rows.end - 1, last_column));
        const IndexRange any{std::min(first.begin, last.begin), std::max(first.end, last.end)};
        if (any.begin >= any.end) return;
        const std::int64_t skipped = (any.begin - block_.begin) * job_.width;
        const std::int64_t depth = (any.end - any.begin) * job_.width;
        if (is_plain(rows, columns)) {
            loops_.add_to_result(left + skipped * loops_.rows, right + skipped * loops_.columns, depth,
                                 {at(rows.begin, columns.begin), job_.ld, static_cast<int>(rows.end - rows.begin),
                                  static_cast<int>(columns.end - columns.begin), job_.alpha.re,
                                  block_.begin == 0 ? job_.beta.re : 1.0F});
            return;
        }
        alignas(64) Real tile[max_tile_rows * max_tile_columns];
        if (zero_adds_nothing_)
            loops_.sum(left + skipped * loops_.rows, right + skipped * loops_.columns, depth, tile);
        else
            sum_one_by_one(tile, rows, columns, left, right);
        // Zeros of a triangle, added or left out, may have turned -0 into 0, or 0 into -0 if sums are rounded down.
        if (job_.summed != Summed::all)
            for (int i = 0; i < loops_.rows * loops_.columns; ++i) tile[i] = tile[i] == 0 ? Real{0} : tile[i];
        write_columns(tile, rows, columns);
    }

    /// Sums up only the products that each element has. Needed where the other factor of a triangle has an infinity
    /// or NaN, since zero times that is NaN.
    void sum_one_by_one(Real* tile, IndexRange rows, IndexRange columns, const Real* left, const Real* right) const {
        std::fill_n(tile, loops_.rows * loops_.columns, Real{0});
        for (std::int64_t j = columns.begin; j < columns.end; ++j)
            for (std::int64_t i = rows.begin; i < rows.end; ++i) {
                const IndexRange own = clipped(job_.summed_of(i, element_of(j)));
                Real& sum = tile[(j - columns.begin) * loops_.rows + (i - rows.begin)];
                for (std::int64_t p = (own.begin - block_.begin) * job_.width;
                     p < (own.end - block_.begin) * job_.width; ++p)
                    sum = fused_multiply_add_plain(left[p * loops_.rows + (i - rows.begin)],
                                                   right[p * loops_.columns + (j - columns.begin)], sum);
            }
    }

    /// Returns true if all elements of a tile are real, written, and have the same indices in their sums.
    bool is_plain(IndexRange rows, IndexRange columns) const {
        return job_.width == 1 && job_.summed == Summed::all && job_.writes(rows.begin, columns.end - 1) &&
               job_.writes(rows.end - 1, columns.begin);
    }

    Real* at(std::int64_t row, std::int64_t real_column) const {
        return job_.result + (row + element_of(real_column) * job_.ld) * job_.width;
    }

    void write_columns(const Real* tile, IndexRange rows, IndexRange columns) const {
        for (std::int64_t j = columns.begin; j < columns.end; j += job_.width) {
            const Real* const sums = tile + (j - columns.begin) * loops_.rows;
            const std::int64_t column = element_of(j);
            const IndexRange written = job_.written_rows(column, rows);
            // Elements whose sums begin in this block, and those to which an earlier block was added.
            const IndexRange begun = job_.rows_with_sums(column, written, {0, block_.begin}, block_);
            const IndexRange first = job_.rows_with_sums(column, written, block_, block_);
            write_rows(sums, rows.begin, begun, column, {1});
            write_rows(sums, rows.begin, first, column, job_.beta);
        }
    }

    void write_rows(const Real* sums, std::int64_t first_of_tile, IndexRange rows, std::int64_t column,
                    ElementOf<Real> beta) const {
        if (rows.begin >= rows.end) return;
        const Real* const re = sums + (rows.begin - first_of_tile);
        add_to_rows(job_, loops_, rows, column, re, re + loops_.rows, job_.alpha, beta);
    }

    const Job<Real>& job_;
    const TileLoops<Real>& loops_;
    const std::atomic<bool>& is_left_;
    Real* left_panels_;
    Real* right_panels_;
    Real* unconverted_;  ///< one panel, of loops that convert
    IndexRange columns_{};
    IndexRange block_{};
    bool zero_adds_nothing_ = true;  ///< the packed factor beside a triangle is finite
};

/// Multiplies the result by beta. All that is to be done if alpha is 0, or the sums are empty.
template <class Real>
void scale(const Job<Real>& job, const TileLoops<Real>& loops) {
    const Real zeros[max_tile_rows] = {};
    for (std::int64_t j = 0; j < job.columns; ++j)
        for (std::int64_t i = 0; i < job.rows; i += loops.rows) {
            const IndexRange rows = job.written_rows(j, {i, std::min(i + loops.rows, job.rows)});
            if (rows.begin < rows.end) add_to_rows(job, loops, rows, j, zeros, zeros, {}, job.beta);
        }
}

/// Returns the number of columns or rows of a trmm in place that are copied at a time.
template <class Real>
std::int64_t copied_at_a_time(const Job<Real>& job) {
    const auto of_one = job.depth * job.width * static_cast<std::int64_t>(sizeof(Real));
    const std::int64_t other = job.summed_by_row ? job.columns : job.rows;
    return std::clamp(bytes_copied_at_once / of_one, std::int64_t{1}, std::max(other, std::int64_t{1}));
}

/// The operand that a trmm in place overwrites, by the job's factor.
enum class InPlace : std::uint8_t { none, left, right };

/// Computes columns (if the overwritten factor is the right one) or rows of a trmm in place, some at a time, from a
/// copy.
template <class Real>
void run_in_place(const Job<Real>& job, const TileLoops<Real>& loops, InPlace factor, IndexRange part,
                  const std::atomic<bool>& is_left, Real* memory, Real* copy) {
    const std::int64_t step = copied_at_a_time(job);
    const Matrix result = matrix_of(job);
    for (std::int64_t first = part.begin; first < part.end && !is_left.load(std::memory_order_relaxed);
         first += step) {
        const std::int64_t count = std::min(step, part.end - first);
        const bool is_right = factor == InPlace::right;
        const Matrix overwritten =
            is_right ? result.block(0, first, job.depth, count) : result.block(first, 0, count, job.depth);
        Matrix kept = overwritten;
        kept.data = reinterpret_cast<float*>(copy);
        kept.ld = kept.rows;
        copy_elements(overwritten, Part::whole, kept);
        Job<Real> piece = job;
        piece.result = reinterpret_cast<Real*>(const_cast<float*>(overwritten.data));
        (is_right ? piece.columns : piece.rows) = count;
        (is_right ? piece.right : piece.left) = {{kept, 'N'}, is_right};
        Rectangle<Real>(piece, loops, is_left, memory).run({0, piece.rows}, {0, piece.columns * job.width});
    }
}

/// A job whose result is divided among threads: into groups of rows or of columns, which threads take in turn. The
/// object lies at the beginning of the product's scratch memory, which stays in place if a signal handler leaves the
/// product by siglongjmp.
template <class Real>
struct Division : Crew {
    Job<Real> job;
    const TileLoops<Real>* loops;
    InPlace in_place;
    bool by_rows;
    std::int64_t step;           ///< rows or columns of one group
    Real* memory;                ///< of all threads, one after the other
    std::size_t numbers_of_one;  ///< of one thread
    std::atomic<std::int64_t> next{0};

    std::int64_t length() const { return by_rows ? job.rows : job.columns; }
};

template <class Real>
void run_groups(Crew& crew, int worker) {
    auto& all = static_cast<Division<Real>&>(crew);
    const Job<Real>& job = all.job;
    Real* const memory = all.memory + static_cast<std::size_t>(worker) * all.numbers_of_one;
    for (;;) {
        const std::int64_t begin = all.next.fetch_add(all.step, std::memory_order_relaxed);
        if (begin >= all.length() || crew.is_left.load(std::memory_order_relaxed)) return;
        const IndexRange part{begin, std::min(begin + all.step, all.length())};
        if (all.in_place != InPlace::none) {
            run_in_place(job, *all.loops, all.in_place, part, crew.is_left, memory,
                         memory + Rectangle<Real>::numbers(job, *all.loops));
        } else {
            const IndexRange rows = all.by_rows ? part : IndexRange{0, job.rows};
            const IndexRange columns = all.by_rows ? IndexRange{0, job.columns} : part;
            Rectangle<Real>(job, *all.loops, crew.is_left, memory)
                .run(rows, {columns.begin * job.width, columns.end * job.width});
        }
    }
}

/// A real factor where it stands in memory, as it is seen in a column-major product.
template <class Real>
struct FactorInMemory {
    const Real* data;
    std::int64_t of_index;   ///< distance between rows of the left factor, or columns of the right one
    std::int64_t of_summed;  ///< distance between indices of the sum
};

/// Computes a small product of real matrices without packing them. Returns false if it is not one.
template <class Real>
bool multiply_small(const Level3& product, const LoopsInPlace<Real>& loops) {
    constexpr std::int64_t largest = 32 * 32 * 32;
    if (product.operation != Operation::gemm || product.is_complex || product.m <= 0 || product.n <= 0 ||
        product.k <= 0 || product.k > summed_at_once || product.m > largest || product.n > largest ||
        product.m * product.n > largest / product.k)
        return false;
    const auto factor = [](const void* data, std::int64_t ld, bool index_is_adjacent) {
        return FactorInMemory<Real>{static_cast<const Real*>(data), index_is_adjacent ? 1 : ld,
                                    index_is_adjacent ? ld : 1};
    };
    const bool a_is_left = !product.row_major;
    FactorInMemory<Real> left = factor(product.a, product.lda, transposes(product.trans_a) != a_is_left);
    FactorInMemory<Real> right = factor(product.b, product.ldb, transposes(product.trans_b) == a_is_left);
    std::int64_t rows = product.m;
    std::int64_t columns = product.n;
    if (product.row_major) {
        std::swap(left, right);
        std::swap(rows, columns);
    }
    const Real alpha = *static_cast<const Real*>(product.alpha);
    if (left.of_index != 1 || alpha == 0) return false;
    const Real beta = *static_cast<const Real*>(product.beta);
    auto* const result = static_cast<Real*>(product.c);
    for (std::int64_t j = 0; j < columns; j += loops.columns)
        for (std::int64_t i = 0; i < rows; i += loops.rows)
            loops.add_to_result(
                {left.data + i, left.of_summed, right.data + j * right.of_index, right.of_index, right.of_summed},
                product.k,
                {result + i + j * product.ldc, product.ldc,
                 static_cast<int>(std::min<std::int64_t>(loops.rows, rows - i)),
                 static_cast<int>(std::min<std::int64_t>(loops.columns, columns - j)), alpha, beta});
    return true;
}

template <class Real>
bool run(const Job<Real>& job, InPlace in_place, const TileLoops<Real>& loops, Threads threads,
         HeldScratch& scratch) {
    if (job.rows == 0 || job.columns == 0) return true;
    if (is_zero(job.alpha) || job.depth == 0) {
        if (job.beta.re != 1 || job.beta.im != 0) scale(job, loops);
        return true;
    }
    const std::int64_t copied = in_place == InPlace::none ? 0 : copied_at_a_time(job) * job.depth * job.width;
    const auto numbers_of_one = static_cast<std::size_t>(round_up(Rectangle<Real>::numbers(job, loops) + copied, 16));
    const std::size_t bytes_of_one = numbers_of_one * sizeof(Real) + sizeof(Worker);
    constexpr std::size_t bytes_of_division = round_up(sizeof(Division<Real>), 64) + 64;
    // Fewer threads where the memory for all would be beyond the limit: the result must not depend on their number.
    const auto fitting = static_cast<int>((scratch.limit - bytes_of_division) / bytes_of_one);
    const int count = std::clamp(threads.count, 1, std::max(fitting, 1));
    const bool by_rows = in_place == InPlace::none ? job.rows > job.columns : in_place == InPlace::left;
    const std::int64_t length = by_rows ? job.rows : job.columns;
    constexpr std::int64_t groups_of_a_thread = 4;
    const std::int64_t unit = by_rows ? loops.rows : loops.columns;
    const std::int64_t step = count == 1 ? length : round_up(length / (count * groups_of_a_thread) + 1, unit);
    auto* const memory = scratch.memory_of(bytes_of_division + bytes_of_one * static_cast<std::size_t>(count));
    if (memory == nullptr) return count > 1 && run(job, in_place, loops, {}, scratch);
    auto* const panels = reinterpret_cast<Real*>(memory + bytes_of_division / sizeof(float));
    auto* const workers = reinterpret_cast<Worker*>(panels + numbers_of_one * static_cast<std::size_t>(count));
    auto* const division = new (memory)
        Division<Real>{{workers, run_groups<Real>}, job, &loops, in_place, by_rows, step, panels, numbers_of_one};
    run_on_threads(*division, {count, threads.least_stack}, scratch.scratch);
    return true;
}

template <class Real>
InPlace in_place_of(const Level3& product, const Job<Real>& job) {
    if (!is_in_place(product)) return InPlace::none;
    return job.summed_by_row ? InPlace::right : InPlace::left;
}

/// `loops_for(job)` returns the loops for a job.
template <class Real, class LoopsFor>
bool multiply_in_blocks(const Level3& product, Threads threads, const LoopsFor& loops_for) {
    HeldScratch scratch{scratch_limit_of_a_product};
    bool done = true;
    for_each_job<Real>(product, [&](const Job<Real>& job) {
        done = done && run(job, in_place_of(product, job), loops_for(job), threads, scratch);
    });
    scratch.release();
    return done;
}

double operations_of(const Level3& product) {
    const Matrix result = result_of(product);
    const double depth = static_cast<double>(product.k != 0 ? product.k : operand_a(product).rows);
    return (product.is_complex ? 8.0 : 2.0) * static_cast<double>(result.rows) * static_cast<double>(result.columns) *
           depth;
}

/// Returns the threads for a product. Below a millisecond, which takes `operations_of_a_thread`, a thread
/// costs more than it saves.
Threads threads_for(const Level3& product, double operations_of_a_thread, ThreadsOfLibrary allowed) {
    const system::KeptState kept;  // divides, and asks the library
    constexpr double most = 256;
    const int useful = static_cast<int>(std::clamp(operations_of(product) / operations_of_a_thread, 1.0, most));
    if (useful == 1 || !may_start_threads()) return {};
    Threads threads = allowed.ask(allowed.context);
    threads.count = std::clamp(threads.count, 1, useful);
    return threads;
}

template <class Real>
bool multiply_by(const Loops<Real>& loops, const Level3& product, ThreadsOfLibrary allowed) {
    if (multiply_small(product, loops.in_place)) return true;
    constexpr double operations_of_a_thread = 5e7;
    return multiply_in_blocks<Real>(product, threads_for(product, operations_of_a_thread, allowed),
                                    [&](const Job<Real>& job) -> const TileLoops<Real>& {
                                        return job.rows <= loops.small.rows ? loops.small : loops.large;
                                    });
}

bool multiply(const Level3& product, const LoopsOfInstructionSet& loops, ThreadsOfLibrary allowed) {
    return product.is_double ? multiply_by(loops.float64, product, allowed)
                             : multiply_by(loops.float32, product, allowed);
}

}  // namespace

bool multiply_in_fixed_order(const Level3& product, ThreadsOfLibrary threads) {
    return multiply(product, best_loops(), threads);
}

bool multiply_in_fixed_order(const Level3& product, InstructionSet instruction_set) {
    return multiply(product, loops_of(instruction_set), one_thread);
}

bool multiply_in_bf16([[maybe_unused]] const Level3& product, [[maybe_unused]] Bf16Units units,
                      [[maybe_unused]] ThreadsOfLibrary threads) {
#if defined(__x86_64__)
    constexpr double operations_of_a_thread = 4e8;
    const TileLoops<float>& loops = units == Bf16Units::amx ? amx_bf16_loops : avx512_bf16_loops;
    return multiply_in_blocks<float>(product, threads_for(product, operations_of_a_thread, threads),
                                     [&](const Job<float>&) -> const TileLoops<float>& { return loops; });
#else
    return false;
#endif
}

}  // namespace fp32shim::blas
