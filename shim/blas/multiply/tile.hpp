// Tiles of a result: the unit in which a product is computed in a fixed order. `Real` is the type of the numbers,
// float or double.
#pragma once

#include <cstdint>

#include "shim/blas/multiply/fused_multiply_add.hpp"

namespace fp32shim::blas {

/// The summed numbers of one block, and of one part of a block. The products of a part are added by one chain of
/// fused multiply-adds that begins at 0. The sums of the parts are added in their order, and alpha times that sum is
/// added to C by one more fused multiply-add. A complex term counts as two numbers.
inline constexpr std::int64_t summed_at_once = 256;
inline constexpr std::int64_t summed_in_chain = 32;

/// Rows of the left factor and real columns of the right factor that are packed at once: multiples of the size of
/// every tile. A block of the left one fits in the second cache of a core, one of the right one in the third.
template <class Real>
inline constexpr std::int64_t rows_at_once = 768 / sizeof(Real);
template <class Real>
inline constexpr std::int64_t columns_at_once = 6144 / sizeof(Real);

/// The unknowns of a triangular solve that are solved one after the other, without a product of packed factors.
inline constexpr std::int64_t solved_at_once = 64;

/// Elements of a column-major result: those of one tile, or fewer at an edge.
template <class Real>
struct TileOfResult {
    Real* data;
    std::int64_t ld;
    int rows;
    int columns;
    Real alpha;
    Real beta;
};

template <class Real>
struct ComplexNumber {
    Real re;
    Real im;
};

/// Factors where the program has them: the rows of the left one adjacent, else by the distances between their
/// numbers.
template <class Real>
struct FactorsInPlace {
    const Real* left;
    std::int64_t left_of_summed;
    const Real* right;
    std::int64_t right_of_column;
    std::int64_t right_of_summed;
};

/// A loop over a tile of at most `rows` × `columns`, for products that are not worth packing. Where the result has
/// fewer rows or columns, reads none beyond them.
template <class Real>
struct LoopsInPlace {
    int rows = 0;
    int columns = 0;
    void (*add_to_result)(const FactorsInPlace<Real>& factors, std::int64_t depth,
                          const TileOfResult<Real>& result) = nullptr;
};

/// Loops over one tile of `rows` × `columns` sums: those of the products of a row of `left` and a column of `right`,
/// added in parts of summed_in_chain numbers. A panel of a factor has the numbers of one summed index side by side.
template <class Real>
struct TileLoops {
    int rows;
    int columns;
    std::int64_t summed_at_once;  ///< length of a block of the sum
    /// Stores the sums, column by column.
    void (*sum)(const Real* left, const Real* right, std::int64_t depth, Real* tile);
    /// Sets each element of the result to alpha sum + beta element. Does not read it if beta is 0.
    void (*add_to_result)(const Real* left, const Real* right, std::int64_t depth, const TileOfResult<Real>& result);
    /// Does that with sums that are known, column by column.
    void (*add_sums)(const Real* tile, const TileOfResult<Real>& result);
    /// Does that for `count` adjacent elements, whose sums are known: real ones, or complex ones if `im` is given.
    void (*add_column)(const Real* re, const Real* im, Real* to, int count, ComplexNumber<Real> alpha,
                       ComplexNumber<Real> beta);

    /// For loops over BF16: rounds a panel of `depth` numbers for each row or column, and arranges it as `sum` reads
    /// it. `depth` is then rounded up to `summed_unit`, with zeros, and two numbers take the place of a float.
    int summed_unit = 1;
    void (*convert_left)(const Real* panel, std::int64_t depth, Real* to) = nullptr;
    void (*convert_right)(const Real* panel, std::int64_t depth, Real* to) = nullptr;
    /// Does that with columns where they are stored, each with its numbers side by side, `of_column` floats from the
    /// next one. nullptr: there is no quick way.
    void (*convert_stored_right)(const Real* first, std::int64_t of_column, int present, std::int64_t depth,
                                 Real* to) = nullptr;
    void (*begin)() = nullptr;  ///< called on each thread before its first tile
    void (*end)() = nullptr;    ///< and after its last one

    /// Solves for `count` unknowns, one after the other, in `solved_columns` columns. The numbers of an unknown are
    /// adjacent, those of the next one `of_unknown` numbers further; the real parts of a complex unknown stand before
    /// its imaginary parts. `triangle` has solved_at_once coefficients for each unknown: those of earlier ones,
    /// negated, and that by which it is divided, or its inverse if it is complex. nullptr: loops over BF16.
    using Solve = void (*)(const Real* triangle, int count, bool has_unit_diagonal, Real* unknowns,
                           std::int64_t of_unknown);
    Solve solve = nullptr;
    Solve solve_complex = nullptr;
    int solved_columns = 0;

    LoopsInPlace<Real> in_place{};  ///< none over BF16

    bool converts() const { return convert_left != nullptr; }
};

/// Loops over BF16 numbers, which have no fixed order. Blocks are longer, so that C is written less often.
inline constexpr std::int64_t bf16_summed_at_once = 512;
extern const TileLoops<float> avx512_bf16_loops;
extern const TileLoops<float> amx_bf16_loops;

/// The rows, and the numbers, of the largest tile of all instruction sets.
inline constexpr int max_tile_rows = 32;
template <class Real>
inline constexpr int max_tile_numbers = 4096 / sizeof(Real);

/// Returns a * b + c, rounded once, on any processor. Sets no errno. Flags that it raises may differ from those of an
/// instruction.
float fused_multiply_add_plain(float a, float b, float c);

}  // namespace fp32shim::blas
