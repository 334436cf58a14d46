// The loops of products of a matrix and a vector. Only loops_*.cpp files include this file, through
// vector_sum_loops.hpp. They include no header whose functions other files inline (see tile_loops.hpp). Vectors run
// over rows, never along a sum.
#pragma once

#include <cstdint>

#include "shim/blas/multiply/tile_loops.hpp"
#include "shim/blas/multiply/vector_registers.hpp"
#include "shim/blas/multiply/vector_sums.hpp"

namespace fp32shim::blas {
namespace {

/// The real parts and the imaginary parts of adjacent complex numbers. Both vectors have the same order, which
/// differs from the order in memory.
template <class Real>
struct ComplexParts {
    Vector<Real> re, im;
};

template <class Real>
inline ComplexParts<Real> complex_parts(Vector<Real> low, Vector<Real> high) {
    if constexpr (block_lanes<Real> == 4)
        return {shuffle_blocks<Real, 0, 2, 4, 6>(low, high), shuffle_blocks<Real, 1, 3, 5, 7>(low, high)};
    else if constexpr (block_lanes<Real> == 2)
        return {shuffle_blocks<Real, 0, 2>(low, high), shuffle_blocks<Real, 1, 3>(low, high)};
    else
        return {low, high};
}

template <class Real>
inline Vector<Real> low_interleaved(const ComplexParts<Real>& parts) {
    if constexpr (block_lanes<Real> == 4)
        return shuffle_blocks<Real, 0, 4, 1, 5>(parts.re, parts.im);
    else if constexpr (block_lanes<Real> == 2)
        return shuffle_blocks<Real, 0, 2>(parts.re, parts.im);
    else
        return parts.re;
}
template <class Real>
inline Vector<Real> high_interleaved(const ComplexParts<Real>& parts) {
    if constexpr (block_lanes<Real> == 4)
        return shuffle_blocks<Real, 2, 6, 3, 7>(parts.re, parts.im);
    else if constexpr (block_lanes<Real> == 2)
        return shuffle_blocks<Real, 1, 3>(parts.re, parts.im);
    else
        return parts.im;
}

/// Reads and writes the numbers of a vector. If there are fewer numbers than a vector has, `read` fills the vector
/// with copies of the first element, so that no floating-point exception is raised that the product would not raise.
template <class Real, int width, bool is_whole>
struct VectorAccess {
    static Vector<Real> read(const Real* from, int count) {
        if constexpr (is_whole)
            return load(from);
        else
            return load_part(from, count, broadcast_element<Real, width>(from));
    }
    static void write(Real* to, Vector<Real> value, int count) {
        if constexpr (is_whole)
            store(to, value);
        else
            store_part(to, value, count);
    }
};

/// Adds multiples of some adjacent columns to a vector of sums. The rows are adjacent in memory.
template <class Real, int columns, bool is_whole>
inline void add_real_rows(const Real* from, std::int64_t of_column, int present, const Vector<Real>* factors,
                          Real* sums) {
    using At = VectorAccess<Real, 1, is_whole>;
    Vector<Real> sum = At::read(sums, present);
#pragma GCC unroll 8
    for (int j = 0; j < columns; ++j) sum = fused(At::read(from + j * of_column, present), factors[j], sum);
    At::write(sums, sum, present);
}

/// Adds multiples of some adjacent columns of complex elements to two vectors of sums. `factors` points to the
/// factors for the real parts of the sums, as VectorLoops::AddProduct describes them; the factors for the imaginary
/// parts follow `of_imaginary` numbers later.
template <class Real, int columns, bool is_whole>
inline void add_complex_rows(const Real* from, std::int64_t of_column, int present, const Real* factors,
                             std::int64_t of_imaginary, Real* sums) {
    using At = VectorAccess<Real, 2, is_whole>;
    const int low = present < lanes<Real> ? present : lanes<Real>;
    const int high = present - low;
    const int of_high = high > 0 ? lanes<Real> : 0;  // if there are no high numbers, the address of the low ones is
                                                     // read instead
    ComplexParts<Real> sum = complex_parts<Real>(At::read(sums, low), At::read(sums + of_high, high));
#pragma GCC unroll 8
    for (int j = 0; j < columns; ++j, from += of_column) {
        const ComplexParts<Real> element = complex_parts<Real>(At::read(from, low), At::read(from + of_high, high));
        const Real* const of_re = factors + 2 * j;
        const Real* const of_im = of_re + of_imaginary;
        sum.re = fused(element.im, broadcast(of_re[1]), fused(element.re, broadcast(of_re[0]), sum.re));
        sum.im = fused(element.im, broadcast(of_im[1]), fused(element.re, broadcast(of_im[0]), sum.im));
    }
    At::write(sums, low_interleaved(sum), low);
    At::write(sums + of_high, high_interleaved(sum), high);
}

template <class Real, int width, int columns>
inline void add_few_columns(const StridedMatrix<Real>& a, std::int64_t first, const Real* factors, Real* sums) {
    constexpr int step = width * lanes<Real>;
    const std::int64_t numbers = width * a.rows;
    const std::int64_t of_column = width * a.of_column;
    const Real* const from = a.data + first * of_column;
    const auto run = [&](const auto& add_whole, const auto& add_part) {
        std::int64_t i = 0;
        for (; i + step <= numbers; i += step) add_whole(i);
        if (i < numbers) add_part(i, static_cast<int>(numbers - i));
    };
    if constexpr (width == 1) {
        Vector<Real> vectors[columns];
#pragma GCC unroll 8
        for (int j = 0; j < columns; ++j) vectors[j] = broadcast(factors[first + j]);
        run([&](std::int64_t i) { add_real_rows<Real, columns, true>(from + i, of_column, step, vectors, sums + i); },
            [&](std::int64_t i, int present) {
                add_real_rows<Real, columns, false>(from + i, of_column, present, vectors, sums + i);
            });
    } else {
        const Real* const own = factors + 2 * first;
        // The processor does not prefetch the next columns by itself, since this loop reads a short part of each. For
        // real columns, prefetching saves no time, and costs time if they are in a cache.
        const auto prefetch_next_columns = [&](std::int64_t i) {
            constexpr int line = 64 / static_cast<int>(sizeof(Real));
#pragma GCC unroll 8
            for (int j = columns; j < 2 * columns; ++j)
#pragma GCC unroll 2
                for (int at = 0; at < step; at += line) __builtin_prefetch(from + j * of_column + i + at, 0, 3);
        };
        run(
            [&](std::int64_t i) {
                prefetch_next_columns(i);
                add_complex_rows<Real, columns, true>(from + i, of_column, step, own, 2 * a.columns, sums + i);
            },
            [&](std::int64_t i, int present) {
                add_complex_rows<Real, columns, false>(from + i, of_column, present, own, 2 * a.columns, sums + i);
            });
    }
}

template <class Real, bool is_whole>
inline void add_real_multiple(const Real* x, int present, const Real* factors, const Real* alpha, Real* to) {
    using At = VectorAccess<Real, 1, is_whole>;
    const Vector<Real> product = fused(At::read(x, present), broadcast(factors[0]), Vector<Real>{});
    At::write(to, fused(broadcast(alpha[0]), product, At::read(to, present)), present);
}

/// Adds a multiple of the complex elements in two vectors to the elements at `to`. add_complex_sums() in
/// tile_loops.hpp tells why `alpha_is_real` is a template parameter.
template <class Real, bool is_whole, bool alpha_is_real>
inline void add_complex_multiple(const Real* x, int present, const Real* factors, const Real* alpha, Real* to) {
    using At = VectorAccess<Real, 2, is_whole>;
    const int low = present < lanes<Real> ? present : lanes<Real>;
    const int high = present - low;
    const int of_high = high > 0 ? lanes<Real> : 0;
    const ComplexParts<Real> element = complex_parts<Real>(At::read(x, low), At::read(x + of_high, high));
    const auto product = [&](const Real* by) {
        return fused(element.im, broadcast(by[1]), fused(element.re, broadcast(by[0]), Vector<Real>{}));
    };
    const Vector<Real> re = product(factors);
    const Vector<Real> im = product(factors + 2);
    ComplexParts<Real> sum = complex_parts<Real>(At::read(to, low), At::read(to + of_high, high));
    sum = {fused(broadcast(alpha[0]), re, sum.re), fused(broadcast(alpha[0]), im, sum.im)};
    if constexpr (!alpha_is_real)
        sum = {fused(broadcast(-alpha[1]), im, sum.re), fused(broadcast(alpha[1]), re, sum.im)};
    At::write(to, low_interleaved(sum), low);
    At::write(to + of_high, high_interleaved(sum), high);
}

template <class Real, int width>
void add_multiple(const Real* x, std::int64_t count, const Real* factors, const Real* alpha, Real* to) {
    constexpr int step = width * lanes<Real>;
    const std::int64_t numbers = width * count;
    const auto run = [&](const auto& add_whole, const auto& add_part) {
        std::int64_t i = 0;
        for (; i + step <= numbers; i += step) add_whole(x + i, step, factors, alpha, to + i);
        if (i < numbers) add_part(x + i, static_cast<int>(numbers - i), factors, alpha, to + i);
    };
    if constexpr (width == 1)
        run(add_real_multiple<Real, true>, add_real_multiple<Real, false>);
    else if (alpha[1] == 0)
        run(add_complex_multiple<Real, true, true>, add_complex_multiple<Real, false, true>);
    else
        run(add_complex_multiple<Real, true, false>, add_complex_multiple<Real, false, false>);
}

template <class Real>
void rotate_pair(Real& x, Real& y, Real cosine, Real sine) {
    const Real old = x;
    x = fused(cosine, old, sine * y);
    y = fused(cosine, y, -(sine * old));
}

template <class Real, int width>
void rotate(const StridedVector<Real>& x, const StridedVector<Real>& y, Real cosine, Real sine) {
    if (x.increment == 1 && y.increment == 1) {
        Real* __restrict of_x = x.data;
        Real* __restrict of_y = y.data;
        for (std::int64_t i = 0; i < x.count * width; ++i) rotate_pair(of_x[i], of_y[i], cosine, sine);
        return;
    }
    for (std::int64_t i = 0; i < x.count; ++i)
        for (int part = 0; part < width; ++part)
            rotate_pair(x.data[i * x.increment * width + part], y.data[i * y.increment * width + part], cosine, sine);
}

/// A function that returns the address of a row, for rows at equal distances.
template <class Real>
struct StridedRows {
    const Real* data;
    std::int64_t of_row;
    const Real* operator()(int row) const { return data + row * of_row; }
};

/// A function that returns the address of a row, for fewer rows than a vector has numbers. The last row takes the
/// place of the missing rows.
template <class Real>
struct PaddedRows {
    const Real* of[lanes<Real>];
    PaddedRows(const StridedRows<Real>& rows, int count) {
        for (int row = 0; row < lanes<Real>; ++row) of[row] = rows(row < count ? row : count - 1);
    }
    const Real* operator()(int row) const { return of[row]; }
};

/// Loads numbers of as many rows as a vector has numbers, beginning at index `at` of each row, and transposes them,
/// so that each vector in `to` has one number of each row.
template <class Real, class Rows>
[[gnu::always_inline]] inline void load_transposed(const Rows& rows, std::int64_t at, Vector<Real>* to) {
    constexpr int wide = block_lanes<Real>;
    if constexpr (wide == 1) {
        to[0] = rows(0)[at];
    } else {
        Vector<Real> loaded[wide];
#pragma GCC unroll 4
        for (int i = 0; i < wide; ++i) {
            const Real* from[lanes<Real> / wide];
#pragma GCC unroll 4
            for (int block = 0; block < lanes<Real> / wide; ++block) from[block] = rows(block * wide + i) + at;
            loaded[i] = load_blocks(from);
        }
        if constexpr (wide == 2) {
            to[0] = shuffle_blocks<Real, 0, 2>(loaded[0], loaded[1]);
            to[1] = shuffle_blocks<Real, 1, 3>(loaded[0], loaded[1]);
        } else {
            const auto low = shuffle_blocks<Real, 0, 4, 1, 5>(loaded[0], loaded[1]);
            const auto high = shuffle_blocks<Real, 2, 6, 3, 7>(loaded[0], loaded[1]);
            const auto other_low = shuffle_blocks<Real, 0, 4, 1, 5>(loaded[2], loaded[3]);
            const auto other_high = shuffle_blocks<Real, 2, 6, 3, 7>(loaded[2], loaded[3]);
            to[0] = shuffle_blocks<Real, 0, 1, 4, 5>(low, other_low);
            to[1] = shuffle_blocks<Real, 2, 3, 6, 7>(low, other_low);
            to[2] = shuffle_blocks<Real, 0, 1, 4, 5>(high, other_high);
            to[3] = shuffle_blocks<Real, 2, 3, 6, 7>(high, other_high);
        }
    }
}
template <class Real, class Rows>
inline Vector<Real> gather_numbers(const Rows& rows, std::int64_t at) {
    Real numbers[lanes<Real>];
    for (int i = 0; i < lanes<Real>; ++i) numbers[i] = rows(i)[at];
    return load(numbers);
}

/// The number of vectors of sums that loops with load_transposed() compute at the same time. Each vector has the sums
/// of lanes<Real> rows. Several vectors are quicker than one, since each addition to a sum waits for the previous
/// one. Together they have at most 16 rows, since more would not stay in the first-level cache if the distance
/// between rows is a power of two.
template <class Real>
inline constexpr int vectors_at_once = lanes<Real> == 16  ? 1
                                       : lanes<Real> == 8 ? 2
                                                          : 4;

/// A function that returns the address of a row, counted from the first row of the vector with the index `vector`.
template <class Real, class Rows>
struct RowsOfVector {
    const Rows& rows;
    int vector;
    const Real* operator()(int row) const { return rows(vector * lanes<Real> + row); }
};

/// Adds terms to the sums of as many rows as `vectors` vectors have numbers. The numbers of a row are adjacent in
/// memory.
template <class Real, int width, int vectors, class Rows>
[[gnu::always_inline]] inline TileSums<Real, vectors, width> add_terms(const Rows& rows, std::int64_t first,
                                                                       std::int64_t end, std::int64_t depth,
                                                                       const Real* factors,
                                                                       TileSums<Real, vectors, width> sums) {
    constexpr int wide = block_lanes<Real>;
    const auto add = [&](Vector<Real> numbers, int v, std::int64_t p) {
#pragma GCC unroll 2
        for (int part = 0; part < width; ++part)
            sums.of[part][v] = fused(numbers, broadcast(factors[part * depth + p]), sums.of[part][v]);
    };
    std::int64_t p = first;
    for (; p + wide <= end; p += wide) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) {
            Vector<Real> numbers[wide];
            load_transposed<Real>(RowsOfVector<Real, Rows>{rows, v}, p, numbers);
#pragma GCC unroll 4
            for (int i = 0; i < wide; ++i) add(numbers[i], v, p + i);
        }
    }
    for (; p < end; ++p) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) add(gather_numbers<Real>(RowsOfVector<Real, Rows>{rows, v}, p), v, p);
    }
    return sums;
}

template <SumsBefore before, class Real, int width, int vectors, class Rows>
inline void add_few_rows(const Rows& rows, int present, std::int64_t depth, const Real* factors, Real* sums) {
    using RowSums = TileSums<Real, vectors, width>;
    Real parts[width][vectors * lanes<Real>];
    RowSums of_rows{};
    const auto for_vectors = [&](const auto& act) {
#pragma GCC unroll 2
        for (int part = 0; part < width; ++part)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v) act(parts[part] + v * lanes<Real>, of_rows.of[part][v]);
    };
    if constexpr (before != SumsBefore::are_replaced) {
        for (int row = 0; row < vectors * lanes<Real>; ++row)
            for (int part = 0; part < width; ++part)
                parts[part][row] = sums[(row < present ? row : present - 1) * width + part];
        for_vectors([](const Real* from, Vector<Real>& sum) { sum = load(from); });
    }
    const auto sums_of_part = [&](std::int64_t first, std::int64_t count) {
        return add_terms<Real, width, vectors>(rows, first, first + count, depth, factors, RowSums{});
    };
    if constexpr (before == SumsBefore::are_continued)
        of_rows = add_terms<Real, width, vectors>(rows, 0, depth, depth, factors, of_rows);
    else if constexpr (before == SumsBefore::are_added_to)
        add_parts(0, depth, sums_of_part, of_rows);
    else
        of_rows = sums_over_depth(depth, sums_of_part);
    for_vectors([](Real* to, const Vector<Real>& sum) { store(to, sum); });
    for (int i = 0; i < width * present; ++i) sums[i] = parts[i % width][i / width];
}

template <class Real, int width>
void add_columns(const StridedMatrix<Real>& a, const Real* factors, Real* sums) {
    constexpr int most = 8;
    std::int64_t j = 0;
    for (; j + most <= a.columns; j += most) add_few_columns<Real, width, most>(a, j, factors, sums);
    for (; j + 4 <= a.columns; j += 4) add_few_columns<Real, width, 4>(a, j, factors, sums);
    for (; j < a.columns; ++j) add_few_columns<Real, width, 1>(a, j, factors, sums);
}

template <SumsBefore before, class Real, int width>
void add_rows(const StridedMatrix<Real>& a, const Real* factors, Real* sums) {
    const std::int64_t depth = width * a.columns;
    const auto rows_from = [&](std::int64_t i) {
        return StridedRows<Real>{a.data + width * i * a.of_row, width * a.of_row};
    };
    constexpr int vectors = vectors_at_once<Real>;
    std::int64_t i = 0;
    for (; i + vectors * lanes<Real> <= a.rows; i += vectors * lanes<Real>)
        add_few_rows<before, Real, width, vectors>(rows_from(i), vectors * lanes<Real>, depth, factors,
                                                   sums + width * i);
    for (; i < a.rows; i += lanes<Real>) {
        const int present = a.rows - i < lanes<Real> ? static_cast<int>(a.rows - i) : lanes<Real>;
        add_few_rows<before, Real, width, 1>(PaddedRows<Real>(rows_from(i), present), present, depth, factors,
                                             sums + width * i);
    }
}

template <class Real, int width>
void add_to_result(const Real* sums, const StridedVector<Real>& result, const Real* alpha, const Real* beta) {
    const ComplexNumber<Real> by{alpha[0], width == 2 ? alpha[1] : 0}, scale{beta[0], width == 2 ? beta[1] : 0};
    const Real* const im = width == 2 ? sums + 1 : nullptr;
    result.increment == 1 ? add_sums_to<width, true>(sums, im, result, by, scale)
                          : add_sums_to<width, false>(sums, im, result, by, scale);
}

}  // namespace
}  // namespace fp32shim::blas
