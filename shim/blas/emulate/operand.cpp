#include "shim/blas/emulate/operand.hpp"

#include <algorithm>

namespace fp32shim::blas {
namespace {

/// Returns the leading dimension of a copy whose columns have `inner` elements. Columns start on cache lines. The
/// distance of two columns is not a multiple of 4096 bytes, which would put all columns into the same cache sets.
/// Short columns are stored without padding, since padding would cost more memory traffic than it saves.
std::int64_t copy_ld(std::int64_t inner, int width) {
    constexpr std::int64_t shortest_padded = 64;
    constexpr std::int64_t longest_padded = std::int64_t{1}
                                            << 30;  // a larger padded dimension may exceed a 32-bit integer
    if (inner < shortest_padded || inner > longest_padded) return inner;
    const std::int64_t line = 16 / width;
    const std::int64_t page = 1024 / width;
    const std::int64_t padded = (inner + line - 1) / line * line;
    return padded % page == 0 ? padded + line : padded;
}

float* without_const(const float* copy) { return const_cast<float*>(copy); }

/// Writes the elements of a symmetric factor at index `outer`, and at the inner indices in `range`, to `to`. Reads
/// each element from its mirror image across the diagonal.
void mirror(const PanelOperand& factor, IndexRange range, std::int64_t outer, float* to) {
    const Matrix& from = factor.stored;
    const std::int64_t step = from.ld * from.width;
    const float* image = from.data + range.begin * step + outer * from.width;
    for (std::int64_t i = range.begin; i < range.end; ++i, image += step) {
        to = std::copy_n(image, from.width, to);
        if (factor.hermitian)
            to[-1] = -to[-1];  // the sign of the imaginary part is in the last float, even of a float64
    }
}

/// Copies a panel, and applies the factor's kernel to each number. Fills in the missing triangle of a symmetric
/// factor.
Matrix copied_panel(const PanelOperand& factor, std::int64_t first, std::int64_t count, float* to) {
    const Matrix& from = factor.stored;
    if (factor.part == Part::whole) return rounded_copy(factor.panel(first, count), Part::whole, to, factor.kernel);

    Matrix copy = factor.panel(first, count);
    copy.data = to;
    copy.ld = copy_ld(copy.inner(), copy.width);
    // The indices of the panel's elements in the square factor, along the inner dimension and the outer one.
    const bool cut_inner = factor.cut_rows != from.row_major;
    const IndexRange inner = cut_inner ? IndexRange{first, first + count} : IndexRange{0, from.inner()};
    const IndexRange outer = cut_inner ? IndexRange{0, from.outer()} : IndexRange{first, first + count};
    for (std::int64_t j = outer.begin; j < outer.end; ++j) {
        float* const column = to + (j - outer.begin) * copy.ld * copy.width;
        const auto copied = [&](std::int64_t i) { return column + (i - inner.begin) * copy.width; };
        const IndexRange whole = stored_range(from, factor.part, j);
        const IndexRange direct{std::clamp(whole.begin, inner.begin, inner.end),
                                std::clamp(whole.end, inner.begin, inner.end)};
        const float* const source = from.data + (direct.begin + j * from.ld) * from.width;
        std::copy(source, source + (direct.end - direct.begin) * from.width, copied(direct.begin));
        mirror(factor, {inner.begin, direct.begin}, j, copied(inner.begin));
        mirror(factor, {direct.end, inner.end}, j, copied(direct.end));
        // The imaginary part of a Hermitian diagonal counts as zero, whatever is stored.
        if (factor.hermitian && inner.begin <= j && j < inner.end)
            std::fill_n(copied(j) + copy.width / 2, copy.width / 2, 0.0F);
        factor.kernel(column, column, static_cast<std::size_t>(copy.inner() * copy.width));
    }
    return copy;
}

}  // namespace

std::size_t rounded_copy_bytes(const Matrix& matrix) {
    constexpr std::size_t line = 64;
    std::size_t bytes = 0;
    const auto column = static_cast<std::size_t>(copy_ld(matrix.inner(), matrix.width));
    if (__builtin_mul_overflow(column, static_cast<std::size_t>(matrix.outer()), &bytes) ||
        __builtin_mul_overflow(bytes, sizeof(float) * static_cast<std::size_t>(matrix.width), &bytes) ||
        bytes > SIZE_MAX - line)
        return SIZE_MAX;
    return (bytes + line - 1) / line * line;
}

Matrix rounded_copy(const Matrix& from, Part part, float* to, RoundingKernel kernel) {
    Matrix copy = from;
    copy.data = to;
    copy.ld = copy_ld(from.inner(), from.width);
    const auto round = [&](const float* source, float* target, std::int64_t elements) {
        kernel(source, target, static_cast<std::size_t>(elements * from.width));
    };
    if (part == Part::whole && from.ld == from.inner() && copy.ld == from.ld)
        round(from.data, to, from.inner() * from.outer());
    else
        for_each_contiguous_run(from, copy, part, round);
    return copy;
}

void set_rounded_a(Level3& call, RoundingKernel kernel, bool is_first, float* to) {
    const Matrix copy = rounded_copy(operand_a(call), part_of_a(call), to, kernel);
    if (kernel.fixed_point_bits() > 0) {  // the rows of op(A) are rounded if it is the left factor, else its columns
        round_to_fixed_point(copy, part_of_a(call), (call.side == 'L') != transposes(call.trans_a), call.diag == 'U',
                             kernel.fixed_point_bits());
    }
    call.a = copy.data;
    call.lda = copy.ld;
    if (call.diag != 'U' || is_first) return;
    call.diag = 'N';
    for (std::int64_t i = 0; i < copy.rows; ++i) std::fill_n(without_const(copy.at(i, i)), copy.width, 0.0F);
}

std::size_t panel_bytes(const PanelOperand& factor, std::int64_t count) {
    return rounded_copy_bytes(factor.panel(0, count));
}

PanelOperand rounded_panel(const PanelOperand& factor, std::int64_t first, std::int64_t count, float* to) {
    const PanelOperand panel{copied_panel(factor, first, count, to), factor.cut_rows};
    if (const int bits = factor.kernel.fixed_point_bits(); bits > 0)
        round_to_fixed_point(panel.stored, Part::whole, factor.cut_rows, false, bits);
    return panel;
}

}  // namespace fp32shim::blas
