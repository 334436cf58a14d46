// The loops of sums over vectors. Only loops_*.cpp files include this file, and they include nothing that other
// files inline; see tile_loops.hpp. Vectors run over the blocks of a sum, never along a block.
#pragma once

#include "shim/blas/multiply/loops.hpp"
#include "shim/blas/multiply/tile_loops.hpp"
#include "shim/blas/multiply/vector_loops.hpp"

namespace fp32shim::blas {
namespace {

// The terms of sums over vectors. `add` adds one element, which has `numbers` numbers, to `sums` sums. A V is one
// number, or a vector with one number of each of several blocks, which have `block` numbers. Those of norms are
// short: the error grows with them, and no matrix product has the same sums.

struct Products {
    static constexpr int numbers = 1;
    static constexpr int sums = 1;
    template <class V>
    void add(const V* a, const V* b, V* sum) const {
        sum[0] = fused(a[0], b[0], sum[0]);
    }
};

template <bool conjugates>
struct ComplexProducts {
    static constexpr int numbers = 2;
    static constexpr int sums = 2;
    template <class V>
    void add(const V* a, const V* b, V* sum) const {
        sum[0] = fused(a[1], conjugates ? b[1] : -b[1], fused(a[0], b[0], sum[0]));
        sum[1] = fused(a[1], conjugates ? -b[0] : b[0], fused(a[0], b[1], sum[1]));
    }
};

/// Adds the sums of some blocks, the last of which may be shorter, to `total`. They are computed at the same time,
/// since each addition to one sum waits for the one before.
template <class Sum, int blocks, class Terms, class Real>
inline void add_few_blocks(const Terms& terms, const Elements<const Real>& a, const Elements<const Real>& b,
                           std::int64_t first, Sum* total) {
    constexpr std::int64_t elements = summed_at_once / Terms::numbers;
    const std::int64_t of_last = a.count - first - (blocks - 1) * elements;
    if constexpr (blocks > 1)
        if (of_last <= 0) return add_few_blocks<Sum, blocks - 1>(terms, a, b, first, total);
    Sum sums[blocks][Terms::sums] = {};
    const auto add = [&](int block, std::int64_t p) {
        const std::int64_t element = (first + block * elements + p) * Terms::numbers;
        Sum of_a[Terms::numbers];
        Sum of_b[Terms::numbers];
#pragma GCC unroll 2
        for (int i = 0; i < Terms::numbers; ++i) {
            of_a[i] = a.data[element * a.increment + i];
            of_b[i] = b.data[element * b.increment + i];
        }
        terms.add(of_a, of_b, sums[block]);
    };
    std::int64_t p = 0;
    for (; p < elements && p < of_last; ++p)
#pragma GCC unroll 4
        for (int block = 0; block < blocks; ++block) add(block, p);
    if constexpr (blocks > 1)
        for (; p < elements; ++p)
#pragma GCC unroll 4
            for (int block = 0; block + 1 < blocks; ++block) add(block, p);
    for (int block = 0; block < blocks; ++block)
        for (int i = 0; i < Terms::sums; ++i) total[i] = total[i] + sums[block][i];
}

/// The numbers of a vector, as a vector or two of them of the type of the sum.
template <class Sum, class Real>
struct Converted {
    static constexpr int vectors = 1;
    static Vector<Sum> part(Vector<Real> x, int) { return x; }
};
#if defined(__AVX512F__) || defined(__AVX2__) || defined(__aarch64__)
template <>
struct Converted<double, float> {
    static constexpr int vectors = 2;
    template <int first, int... i>
    static Vector<double> converted(Vector<float> x, std::integer_sequence<int, i...>) {
        return __builtin_convertvector(__builtin_shufflevector(x, x, (first + i)...), Vector<double>);
    }
    static Vector<double> part(Vector<float> x, int which) {
        constexpr std::make_integer_sequence<int, lanes<double>> half;
        return which == 0 ? converted<0>(x, half) : converted<lanes<double>>(x, half);
    }
};
#endif

/// Adds the sums of `count` full blocks of adjacent numbers, at most as many as some vectors have numbers.
template <class Sum, int vectors, class Terms, class Real>
void add_blocks(const Terms& terms, const Real* a, const Real* b, int count, Sum* total) {
    using Conversion = Converted<Sum, Real>;
    constexpr int wide = block_lanes<Real>;
    Vector<Sum> sum[vectors][Conversion::vectors][Terms::sums] = {};
    const auto add = [&](const Vector<Real>* of_a, const Vector<Real>* of_b, int part, Vector<Sum>* to) {
        Vector<Sum> x[Terms::numbers];
        Vector<Sum> y[Terms::numbers];
#pragma GCC unroll 2
        for (int i = 0; i < Terms::numbers; ++i) {
            x[i] = Conversion::part(of_a[i], part);
            y[i] = Conversion::part(of_b[i], part);
        }
        terms.add(x, y, to);
    };
    // The processor does not see that the next blocks follow these, since it reads those of one group side by side.
    const auto prefetch = [&](const Real* from, std::int64_t p) {
        constexpr int group = vectors * lanes<Real>;
        constexpr int line = 64 / static_cast<int>(sizeof(Real));
#pragma GCC unroll 8
        for (int i = 0; i < group * wide; i += line)
            __builtin_prefetch(from + group * summed_at_once + p * group + i, 0, 3);
    };
    const auto run = [&]<class Rows>(const Rows& rows_a, const Rows& rows_b) {
        for (std::int64_t p = 0; p < summed_at_once; p += wide) {
            prefetch(a, p);
            prefetch(b, p);
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v) {
                Vector<Real> of_a[wide];
                Vector<Real> of_b[wide];
                load_transposed<Real>(RowsOfVector<Real, Rows>{rows_a, v}, p, of_a);
                load_transposed<Real>(RowsOfVector<Real, Rows>{rows_b, v}, p, of_b);
#pragma GCC unroll 4
                for (int i = 0; i < wide; i += Terms::numbers)
#pragma GCC unroll 2
                    for (int part = 0; part < Conversion::vectors; ++part)
                        add(of_a + i, of_b + i, part, sum[v][part]);
            }
        }
    };
    const EqualRows<Real> rows_of_a{a, summed_at_once};
    const EqualRows<Real> rows_of_b{b, summed_at_once};
    if (vectors == 1 && count < lanes<Real>)
        run(FewRows<Real>(rows_of_a, count), FewRows<Real>(rows_of_b, count));
    else
        run(rows_of_a, rows_of_b);
    Sum sums[Terms::sums][vectors * lanes<Real>];
    for (int v = 0; v < vectors; ++v)
        for (int part = 0; part < Conversion::vectors; ++part)
            for (int i = 0; i < Terms::sums; ++i)
                store(sums[i] + v * lanes<Real> + part * lanes<Sum>, sum[v][part][i]);
    for (int block = 0; block < count; ++block)
        for (int i = 0; i < Terms::sums; ++i) total[i] = total[i] + sums[i][block];
}

/// Adds the sums of all blocks of two vectors to `total`, in order.
template <class Sum, class Terms, class Real>
[[gnu::always_inline]] inline void add_all_blocks(const Terms& terms, const Elements<const Real>& a,
                                                  const Elements<const Real>& b, Sum* total) {
    constexpr std::int64_t elements = summed_at_once / Terms::numbers;
    constexpr int few = 4;
    std::int64_t done = 0;
    constexpr bool has_vectors = (lanes<Real>) > 1;
    if (has_vectors && a.increment == 1 && b.increment == 1) {
        constexpr int vectors = vectors_at_once<Real>;
        const auto add = [&](const auto& add_them, int count) {
            add_them(terms, a.data + done * Terms::numbers, b.data + done * Terms::numbers, count, total);
            done += count * elements;
        };
        while (a.count - done >= vectors * lanes<Real> * elements)
            add(add_blocks<Sum, vectors, Terms, Real>, vectors * lanes<Real>);
        while (a.count - done > few * elements) {
            const std::int64_t left = (a.count - done) / elements;
            add(add_blocks<Sum, 1, Terms, Real>, left < lanes<Real> ? static_cast<int>(left) : lanes<Real>);
        }
    }
    for (; done < a.count; done += few * elements) add_few_blocks<Sum, few>(terms, a, b, done, total);
}

template <class Real, class Terms>
void dot(const Elements<const Real>& a, const Elements<const Real>& b, Real* result) {
    for (int i = 0; i < Terms::sums; ++i) result[i] = 0;
    add_all_blocks<Real>(Terms{}, a, b, result);
}

inline double dot_in_double(const Elements<const float>& a, const Elements<const float>& b, double start) {
    add_all_blocks<double>(Products{}, a, b, &start);
    return start;
}

/// Adds numbers to 32 sums in turn, by `add(sum, number)`, and then the sums, from the first on.
template <int width, class Real, class Add>
double sum_in_turn(const Elements<const Real>& x, const Add& add) {
    constexpr int count = 32;
    double sums[count] = {};
    Real copy[count];
    const std::int64_t numbers = x.count * width;
    const std::int64_t whole = x.increment == 1 ? numbers / count * count : 0;
    const auto add_some = [&](const Real* some) {
        for (int i = 0; i < count; ++i) sums[i] = add(sums[i], some[i]);
    };
    for (std::int64_t first = 0; first < whole; first += count) add_some(x.data + first);
    for (std::int64_t first = whole; first < numbers; first += count) {
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t at = first + i;  // zeros change no sum
            copy[i] = at < numbers ? x.data[at / width * x.increment * width + at % width] : 0;
        }
        add_some(copy);
    }
    double total = 0;
    for (const double sum : sums) total = total + sum;
    return total;
}

template <class Real, int width>
double magnitudes(const Elements<const Real>& x) {
    return sum_in_turn<width>(x, [](double sum, Real number) { return sum + magnitude(double{number}); });
}

template <class Real, int width>
double squares(const Elements<const Real>& x, double scale) {
    return sum_in_turn<width>(x, [scale](double sum, Real number) {
        const double scaled = number * scale;
        return fused(scaled, scaled, sum);
    });
}

template <class Real>
constexpr VectorLoops<Real> loops_over_vectors{{add_product<Real, 1>, add_product<Real, 2>},
                                               {add_multiple<Real, 1>, add_multiple<Real, 2>},
                                               {add_to_result<Real, 1>, add_to_result<Real, 2>},
                                               {rotate<Real, 1>, rotate<Real, 2>},
                                               {dot<Real, Products>, dot<Real, ComplexProducts<false>>},
                                               dot<Real, ComplexProducts<true>>,
                                               {magnitudes<Real, 1>, magnitudes<Real, 2>},
                                               {squares<Real, 1>, squares<Real, 2>}};

/// All loops of an instruction set. Of its tiles, the numbers are the vectors of a column, and the columns.
template <int large_vectors, int large_columns, int small_vectors, int small_columns, int columns_in_place>
constexpr LoopsOfInstructionSet all_loops{
    {tile_loops<float, large_vectors, large_columns, columns_in_place>,
     tile_loops<float, small_vectors, small_columns, columns_in_place>, loops_over_vectors<float>},
    {tile_loops<double, large_vectors, large_columns, columns_in_place>,
     tile_loops<double, small_vectors, small_columns, columns_in_place>, loops_over_vectors<double>},
    dot_in_double};

}  // namespace
}  // namespace fp32shim::blas
