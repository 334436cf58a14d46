// The loops for AMX; CMakeLists.txt sets the compiler's options for this file. An instruction of AMX multiplies a
// tile of 16 rows of 32 BF16 numbers by a tile of 32 rows of 16 numbers.
#include "shim/blas/multiply/bf16_loops.hpp"

namespace fp32shim::blas {
namespace {

constexpr int rows = 32;     // the rows of C that are computed at once, in two AMX tiles
constexpr int columns = 32;  // the columns of C that are computed at once, in two AMX tiles
constexpr int unit = 32;     // the terms that one instruction adds to each sum
constexpr int row_bytes = 64;

/// The shape of all eight tiles: 16 rows of 64 bytes.
struct alignas(64) TileConfiguration {
    std::uint8_t palette = 1;
    std::uint8_t start_row = 0;
    std::uint8_t reserved[14] = {};
    std::uint16_t bytes_of_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows_of_tile[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

void begin() {
    // The configuration is static, so that all of it is in memory: the compiler assumes that the instruction reads
    // only eight bytes.
    static constexpr TileConfiguration configuration;
    _tile_loadconfig(&configuration);
}

// After _tile_release(), the thread's tiles have no data, so its signal frames are small again.
void end() { _tile_release(); }

/// Converts a panel of the right factor to BF16, in blocks of 32 indices of the sum. In a block, the 32 numbers of
/// each column are adjacent.
void convert_right(const float* panel, std::int64_t depth, float* to) {
    auto* pairs = reinterpret_cast<std::uint16_t*>(to);
    for (std::int64_t first = 0; first < depth; first += unit, pairs += columns * unit) {
        const std::int64_t present = depth - first < unit ? depth - first : unit;
        for (int p = 0; p < unit; ++p) {
            if (p >= present) {
                for (int j = 0; j < columns; ++j) pairs[j * unit + p] = 0;
                continue;
            }
            std::uint16_t numbers[columns];
            _mm512_storeu_si512(numbers, round_32_to_bf16(panel + (first + p) * columns));
            for (int j = 0; j < columns; ++j) pairs[j * unit + p] = numbers[j];
        }
    }
}

void convert_stored_right(const float* first, std::int64_t of_column, int present, std::int64_t depth, float* to) {
    auto* numbers = reinterpret_cast<std::uint16_t*>(to);
    for (std::int64_t p = 0; p < depth; p += unit, numbers += columns * unit) {
        const auto count = static_cast<unsigned>(depth - p < unit ? depth - p : unit);
        const auto mask = static_cast<__mmask32>((std::uint64_t{1} << count) - 1);
        const auto low = static_cast<__mmask16>(mask);
        const auto high = static_cast<__mmask16>(mask >> 16);
        for (int j = 0; j < columns; ++j) {
            const float* const from = first + (j < present ? j : present - 1) * of_column + p;
            const __m512 start = _mm512_maskz_loadu_ps(low, from);
            const __m512 rest = high == 0 ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(high, from + 16);
            _mm512_storeu_si512(numbers + j * unit, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(rest, start)));
        }
    }
}

void sum(const float* left, const float* right, std::int64_t depth, float* tile) {
    constexpr int left_row_bytes = rows * 4;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (std::int64_t p = 0; p < depth; p += unit, left += rows * unit / 2, right += columns * unit / 2) {
        _tile_loadd(4, right, row_bytes);  // tiles 4 and 5 have the numbers for 16 columns of C each
        _tile_loadd(5, right + 16 * unit / 2, row_bytes);
        _tile_loadd(6, left, left_row_bytes);  // tiles 6 and 7 have the numbers for 16 rows of C each
        _tile_loadd(7, left + 16, left_row_bytes);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, tile, rows * 4);
    _tile_stored(1, tile + 16, rows * 4);
    _tile_stored(2, tile + 16 * rows, rows * 4);
    _tile_stored(3, tile + 16 * rows + 16, rows * 4);
}

}  // namespace

constinit const TileLoops<float> amx_bf16_loops =
    bf16_loops<rows, columns, unit, sum, convert_right, convert_stored_right, begin, end>;

}  // namespace fp32shim::blas
