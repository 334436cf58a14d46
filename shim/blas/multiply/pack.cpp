#include "shim/blas/multiply/pack.hpp"

#include <cstring>

namespace fp32shim::blas {

template <class Real>
StridedFactor<Real> strided_stored_factor(const JobFactor<Real>& side, int width, bool is_mirrored) {
    const Matrix& matrix = side.view.stored_matrix();
    const bool index_is_row = side.is_swapped == transposes(side.view.trans());
    const bool is_adjacent = (index_is_row != matrix.row_major) != is_mirrored;
    const bool is_conjugated = conjugates(side.view.trans()) != (is_mirrored && side.view.is_hermitian());
    const std::int64_t ld = matrix.ld * width;
    return {reinterpret_cast<const Real*>(matrix.data), is_adjacent ? width : ld, is_adjacent ? ld : width,
            is_conjugated};
}
template StridedFactor<float> strided_stored_factor(const JobFactor<float>&, int, bool);
template StridedFactor<double> strided_stored_factor(const JobFactor<double>&, int, bool);

namespace {

/// The part of one panel that is packed at once: `present` rows or columns, and the indices of the sum in `summed`.
template <class Real>
struct PartOfPanel {
    StridedFactor<Real> from;
    std::int64_t first;
    int present;
    IndexRange summed;
    int width;  ///< how many numbers the panel has for one index of the sum
    Real* to;
};

/// The number of elements in a cache line. The copy loop takes this many numbers from each row at a time.
template <class Real>
inline constexpr std::int64_t of_line = 64 / sizeof(Real);

/// A vector of 16 bytes, which every processor moves with one instruction.
template <class Real>
struct VectorOf {
    using Type __attribute__((vector_size(16))) = Real;
};
template <class Real>
using Vector = typename VectorOf<Real>::Type;
template <class Real>
inline constexpr int lanes = 16 / sizeof(Real);

template <class Real>
Vector<Real> load(const Real* from) {
    Vector<Real> vector;
    std::memcpy(&vector, from, sizeof vector);
    return vector;
}
template <class Real>
void store(Real* to, Vector<Real> vector) {
    std::memcpy(to, &vector, sizeof vector);
}

/// Returns every second number of two vectors, beginning with the number at index `first`.
template <int first, class Real>
Vector<Real> every_second(Vector<Real> a, Vector<Real> b) {
    if constexpr (lanes<Real> == 4)
        return __builtin_shufflevector(a, b, first, first + 2, first + 4, first + 6);
    else
        return __builtin_shufflevector(a, b, first, first + 2);
}

/// Transposes a square with as many rows and columns as a vector has numbers.
template <class Real>
void transpose_square(const Real* from, std::int64_t of_row, Real* to, std::int64_t of_column) {
    const Vector<Real> a = load(from);
    const Vector<Real> b = load(from + of_row);
    if constexpr (lanes<Real> == 2) {
        store(to, every_second<0, Real>(a, b));
        store(to + of_column, every_second<1, Real>(a, b));
    } else {
        const Vector<Real> c = load(from + 2 * of_row);
        const Vector<Real> d = load(from + 3 * of_row);
        const Vector<Real> ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
        const Vector<Real> ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
        const Vector<Real> cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
        const Vector<Real> cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
        store<Real>(to, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
        store<Real>(to + of_column, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
        store<Real>(to + 2 * of_column, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
        store<Real>(to + 3 * of_column, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
    }
}

}  // namespace

template <class Real>
void copy_transposed(const Real* from, std::int64_t of_row, std::int64_t depth, int rows, std::int64_t of_number,
                     Real* to) {
    constexpr int square = lanes<Real>;
    for (std::int64_t begin = 0; begin < depth; begin += of_line<Real>) {
        const std::int64_t end = std::min(begin + of_line<Real>, depth);
        const std::int64_t in_squares = rows < square ? begin : end - (end - begin) % square;
        for (int row = 0; row < rows; row += square) {
            const int r = std::min(row, rows - square);  // the last square may repeat rows of the previous square
            for (std::int64_t p = begin; p < in_squares; p += square)
                transpose_square(from + r * of_row + p, of_row, to + p * of_number + r, of_number);
        }
        for (std::int64_t p = in_squares; p < end; ++p)
            for (int r = 0; r < rows; ++r) to[p * of_number + r] = from[r * of_row + p];
    }
}

template void copy_transposed(const float*, std::int64_t, std::int64_t, int, std::int64_t, float*);
template void copy_transposed(const double*, std::int64_t, std::int64_t, int, std::int64_t, double*);

namespace {

template <class Real>
void pack_real(const PartOfPanel<Real>& part) {
    const Real* from = part.from.at(part.first, part.summed.begin);
    if (part.from.index_stride != 1)
        return copy_transposed(from, part.from.index_stride, part.summed.count(), part.present, part.width, part.to);
    Real* to = part.to;
    for (std::int64_t p = 0; p < part.summed.count(); ++p, from += part.from.summed_stride, to += part.width) {
        int r = 0;
        for (; r + 4 <= part.present; r += 4) std::memcpy(to + r, from + r, 4 * sizeof(Real));
        for (; r < part.present; ++r) to[r] = from[r];
    }
}

/// Packs elements of a complex left factor. For each index of the sum, stores the real parts of all rows, and then
/// their imaginary parts.
template <class Real>
void pack_complex_left(const PartOfPanel<Real>& part) {
    const StridedFactor<Real>& source = part.from;
    const Real* from = source.at(part.first, part.summed.begin);
    Real* to = part.to;
    if (source.index_stride == 2) {
        for (std::int64_t p = 0; p < part.summed.count(); ++p, from += source.summed_stride, to += 2 * part.width) {
            int r = 0;
            for (; r + lanes<Real> <= part.present; r += lanes<Real>) {
                const Vector<Real> low = load(from + 2 * r);
                const Vector<Real> high = load(from + 2 * r + lanes<Real>);
                const Vector<Real> im = every_second<1, Real>(low, high);
                store(to + r, every_second<0, Real>(low, high));
                store<Real>(to + part.width + r, source.is_conjugated ? -im : im);
            }
            for (; r < part.present; ++r) {
                to[r] = from[2 * r];
                to[part.width + r] = source.imaginary_part(from[2 * r + 1]);
            }
        }
        return;
    }
    // Here the numbers of a row are adjacent, and real and imaginary parts alternate. So a row is copied like a real
    // row of twice the length.
    copy_transposed(from, source.index_stride, 2 * part.summed.count(), part.present, part.width, to);
    for (std::int64_t p = 1; p < (source.is_conjugated ? 2 * part.summed.count() : 0); p += 2)
        for (int r = 0; r < part.present; ++r) to[p * part.width + r] = -to[p * part.width + r];
}

/// Packs elements of a complex right factor. For each index of the sum, stores re and im of each column, and then -im
/// and re of each column.
template <class Real>
void pack_complex_right(const PartOfPanel<Real>& part) {
    const StridedFactor<Real>& source = part.from;
    const auto pack_run = [&](std::int64_t begin, std::int64_t end) {
        for (int column = 0; column < part.present; column += 2) {
            const Real* from = source.at(part.first + column / 2, begin);
            Real* to = part.to + 2 * (begin - part.summed.begin) * part.width + column;
            for (std::int64_t p = begin; p < end; ++p, from += source.summed_stride, to += 2 * part.width) {
                const Real re = from[0];
                const Real im = source.imaginary_part(from[1]);
                to[0] = re;
                to[1] = im;
                to[part.width] = -im;
                to[part.width + 1] = re;
            }
        }
    };
    for (std::int64_t p = part.summed.begin; p < part.summed.end; p += of_line<Real> / 2)
        pack_run(p, std::min(p + of_line<Real> / 2, part.summed.end));
}

template <class Real>
class PanelPacker {
  public:
    PanelPacker(const MultiplyJob<Real>& job, bool is_right, int panel)
        : side_(is_right ? job.right : job.left), is_right_(is_right), width_(job.width), panel_(panel) {}

    /// Packs the rows or real columns in `indices`, for the indices of the sum in `summed` (see pack_panels()).
    void pack(IndexRange indices, IndexRange summed, Real* to) const {
        const std::int64_t rows = summed.count() * width_;
        for (std::int64_t i = indices.begin; i < indices.end; i += panel_, to += rows * panel_) {
            const auto present = static_cast<int>(std::min<std::int64_t>(panel_, indices.end - i));
            pack_panel(i, present, summed, to);
            if (present == panel_) continue;
            const int repeated = is_right_ ? width_ : 1;
            for (std::int64_t p = 0; p < rows; ++p)
                for (int r = present; r < panel_; ++r) to[p * panel_ + r] = to[p * panel_ + r - repeated];
        }
    }

  private:
    using Place = typename OperandView<Element<Real>>::Place;

    void pack_panel(std::int64_t index, int present, IndexRange summed, Real* to) const {
        const int numbers = is_right_ ? width_ : 1;
        const std::int64_t first = index / numbers;
        const auto part = [&](IndexRange range) {
            return PartOfPanel<Real>{{},    first,  present,
                                     range, panel_, to + (range.begin - summed.begin) * width_ * panel_};
        };
        if (side_.view.is_whole()) return pack_block(part(summed), Place::stored);
        // `begin` and `end` divide the indices of the sum into indices before the diagonal, at the diagonal, and
        // after the diagonal.
        const std::int64_t begin = std::clamp(first, summed.begin, summed.end);
        const std::int64_t end = std::clamp(first + present / numbers, summed.begin, summed.end);
        if (summed.begin < begin) pack_block(part({summed.begin, begin}), place_of(first, summed.begin));
        for (std::int64_t p = begin; p < end; ++p) {
            const auto of_elements = [&](std::int64_t from, std::int64_t count) {
                PartOfPanel<Real> row = part({p, p + 1});
                row.first = from;
                row.present = static_cast<int>(count) * numbers;
                row.to += (from - first) * numbers;
                return row;
            };
            if (first < p) pack_block(of_elements(first, p - first), place_of(first, p));
            pack_element(p, of_elements(p, 1).to);
            const std::int64_t after = first + present / numbers - (p + 1);
            if (after > 0) pack_block(of_elements(p + 1, after), place_of(p + 1, p));
        }
        if (end < summed.end) pack_block(part({end, summed.end}), place_of(first, end));
    }

    /// Packs the element on the diagonal whose row and column is `index`.
    void pack_element(std::int64_t index, Real* to) const {
        const Element<Real> element = side_.at(index, index);
        to[0] = element.re;
        if (width_ == 1) return;
        to[is_right_ ? 1 : panel_] = element.im;
        if (!is_right_) return;
        to[panel_] = -element.im;
        to[panel_ + 1] = element.re;
    }

    Place place_of(std::int64_t index, std::int64_t summed) const {
        return side_.is_swapped ? side_.view.place_of(summed, index) : side_.view.place_of(index, summed);
    }

    void pack_block(PartOfPanel<Real> part, Place place) const {
        if (place == Place::missing) {
            for (std::int64_t p = 0; p < part.summed.count() * width_; ++p)
                std::fill_n(part.to + p * panel_, part.present, Real{0});
            return;
        }
        part.from = strided_stored_factor(side_, width_, place == Place::mirrored);
        if (width_ == 1) return pack_real(part);
        is_right_ ? pack_complex_right(part) : pack_complex_left(part);
    }

    const JobFactor<Real>& side_;
    bool is_right_;
    int width_;
    int panel_;
};

}  // namespace

template <class Real>
void pack_panels(const MultiplyJob<Real>& job, bool is_right, IndexRange indices, IndexRange summed, int panel,
                 Real* to) {
    PanelPacker<Real>(job, is_right, panel).pack(indices, summed, to);
}
template void pack_panels(const MultiplyJob<float>&, bool, IndexRange, IndexRange, int, float*);
template void pack_panels(const MultiplyJob<double>&, bool, IndexRange, IndexRange, int, double*);

template <class Real>
StridedFactor<Real> strided_real_factor(const MultiplyJob<Real>& job, bool is_right) {
    const JobFactor<Real>& side = is_right ? job.right : job.left;
    if (job.width != 1 || !side.view.is_whole()) return {};
    return strided_stored_factor(side, 1);
}
template StridedFactor<float> strided_real_factor(const MultiplyJob<float>&, bool);
template StridedFactor<double> strided_real_factor(const MultiplyJob<double>&, bool);

}  // namespace fp32shim::blas
