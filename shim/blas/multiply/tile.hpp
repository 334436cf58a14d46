// Tiles of a result, which are the unit in which a product is computed in a fixed order. `Real` is the type of the
// numbers, float or double.
#pragma once

#include <cstdint>

namespace fp32shim::blas {

/// The number of terms in one block of a sum, and in one part of a block. The products of a part are added by one
/// chain of fused multiply-adds that begins at 0. The sums of the parts are added in their order, and one more fused
/// multiply-add adds alpha times the block's sum to C. A complex term counts as two numbers.
inline constexpr std::int64_t summed_at_once = 256;
inline constexpr std::int64_t summed_in_chain = 32;

/// The number of rows of the left factor, and of real columns of the right factor, that are packed at once. Both
/// numbers are multiples of the size of every tile. A packed block of the left factor fits in a core's second-level
/// cache, and a packed block of the right factor fits in the third-level cache.
template <class Real>
inline constexpr std::int64_t rows_at_once = 768 / sizeof(Real);
template <class Real>
inline constexpr std::int64_t columns_at_once = 6144 / sizeof(Real);

/// The number of unknowns of a triangular solve that are solved one after the other, without a product of packed
/// factors.
inline constexpr std::int64_t solved_at_once = 64;

/// The part of a column-major result that one tile covers. A tile at an edge of the result has fewer rows or columns.
template <class Real>
struct ResultTile {
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

/// Two factors that are read where the program stores them, without packing. The rows of the left factor are
/// adjacent. `left_of_summed` and `right_of_summed` are the distances between successive indices of the sum, and
/// `right_of_column` is the distance between columns.
template <class Real>
struct UnpackedFactors {
    const Real* left;
    std::int64_t left_of_summed;
    const Real* right;
    std::int64_t right_of_column;
    std::int64_t right_of_summed;
};

/// A loop over a tile of at most `rows` × `columns`, for products that are too small to be worth packing. If the
/// result has fewer rows or columns, the loop does not read beyond them.
template <class Real>
struct UnpackedLoop {
    int rows = 0;
    int columns = 0;
    void (*add_to_result)(const UnpackedFactors<Real>& factors, std::int64_t depth,
                          const ResultTile<Real>& result) = nullptr;
};

/// Loops over one tile of `rows` × `columns` sums. Each sum adds the products of a row of `left` and a column of
/// `right`, in parts of summed_in_chain numbers. In a panel of a factor, all numbers with the same index of the sum
/// are adjacent.
template <class Real>
struct TileLoops {
    int rows;
    int columns;
    std::int64_t summed_at_once;  ///< length of a block of the sum, in numbers
    /// Stores the sums in `tile`, column by column.
    void (*sum)(const Real* left, const Real* right, std::int64_t depth, Real* tile);
    /// Sets each element of the result to alpha sum + beta element. Does not read the element if beta is 0.
    void (*add_to_result)(const Real* left, const Real* right, std::int64_t depth, const ResultTile<Real>& result);
    /// Sets each element of the result to alpha sum + beta element, with the sums in `tile`, which `sum` stored
    /// before.
    void (*add_sums)(const Real* tile, const ResultTile<Real>& result);
    /// Sets `count` adjacent elements at `to` to alpha sum + beta element, with the sums `re` and `im`. The elements
    /// are real if `im` is null, and complex otherwise.
    void (*add_column)(const Real* re, const Real* im, Real* to, int count, ComplexNumber<Real> alpha,
                       ComplexNumber<Real> beta);

    int summed_unit = 1;
    /// These functions round a panel to BF16, and arrange it in the order in which `sum` reads it. The panel has
    /// `depth` numbers for each row or column; zeros fill `depth` up to a multiple of `summed_unit`. Two BF16 numbers
    /// take the place of a float. Loops over float32 and float64 do not have these functions.
    void (*convert_left)(const Real* panel, std::int64_t depth, Real* to) = nullptr;
    void (*convert_right)(const Real* panel, std::int64_t depth, Real* to) = nullptr;
    /// Rounds and arranges columns of the right factor that lie where the program stores them. The numbers of a
    /// column are adjacent, and the next column begins `of_column` floats later. The member is nullptr if the loops
    /// have no quick way to do this.
    void (*convert_stored_right)(const Real* first, std::int64_t of_column, int present, std::int64_t depth,
                                 Real* to) = nullptr;
    void (*begin)() = nullptr;  ///< called on each thread before its first tile
    void (*end)() = nullptr;    ///< called on each thread after its last tile

    /// Solves for `count` unknowns, one after the other, for `solved_columns` right-hand sides at once. An unknown
    /// has one number for each right-hand side, and these numbers are adjacent; the numbers of the next unknown begin
    /// `of_unknown` numbers later. A complex unknown has its real parts before its imaginary parts. `triangle` has
    /// solved_at_once coefficients for each unknown: the negated coefficients of earlier unknowns, and then the
    /// coefficient by which the unknown is divided, which is already inverted if it is complex. Loops over BF16 have
    /// nullptr.
    using Solve = void (*)(const Real* triangle, int count, bool has_unit_diagonal, Real* unknowns,
                           std::int64_t of_unknown);
    Solve solve = nullptr;
    Solve solve_complex = nullptr;
    int solved_columns = 0;

    UnpackedLoop<Real> unpacked{};  ///< loops for small products; loops over BF16 have none

    bool converts_to_bf16() const { return convert_left != nullptr; }
};

/// The length of a block of a sum in loops over BF16, whose order of operations is not fixed. These blocks are longer
/// than those of other loops, so that C is written less often.
inline constexpr std::int64_t bf16_summed_at_once = 512;
extern const TileLoops<float> avx512_bf16_loops;
extern const TileLoops<float> amx_bf16_loops;

/// The number of rows, and the number of elements, of the largest tile of all instruction sets.
inline constexpr int max_tile_rows = 32;
template <class Real>
inline constexpr int max_tile_numbers = 4096 / sizeof(Real);

/// Returns a * b + c, rounded once according to the processor's settings, also on processors that have no instruction
/// for a fused multiply-add. Does not set errno. The floating-point exceptions that it raises may differ from those
/// of an instruction.
float fused_multiply_add_plain(float a, float b, float c);
double fused_multiply_add_plain(double a, double b, double c);

}  // namespace fp32shim::blas
