// The loops of sums over vectors. Only loops_*.cpp files include this file, and they include no header whose
// functions other files inline (see tile_loops.hpp). Vectors run over the parts of a sum (see summed_in_chain), never
// along a part.
#pragma once

#include "shim/blas/multiply/loops.hpp"
#include "shim/blas/multiply/tile_loops.hpp"
#include "shim/blas/multiply/vector_loops.hpp"

namespace fp32shim::blas {
namespace {

// Each of the following types describes the terms of a sum over vectors. `add` adds the term of one element, which
// has `numbers` numbers, to `sums` sums. A V is one number, or a vector with one number of each of several parts.

struct RealProductTerm {
    static constexpr int numbers = 1;
    static constexpr int sums = 1;
    template <class V>
    static void add(const V* a, const V* b, V* sum) {
        sum[0] = fused(a[0], b[0], sum[0]);
    }
};

template <bool conjugates>
struct ComplexProductTerm {
    static constexpr int numbers = 2;
    static constexpr int sums = 2;
    template <class V>
    static void add(const V* a, const V* b, V* sum) {
        sum[0] = fused(a[1], conjugates ? b[1] : -b[1], fused(a[0], b[0], sum[0]));
        sum[1] = fused(a[1], conjugates ? -b[0] : b[0], fused(a[0], b[1], sum[1]));
    }
};

/// Stores the sums of up to `parts` parts, the last of which may be shorter. The sums are computed at the same time,
/// since each addition to one sum waits for the previous one.
template <int parts, class Terms, class Real>
inline void sum_few_parts(const StridedVector<const Real>& a, const StridedVector<const Real>& b, std::int64_t first,
                          Real* to) {
    constexpr std::int64_t elements = summed_in_chain / Terms::numbers;
    const std::int64_t of_last = a.count - first - (parts - 1) * elements;
    if constexpr (parts > 1)
        if (of_last <= 0) return sum_few_parts<parts - 1, Terms>(a, b, first, to);
    Real sums[parts][Terms::sums] = {};
    const auto add = [&](int part, std::int64_t p) {
        const std::int64_t element = (first + part * elements + p) * Terms::numbers;
        Real of_a[Terms::numbers];
        Real of_b[Terms::numbers];
#pragma GCC unroll 2
        for (int i = 0; i < Terms::numbers; ++i) {
            of_a[i] = a.data[element * a.increment + i];
            of_b[i] = b.data[element * b.increment + i];
        }
        Terms::add(of_a, of_b, sums[part]);
    };
    std::int64_t p = 0;
    for (; p < elements && p < of_last; ++p)
#pragma GCC unroll 4
        for (int part = 0; part < parts; ++part) add(part, p);
    if constexpr (parts > 1)
        for (; p < elements; ++p)
#pragma GCC unroll 4
            for (int part = 0; part + 1 < parts; ++part) add(part, p);
    for (int part = 0; part < parts; ++part)
        for (int i = 0; i < Terms::sums; ++i) to[part * Terms::sums + i] = sums[part][i];
}

/// Stores the sums of `count` full parts of adjacent numbers. `count` is at most the number of elements in `vectors`
/// vectors.
template <int vectors, class Terms, class Real>
void sum_parts(const Real* a, const Real* b, int count, Real* to) {
    constexpr int wide = block_lanes<Real>;
    Vector<Real> sum[vectors][Terms::sums] = {};
    // The processor does not prefetch the next parts by itself, since the parts of a group are read in parallel.
    const auto prefetch = [&](const Real* from, std::int64_t p) {
        constexpr int group = vectors * lanes<Real>;
        constexpr int line = 64 / static_cast<int>(sizeof(Real));
#pragma GCC unroll 8
        for (int i = 0; i < group * wide; i += line)
            __builtin_prefetch(from + group * summed_in_chain + p * group + i, 0, 3);
    };
    const auto run = [&]<class Rows>(const Rows& rows_a, const Rows& rows_b) {
        for (std::int64_t p = 0; p < summed_in_chain; p += wide) {
            prefetch(a, p);
            prefetch(b, p);
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v) {
                Vector<Real> of_a[wide];
                Vector<Real> of_b[wide];
                load_transposed<Real>(RowsOfVector<Real, Rows>{rows_a, v}, p, of_a);
                load_transposed<Real>(RowsOfVector<Real, Rows>{rows_b, v}, p, of_b);
#pragma GCC unroll 4
                for (int i = 0; i < wide; i += Terms::numbers) Terms::add(of_a + i, of_b + i, sum[v]);
            }
        }
    };
    const StridedRows<Real> rows_of_a{a, summed_in_chain};
    const StridedRows<Real> rows_of_b{b, summed_in_chain};
    if (vectors == 1 && count < lanes<Real>)
        run(PaddedRows<Real>(rows_of_a, count), PaddedRows<Real>(rows_of_b, count));
    else
        run(rows_of_a, rows_of_b);
    Real sums[Terms::sums][vectors * lanes<Real>];
    for (int v = 0; v < vectors; ++v)
        for (int i = 0; i < Terms::sums; ++i) store(sums[i] + v * lanes<Real>, sum[v][i]);
    for (int i = 0; i < count * Terms::sums; ++i) to[i] = sums[i % Terms::sums][i / Terms::sums];
}

/// Stores the sums of all parts of the vectors.
template <class Real, class Terms>
void sum_all_parts(const StridedVector<const Real>& a, const StridedVector<const Real>& b, Real* to) {
    constexpr std::int64_t elements = summed_in_chain / Terms::numbers;
    constexpr int few = 4;
    std::int64_t done = 0;
    const auto next_sums = [&] { return to + done / elements * Terms::sums; };
    if (lanes < Real >> 1 && a.increment == 1 && b.increment == 1) {
        constexpr int vectors = vectors_at_once<Real>;
        const auto sum_next_parts = [&](const auto& sum_them, int count) {
            sum_them(a.data + done * Terms::numbers, b.data + done * Terms::numbers, count, next_sums());
            done += count * elements;
        };
        while (a.count - done >= vectors * lanes<Real> * elements)
            sum_next_parts(sum_parts<vectors, Terms, Real>, vectors * lanes<Real>);
        while (a.count - done > few * elements) {
            const std::int64_t left = (a.count - done) / elements;
            sum_next_parts(sum_parts<1, Terms, Real>, left < lanes<Real> ? static_cast<int>(left) : lanes<Real>);
        }
    }
    for (; done < a.count; done += few * elements) sum_few_parts<few, Terms>(a, b, done, next_sums());
}

template <class Real, class Terms>
void dot_blocks(const StridedVector<const Real>& a, const StridedVector<const Real>& b, double /*scale*/, Real* to) {
    constexpr std::int64_t numbers = Terms::numbers;
    constexpr std::int64_t parts = summed_at_once / summed_in_chain;
    constexpr std::int64_t blocks = 2;  // two blocks have enough parts to fill `vectors_at_once` vectors
    constexpr std::int64_t elements = blocks * summed_at_once / numbers;
    for (std::int64_t first = 0; first < a.count; first += elements, to += blocks * Terms::sums) {
        const std::int64_t count = a.count - first < elements ? a.count - first : elements;
        Real sums[blocks * parts * Terms::sums];
        sum_all_parts<Real, Terms>({a.data + first * a.increment * numbers, a.increment, count},
                                   {b.data + first * b.increment * numbers, b.increment, count}, sums);
        for (std::int64_t part = 0; part * summed_in_chain < count * numbers; ++part)
            for (int i = 0; i < Terms::sums; ++i) {
                const Real of_part = sums[part * Terms::sums + i];
                Real& sum = to[part / parts * Terms::sums + i];
                sum = part % parts == 0 ? of_part : sum + of_part;
            }
    }
}

/// Adds a number to a sum, and the rounding error of the addition to `lost`.
template <class V>
inline void add_with_error(V number, V& sum, V& lost) {
    const V before = sum;
    sum = before + number;
    const V part = sum - before;
    lost = lost + ((before - (sum - part)) + (number - part));  // this is the exact rounding error (Knuth)
}

// Each of the following types describes the terms of a sum in double precision. Successive numbers are added to
// `sums` sums in turn.

struct MagnitudeTerm {
    static constexpr bool has_two_vectors = false;
    static constexpr int sums = 32;
    template <class V>
    void add(V a, V, V& sum, V&) const {
        sum = sum + magnitude(a);
    }
};

template <class Real>
struct SquareTerm {
    static constexpr bool has_two_vectors = false;
    static constexpr bool are_exact = sizeof(Real) == sizeof(float);
    static constexpr int sums = are_exact ? 32 : 16;
    double scale;
    template <class V>
    void add(V a, V, V& sum, V& lost) const {
        if constexpr (are_exact) {
            sum = fused(a, a, sum);
        } else {
            const V scaled = a * broadcast(scale);
            const V square = scaled * scaled;
            add_with_error(square, sum, lost);
            lost = lost + fused(scaled, scaled, -square);
        }
    }
};

struct FloatProductTerm {
    static constexpr bool has_two_vectors = true;
    static constexpr int sums = 16;
    template <class V>
    void add(V a, V b, V& sum, V& lost) const {
        add_with_error(a * b, sum, lost);  // the product is exact
    }
};

template <class Real, int width, class Terms>
void sum_interleaved(const Terms& terms, const StridedVector<const Real>& a, const StridedVector<const Real>& b,
                     double* to) {
    constexpr int vectors = Terms::sums / lanes<double>;
    const std::int64_t numbers = a.count * width;
    const bool are_adjacent = a.increment == 1 && b.increment == 1;
    for (std::int64_t first = 0; first < numbers; first += summed_in_turn, to += 2) {
        Vector<double> sum[vectors] = {};
        Vector<double> lost[vectors] = {};
        const auto add = [&](const Real* of_a, const Real* of_b) {
#pragma GCC unroll 32
            for (int v = 0; v < vectors; ++v)
                terms.add(load_as_doubles(of_a + v * lanes<double>), load_as_doubles(of_b + v * lanes<double>),
                          sum[v], lost[v]);
        };
        // Without prefetching, sums of numbers outside the second-level cache take up to three times as long.
        const auto prefetch = [](const Real* from) {
            constexpr int ahead = 2048 / static_cast<int>(sizeof(Real));
            constexpr int line = 64 / static_cast<int>(sizeof(Real));
#pragma GCC unroll 4
            for (int i = 0; i < Terms::sums; i += line) __builtin_prefetch(from + ahead + i, 0, 3);
        };
        const std::int64_t end = numbers - first < summed_in_turn ? numbers : first + summed_in_turn;
        std::int64_t at = first;
        for (; are_adjacent && at + Terms::sums <= end; at += Terms::sums) {
            prefetch(a.data + at);
            if (Terms::has_two_vectors) prefetch(b.data + at);
            add(a.data + at, b.data + at);
        }
        for (; at < end; at += Terms::sums) {
            Real of_a[Terms::sums] = {};  // the numbers beyond the end are zeros, which change no sum
            Real of_b[Terms::sums] = {};
            for (std::int64_t i = 0; i < Terms::sums && at + i < end; ++i) {
                const std::int64_t element = (at + i) / width, part = (at + i) % width;
                of_a[i] = a.data[element * a.increment * width + part];
                of_b[i] = b.data[element * b.increment * width + part];
            }
            add(of_a, of_b);
        }
        double sums[2][Terms::sums];
        for (int v = 0; v < vectors; ++v) {
            store(sums[0] + v * lanes<double>, sum[v]);
            store(sums[1] + v * lanes<double>, lost[v]);
        }
        to[0] = to[1] = 0;
        for (int i = 0; i < Terms::sums; ++i) {
            add_with_error(sums[0][i], to[0], to[1]);
            to[1] = to[1] + sums[1][i];
        }
    }
}

template <class Real, int width>
void sum_magnitudes(const StridedVector<const Real>& a, const StridedVector<const Real>& b, double /*scale*/,
                    double* to) {
    sum_interleaved<Real, width>(MagnitudeTerm{}, a, b, to);
}

template <class Real, int width>
void sum_squares(const StridedVector<const Real>& a, const StridedVector<const Real>& b, double scale, double* to) {
    sum_interleaved<Real, width>(SquareTerm<Real>{scale}, a, b, to);
}

inline void dot_in_double(const StridedVector<const float>& a, const StridedVector<const float>& b, double /*scale*/,
                          double* to) {
    sum_interleaved<float, 1>(FloatProductTerm{}, a, b, to);
}

template <class Real>
constexpr VectorLoops<Real> loops_over_vectors{
    {add_columns<Real, 1>, add_columns<Real, 2>},
    {{add_rows<SumsBefore::are_continued, Real, 1>, add_rows<SumsBefore::are_continued, Real, 2>},
     {add_rows<SumsBefore::are_added_to, Real, 1>, add_rows<SumsBefore::are_added_to, Real, 2>},
     {add_rows<SumsBefore::are_replaced, Real, 1>, add_rows<SumsBefore::are_replaced, Real, 2>}},
    {add_multiple<Real, 1>, add_multiple<Real, 2>},
    {add_to_result<Real, 1>, add_to_result<Real, 2>},
    {rotate<Real, 1>, rotate<Real, 2>},
    {dot_blocks<Real, RealProductTerm>, dot_blocks<Real, ComplexProductTerm<false>>},
    dot_blocks<Real, ComplexProductTerm<true>>,
    {sum_magnitudes<Real, 1>, sum_magnitudes<Real, 2>},
    {sum_squares<Real, 1>, sum_squares<Real, 2>}};

/// All loops of an instruction set. The template parameters give the size of a tile as the number of vectors in a
/// column, and the number of columns.
template <int large_vectors, int large_columns, int small_vectors, int small_columns, int unpacked_columns>
constexpr LoopsOfInstructionSet all_loops{
    {tile_loops<float, large_vectors, large_columns, unpacked_columns>,
     tile_loops<float, small_vectors, small_columns, unpacked_columns>, loops_over_vectors<float>},
    {tile_loops<double, large_vectors, large_columns, unpacked_columns>,
     tile_loops<double, small_vectors, small_columns, unpacked_columns>, loops_over_vectors<double>},
    dot_in_double};

}  // namespace
}  // namespace fp32shim::blas
