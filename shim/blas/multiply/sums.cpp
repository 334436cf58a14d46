#include <algorithm>
#include <cmath>
#include <type_traits>

#include "shim/audit/double_double.hpp"
#include "shim/audit/float_environment.hpp"
#include "shim/blas/multiply/parallel_for.hpp"
#include "shim/blas/multiply/vectors.hpp"

namespace fp32shim::blas {
namespace {

/// Returns the elements of a vector whose indices are in `range`.
template <class Real>
StridedVector<Real> part_of(const StridedVector<Real>& x, int width, IndexRange range) {
    return {x.data + range.begin * x.increment * width, x.increment, range.count()};
}

/// A sum over one or two vectors. Each block of the vectors is summed up first, and then the sums of the blocks are
/// added.
template <class Sum, class Real>
struct BlockwiseSum {
    SumsOfBlocks<Sum, Real> loop;
    StridedVector<const Real> a, b;
    int width;
    int numbers;         ///< how many numbers the sum of a block has
    std::int64_t terms;  ///< how many numbers of each vector form a block
    double scale = 1;

    std::int64_t elements() const { return terms / width; }
    std::int64_t blocks() const { return (a.count + elements() - 1) / elements(); }
    void run(IndexRange blocks, Sum* to) const {
        const IndexRange range{blocks.begin * elements(), std::min(blocks.end * elements(), a.count)};
        loop(part_of(a, width, range), part_of(b, width, range), scale, to);
    }
    /// Calls `add(sum)` with the sum of each block, in the order of the blocks.
    template <class Add>
    void add_up(ThreadLimit threads, const Add& add) const {
        const auto add_some = [&](const Sum* sums, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i) add(sums + i * numbers);
        };
        const auto in_threads = [&](void* memory) {
            return [all = *this, to = static_cast<Sum*>(memory)](IndexRange part, char*, const std::atomic<bool>&) {
                all.run(part, to + part.begin * all.numbers);
            };
        };
        const std::int64_t bytes = blocks() * numbers * static_cast<std::int64_t>(sizeof(Sum));
        if (threads.count > 1 && parallel_for_and_finish(blocks(), 1, bytes, threads, in_threads, [&](void* sums) {
                add_some(static_cast<const Sum*>(sums), blocks());
            }))
            return;
        constexpr std::int64_t at_once = 64;
        Sum sums[2 * at_once];
        for (std::int64_t first = 0; first < blocks(); first += at_once) {
            const IndexRange some{first, std::min(first + at_once, blocks())};
            run(some, sums);
            add_some(sums, some.count());
        }
    }
};

template <class Real>
void dot(typename VectorLoops<Real>::Dot loop, const StridedVector<const Real>& a, const StridedVector<const Real>& b,
         int width, ThreadLimit threads, Real* result) {
    std::fill_n(result, width, Real{0});
    BlockwiseSum<Real, Real>{loop, a, b, width, width, summed_at_once}.add_up(threads, [&](const Real* sum) {
        for (int i = 0; i < width; ++i) result[i] = result[i] + sum[i];
    });
}

/// Returns `start` plus the sums of all blocks. `loop` stores two numbers for each block: its sum, and the error of
/// its additions.
template <class Real>
double in_double(SumsOfBlocks<double, Real> loop, const StridedVector<const Real>& a,
                 const StridedVector<const Real>& b, int width, ThreadLimit threads, double start, double scale = 1) {
    double total = start;
    double lost = 0;
    BlockwiseSum<double, Real>{loop, a, b, width, 2, summed_in_turn, scale}.add_up(threads, [&](const double* sum) {
        const DoubleDouble next = double_double::two_sum(total, sum[0]);
        total = next.high;
        lost = lost + (next.low + sum[1]);
    });
    return std::isfinite(total) && lost != 0 ? total + lost : total;
}

/// Returns the square root of the sum of all squares. If the squares overflow or are too small, sums the squares
/// again after multiplying the numbers by a power of two.
template <class Real>
double root_of_squares(SumsOfBlocks<double, Real> squares, const StridedVector<const Real>& x, int width,
                       ThreadLimit threads) {
    const auto sum_of = [&](double scale) { return in_double(squares, x, x, width, threads, 0, scale); };
    const double sum = sum_of(1);
    constexpr double small = 0x1p-900;
    constexpr double large = 0x1p1000;
    constexpr double up = 0x1p600;
    if (std::is_same_v<Real, float> || (sum >= small && sum <= large) || std::isnan(sum)) return std::sqrt(sum);
    return sum < small ? std::sqrt(sum_of(up)) / up : std::sqrt(sum_of(1 / up)) * up;
}

template <class Real>
void sum_over(const Level3& product, const LoopsOfInstructionSet& all, ThreadLimit threads) {
    const VectorLoops<Real>& loops = all.for_type<Real>().vectors;
    const int width = product.is_complex ? 2 : 1;
    const std::int64_t count = std::max(product.k, std::int64_t{0});
    const auto a = strided_vector<const Real>(product.a, product.lda, count, width);
    const auto b = strided_vector<const Real>(product.b, product.ldb, count, width);
    auto* const result = static_cast<Real*>(product.c);
    if (product.operation == Operation::dot) return dot(loops.dot[width - 1], a, b, width, threads, result);
    if (product.operation == Operation::dotc)
        return dot(width == 2 ? loops.dot_of_conjugate : loops.dot[0], a, b, width, threads, result);
    // A norm must raise no floating-point flags: libraries raise none, and a program may have asked for a signal. The
    // error of an infinite sum would be NaN, which raises a flag.
    const audit::QuietFloatEnvironment quiet(audit::QuietFloatEnvironment::Settings::as_the_program);
    if (product.operation == Operation::asum) {
        *result =
            a.increment > 0 ? static_cast<Real>(in_double(loops.magnitudes[width - 1], a, a, width, threads, 0)) : 0;
    } else if (product.operation == Operation::nrm2) {
        *result = static_cast<Real>(root_of_squares(loops.squares[width - 1], a, width, threads));
    } else if constexpr (std::is_same_v<Real, float>) {
        const bool is_wide = product.operation == Operation::dsdot;
        const double start = is_wide ? 0 : *static_cast<const float*>(product.alpha);
        const double sum = in_double(all.dot_in_double, a, b, 1, threads, start);
        is_wide ? void(*static_cast<double*>(product.c) = sum) : void(*result = static_cast<float>(sum));
    }
}

}  // namespace

void sum_over_vectors(const Level3& product, const LoopsOfInstructionSet& loops, ThreadLimit threads) {
    product.is_double ? sum_over<double>(product, loops, threads) : sum_over<float>(product, loops, threads);
}

}  // namespace fp32shim::blas
