// The innermost loops, over vectors of the instruction set that the including file is compiled for. Only the
// loops_*.cpp files include this file. They include no header whose functions other files inline: the linker could
// take the copy of a function from a loops_*.cpp file, and the processor may lack the copy's instructions.
//
// Every element of a tile is a sum of short chains of fused multiply-adds (see summed_in_chain). Vectors run over
// rows, never over the sum, so all instruction sets give the same bits.
#pragma once

#include <cstdint>

#include "shim/blas/multiply/vector_registers.hpp"
#include "shim/blas/multiply/vector_sums.hpp"

namespace fp32shim::blas {
namespace {

/// The sums of a tile, in registers.
template <class Real, int vectors, int columns>
struct TileSums {
    static constexpr int vector_count = vectors;
    static constexpr int column_count = columns;
    Vector<Real> of[columns][vectors];
};

/// Adds the parts of a block, from the number with index `first` on, to `sums`. `sums_of_part(p, count)` returns the
/// sums of `count` numbers from index p on.
template <class Sums, class SumsOfPart>
[[gnu::always_inline]] inline void add_parts(std::int64_t first, std::int64_t depth, const SumsOfPart& sums_of_part,
                                             Sums& sums) {
    for (std::int64_t p = first; p < depth; p += summed_in_chain) {
        const Sums part = sums_of_part(p, depth - p < summed_in_chain ? depth - p : summed_in_chain);
#pragma GCC unroll 16
        for (int j = 0; j < sums.column_count; ++j)
#pragma GCC unroll 16
            for (int v = 0; v < sums.vector_count; ++v) sums.of[j][v] = sums.of[j][v] + part.of[j][v];
    }
}

/// Returns the sums of all parts of a block of `depth` numbers.
template <class SumsOfPart>
[[gnu::always_inline]] inline auto sums_over_depth(std::int64_t depth, const SumsOfPart& sums_of_part) {
    auto sums = sums_of_part(0, depth < summed_in_chain ? depth : summed_in_chain);
    add_parts(summed_in_chain, depth, sums_of_part, sums);
    return sums;
}

template <class Real, int vectors, int columns>
[[gnu::always_inline]] inline TileSums<Real, vectors, columns> sums_of_part(const Real* left, const Real* right,
                                                                            std::int64_t depth) {
    constexpr int rows = vectors * lanes<Real>;
    TileSums<Real, vectors, columns> sums;
#pragma GCC unroll 16
    for (int j = 0; j < columns; ++j)
#pragma GCC unroll 16
        for (int v = 0; v < vectors; ++v) sums.of[j][v] = broadcast(Real{0});
    for (std::int64_t p = 0; p < depth; ++p) {
        Vector<Real> factors[vectors];
#pragma GCC unroll 16
        for (int v = 0; v < vectors; ++v) factors[v] = load(left + p * rows + v * lanes<Real>);
#pragma GCC unroll 16
        for (int j = 0; j < columns; ++j) {
            const Vector<Real> factor = broadcast(right[p * columns + j]);
#pragma GCC unroll 16
            for (int v = 0; v < vectors; ++v) sums.of[j][v] = fused(factors[v], factor, sums.of[j][v]);
        }
    }
    return sums;
}

template <class Real, int vectors, int columns>
[[gnu::always_inline]] inline TileSums<Real, vectors, columns> sums_of(const Real* left, const Real* right,
                                                                       std::int64_t depth) {
    return sums_over_depth(depth, [&](std::int64_t first, std::int64_t count) {
        return sums_of_part<Real, vectors, columns>(left + first * vectors * lanes<Real>, right + first * columns,
                                                    count);
    });
}

template <class Real, int vectors, int columns>
void sum_tile(const Real* left, const Real* right, std::int64_t depth, Real* tile) {
    const auto sums = sums_of<Real, vectors, columns>(left, right, depth);
#pragma GCC unroll 16
    for (int j = 0; j < columns; ++j)
#pragma GCC unroll 16
        for (int v = 0; v < vectors; ++v) store(tile + (j * vectors + v) * lanes<Real>, sums.of[j][v]);
}

template <class Real, int vectors, int columns>
[[gnu::always_inline]] inline void add_tile(const TileSums<Real, vectors, columns>& sums,
                                            const ResultTile<Real>& result) {
    const Vector<Real> alpha = broadcast(result.alpha);
    const Vector<Real> beta = broadcast(result.beta);
#pragma GCC unroll 16
    for (int j = 0; j < columns; ++j) {
        if (j >= result.columns) break;
#pragma GCC unroll 16
        for (int v = 0; v < vectors; ++v) {
            Real* const at = result.data + j * result.ld + v * lanes<Real>;
            const int present = result.rows - v * lanes<Real>;
            const auto old = [&](const auto& load_it) {
                if (result.beta == 0) return broadcast(Real{0});
                return result.beta == 1 ? load_it() : beta * load_it();
            };
            if (present >= lanes<Real>) {
                store(at, fused(alpha, sums.of[j][v], old([&] { return load(at); })));
            } else if (present > 0) {
                const Vector<Real> before = old([&] { return load_part(at, present); });
                store_part(at, fused(alpha, sums.of[j][v], before), present);
            }
        }
    }
}

/// The term that an old element adds to the new one: nothing, the old element, the old element times a real beta, or
/// the old element times a complex beta.
enum class Old { none, as_it_is, scaled, turned };

/// Sets each real element to alpha sum + beta element. Successive sums are `of_sum` numbers apart.
template <Old old, int of_sum, bool is_adjacent, class Real>
void add_real_sums(const Real* __restrict sums, const StridedVector<Real>& result, Real alpha, Real beta) {
    Real* __restrict to = result.data;
    for (std::int64_t i = 0; i < result.count; ++i, to += is_adjacent ? 1 : result.increment) {
        const Real before = old == Old::none ? 0 : old == Old::as_it_is ? *to : beta * *to;
        *to = fused(alpha, sums[i * of_sum], before);
    }
}

/// Sets each complex element to alpha sum + beta element. An alpha without imaginary part counts as real, since zero
/// times infinity would be NaN. The conditions are template parameters, since gcc may compute both sides of a
/// run-time condition, and so raise the flag of an invalid operation.
template <Old old, int of_sum, bool is_adjacent, bool alpha_is_real, class Real>
void add_complex_sums(const Real* __restrict re, const Real* __restrict im, const StridedVector<Real>& result,
                      ComplexNumber<Real> alpha, ComplexNumber<Real> beta) {
    Real* __restrict to = result.data;
    for (std::int64_t i = 0; i < result.count; ++i, to += is_adjacent ? 2 : 2 * result.increment) {
        ComplexNumber<Real> sum{0, 0};
        if constexpr (old == Old::as_it_is) sum = {to[0], to[1]};
        if constexpr (old == Old::scaled || old == Old::turned) sum = {beta.re * to[0], beta.re * to[1]};
        if constexpr (old == Old::turned) sum = {fused(-beta.im, to[1], sum.re), fused(beta.im, to[0], sum.im)};
        const Real of_re = re[i * of_sum], of_im = im[i * of_sum];
        sum = {fused(alpha.re, of_re, sum.re), fused(alpha.re, of_im, sum.im)};
        if constexpr (!alpha_is_real) sum = {fused(-alpha.im, of_im, sum.re), fused(alpha.im, of_re, sum.im)};
        to[0] = sum.re;
        to[1] = sum.im;
    }
}

template <Old old, int of_sum, bool is_adjacent, class Real>
void add_elements(const Real* re, const Real* im, const StridedVector<Real>& result, ComplexNumber<Real> alpha,
                  ComplexNumber<Real> beta) {
    if (im == nullptr)
        add_real_sums<old, of_sum, is_adjacent>(re, result, alpha.re, beta.re);
    else if (alpha.im == 0)
        add_complex_sums<old, of_sum, is_adjacent, true>(re, im, result, alpha, beta);
    else
        add_complex_sums<old, of_sum, is_adjacent, false>(re, im, result, alpha, beta);
}

/// Sets each element to alpha sum + beta element, by the loop for this alpha and beta. `im` is null for real
/// elements.
template <int of_sum, bool is_adjacent, class Real>
void add_sums_to(const Real* re, const Real* im, const StridedVector<Real>& result, ComplexNumber<Real> alpha,
                 ComplexNumber<Real> beta) {
    if (beta.im != 0)
        add_elements<Old::turned, of_sum, is_adjacent>(re, im, result, alpha, beta);
    else if (beta.re == 0)
        add_elements<Old::none, of_sum, is_adjacent>(re, im, result, alpha, beta);
    else if (beta.re == 1)
        add_elements<Old::as_it_is, of_sum, is_adjacent>(re, im, result, alpha, beta);
    else
        add_elements<Old::scaled, of_sum, is_adjacent>(re, im, result, alpha, beta);
}

template <class Real>
void add_column(const Real* re, const Real* im, Real* to, int count, ComplexNumber<Real> alpha,
                ComplexNumber<Real> beta) {
    add_sums_to<1, true>(re, im, {to, 1, count}, alpha, beta);
}

template <class Real, int vectors, int columns>
void add_to_result(const Real* left, const Real* right, std::int64_t depth, const ResultTile<Real>& result) {
    add_tile(sums_of<Real, vectors, columns>(left, right, depth), result);
}

template <class Real, int vectors, int columns>
void add_sums(const Real* tile, const ResultTile<Real>& result) {
    TileSums<Real, vectors, columns> sums;
    __builtin_memcpy(&sums, tile, sizeof sums);
    add_tile(sums, result);
}

template <class Real, bool is_whole, int columns>
[[gnu::always_inline]] inline TileSums<Real, 1, columns> sum_unpacked(const UnpackedFactors<Real>& factors,
                                                                      std::int64_t depth,
                                                                      const ResultTile<Real>& result) {
    return sums_over_depth(depth, [&](std::int64_t first, std::int64_t count) {
        TileSums<Real, 1, columns> sums;
        const Real* right[columns];
#pragma GCC unroll 16
        for (int j = 0; j < columns; ++j) {
            sums.of[j][0] = broadcast(Real{0});
            right[j] = factors.right + (j < result.columns ? j : 0) * factors.right_of_column;
        }
        const Real* left = factors.left + first * factors.left_of_summed;
        std::int64_t at = first * factors.right_of_summed;
        for (std::int64_t p = 0; p < count; ++p, left += factors.left_of_summed, at += factors.right_of_summed) {
            const Vector<Real> factor = is_whole ? load(left) : load_part(left, result.rows);
#pragma GCC unroll 16
            for (int j = 0; j < columns; ++j) sums.of[j][0] = fused(factor, broadcast(right[j][at]), sums.of[j][0]);
        }
        return sums;
    });
}

template <class Real, int columns>
void add_unpacked(const UnpackedFactors<Real>& factors, std::int64_t depth, const ResultTile<Real>& result) {
    if (result.rows == lanes<Real>)
        add_tile(sum_unpacked<Real, true, columns>(factors, depth, result), result);
    else
        add_tile(sum_unpacked<Real, false, columns>(factors, depth, result), result);
}

/// The number of vectors that hold one unknown for all right-hand sides, and the number of unknowns that are solved
/// together.
enum : int { vectors_of_unknowns = 4, unknowns_at_once = 2 };

template <class Real>
constexpr int solved_columns = vectors_of_unknowns* lanes<Real>;

/// Solves for `rows` unknowns, beginning with the unknown `first`. Sums up the terms of the unknowns before `first`,
/// then the terms of the `rows` unknowns themselves, and adds the sums to the right-hand sides.
template <class Real, int rows>
[[gnu::always_inline]] inline void solve_rows(const Real* triangle, int first, bool has_unit_diagonal, Real* unknowns,
                                              std::int64_t of_unknown) {
    const auto at = [&](int row, int v) { return unknowns + row * of_unknown + v * lanes<Real>; };
    Vector<Real> sum[rows][vectors_of_unknowns];
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
        for (int v = 0; v < vectors_of_unknowns; ++v) sum[r][v] = broadcast(Real{0});
    for (int j = 0; j < first; ++j)
#pragma GCC unroll 16
        for (int v = 0; v < vectors_of_unknowns; ++v) {
            const Vector<Real> known = load(at(j, v));
#pragma GCC unroll 16
            for (int r = 0; r < rows; ++r)
                sum[r][v] = fused(broadcast(triangle[(first + r) * solved_at_once + j]), known, sum[r][v]);
        }
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
        for (int v = 0; v < vectors_of_unknowns; ++v) {
            const Real* const row = triangle + (first + r) * solved_at_once + first;
#pragma GCC unroll 16
            for (int j = 0; j < r; ++j) sum[r][v] = fused(broadcast(row[j]), load(at(first + j, v)), sum[r][v]);
            Vector<Real> x = load(at(first + r, v));
            if (first + r > 0) x = x + sum[r][v];  // without terms, adding 0 would turn -0 into 0
            if (!has_unit_diagonal) x = x / broadcast(row[r]);
            store(at(first + r, v), x);
        }
}

template <class Real>
void solve_real(const Real* triangle, int count, bool has_unit_diagonal, Real* unknowns, std::int64_t of_unknown) {
    int i = 0;
    for (; i + unknowns_at_once <= count; i += unknowns_at_once)
        solve_rows<Real, unknowns_at_once>(triangle, i, has_unit_diagonal, unknowns, of_unknown);
    for (; i < count; ++i) solve_rows<Real, 1>(triangle, i, has_unit_diagonal, unknowns, of_unknown);
}

template <class Real>
void solve_complex(const Real* triangle, int count, bool has_unit_diagonal, Real* unknowns, std::int64_t of_unknown) {
    const auto re_at = [&](int row, int v) { return unknowns + row * of_unknown + v * lanes<Real>; };
    const auto im_at = [&](int row, int v) { return re_at(row, v) + solved_columns<Real>; };
    for (int i = 0; i < count; ++i) {
        const Real* const row = triangle + 2 * i * solved_at_once;
        Vector<Real> re[vectors_of_unknowns];
        Vector<Real> im[vectors_of_unknowns];
#pragma GCC unroll 16
        for (int v = 0; v < vectors_of_unknowns; ++v) re[v] = im[v] = broadcast(Real{0});
        for (int j = 0; j < i; ++j)
#pragma GCC unroll 16
            for (int v = 0; v < vectors_of_unknowns; ++v) {
                const Vector<Real> known_re = load(re_at(j, v));
                const Vector<Real> known_im = load(im_at(j, v));
                re[v] = fused(broadcast(row[2 * j]), known_re, re[v]);
                re[v] = fused(broadcast(-row[2 * j + 1]), known_im, re[v]);
                im[v] = fused(broadcast(row[2 * j]), known_im, im[v]);
                im[v] = fused(broadcast(row[2 * j + 1]), known_re, im[v]);
            }
#pragma GCC unroll 16
        for (int v = 0; v < vectors_of_unknowns; ++v) {
            re[v] = i > 0 ? load(re_at(i, v)) + re[v] : load(re_at(i, v));
            im[v] = i > 0 ? load(im_at(i, v)) + im[v] : load(im_at(i, v));
            if (!has_unit_diagonal) {
                const Vector<Real> whole = broadcast(row[2 * i]) * re[v];
                const Vector<Real> other = broadcast(row[2 * i]) * im[v];
                const Vector<Real> old = re[v];
                re[v] = fused(broadcast(-row[2 * i + 1]), im[v], whole);
                im[v] = fused(broadcast(row[2 * i + 1]), old, other);
            }
            store(re_at(i, v), re[v]);
            store(im_at(i, v), im[v]);
        }
    }
}

template <class Real, int vectors, int columns, int unpacked_columns>
constexpr TileLoops<Real> tile_loops{
    .rows = vectors * lanes<Real>,
    .columns = columns,
    .summed_at_once = summed_at_once,
    .sum = sum_tile<Real, vectors, columns>,
    .add_to_result = add_to_result<Real, vectors, columns>,
    .add_sums = add_sums<Real, vectors, columns>,
    .add_column = add_column<Real>,
    .solve = solve_real<Real>,
    .solve_complex = solve_complex<Real>,
    .solved_columns = solved_columns<Real>,
    .unpacked = {lanes<Real>, unpacked_columns, add_unpacked<Real, unpacked_columns>}};

}  // namespace
}  // namespace fp32shim::blas
