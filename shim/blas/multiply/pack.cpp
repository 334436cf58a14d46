#include "shim/blas/multiply/pack.hpp"

#include <cstring>

namespace fp32shim::blas {

namespace {

/// The elements of a factor that is stored whole: the first one, and the distances between others.
template <class Real>
struct Strides {
    const Real* data = nullptr;
    std::int64_t of_index = 0;
    std::int64_t of_summed = 0;
    Real sign_of_im = 1;  ///< -1: conjugated

    ElementOf<Real> at(std::int64_t index, std::int64_t summed) const {
        const Real* const element = data + 2 * (index * of_index + summed * of_summed);
        return {element[0], sign_of_im * element[1]};
    }
};

/// Returns no data for other factors.
template <class Real>
Strides<Real> strides_of(const Side<Real>& side) {
    const Matrix* const matrix = side.view.whole_matrix();
    if (matrix == nullptr) return {};
    const bool index_is_row = side.is_swapped == transposes(side.view.trans());
    const bool is_adjacent = index_is_row != matrix->row_major;
    const Real sign = conjugates(side.view.trans()) ? -1 : 1;
    const auto* const data = reinterpret_cast<const Real*>(matrix->data);
    return is_adjacent ? Strides<Real>{data, 1, matrix->ld, sign} : Strides<Real>{data, matrix->ld, 1, sign};
}

/// Copies a full panel whose numbers of one index of the sum are adjacent in memory. A panel has an even width.
template <class Real>
void copy_adjacent(const Real* from, std::int64_t of_summed, std::int64_t depth, int panel, Real* to) {
    for (std::int64_t p = 0; p < depth; ++p, from += of_summed, to += panel) {
        int r = 0;
        for (; r + 4 <= panel; r += 4) std::memcpy(to + r, from + r, 4 * sizeof(Real));
        if (r < panel) std::memcpy(to + r, from + r, 2 * sizeof(Real));
    }
}

template <class Real>
struct FourNumbers {
    using Vector __attribute__((vector_size(4 * sizeof(Real)))) = Real;
};

/// Copies four rows of four adjacent numbers each, transposed.
template <class Real>
void transpose_four(const Real* from, std::int64_t of_row, Real* to, std::int64_t of_column) {
    using Four = typename FourNumbers<Real>::Vector;
    Four a;
    Four b;
    Four c;
    Four d;
    std::memcpy(&a, from, sizeof a);
    std::memcpy(&b, from + of_row, sizeof b);
    std::memcpy(&c, from + 2 * of_row, sizeof c);
    std::memcpy(&d, from + 3 * of_row, sizeof d);
    const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const Four cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    const auto set = [&](int i, const Four& value) { std::memcpy(to + i * of_column, &value, sizeof value); };
    set(0, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
    set(1, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
    set(2, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
    set(3, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

/// Copies `present` rows whose numbers of successive summed indices are adjacent, each into one place of the panel.
template <class Real>
void copy_transposed(const Real* from, std::int64_t of_index, std::int64_t depth, int present, int panel, Real* to) {
    int r = 0;
    for (; r + 4 <= present; r += 4) {
        std::int64_t p = 0;
        for (; p + 4 <= depth; p += 4) transpose_four(from + r * of_index + p, of_index, to + p * panel + r, panel);
        for (; p < depth; ++p)
            for (int i = r; i < r + 4; ++i) to[p * panel + i] = from[i * of_index + p];
    }
    for (; r < present; ++r)
        for (std::int64_t p = 0; p < depth; ++p) to[p * panel + r] = from[r * of_index + p];
}

template <class Real>
void pack_real(const Strides<Real>& from, IndexRange summed, std::int64_t first, std::int64_t count, int panel,
               Real* to) {
    const std::int64_t depth = summed.end - summed.begin;
    for (std::int64_t i = 0; i < count; i += panel, to += depth * panel) {
        const Real* const begin = from.data + (first + i) * from.of_index + summed.begin * from.of_summed;
        const auto present = static_cast<int>(std::min<std::int64_t>(panel, count - i));
        if (from.of_index != 1)
            copy_transposed(begin, from.of_index, depth, present, panel, to);
        else if (present == panel)
            copy_adjacent(begin, from.of_summed, depth, panel, to);
        else
            for (std::int64_t p = 0; p < depth; ++p)
                for (int r = 0; r < present; ++r) to[p * panel + r] = begin[p * from.of_summed + r];
        for (std::int64_t p = 0; p < (present == panel ? 0 : depth); ++p)
            std::fill(to + p * panel + present, to + (p + 1) * panel, to[p * panel + present - 1]);
    }
}

/// Two numbers of a factor, which stand at the two real indices of one complex index of the sum.
template <class Real>
struct Pair {
    Real first;
    Real second;
};

template <class Real, class PairAt>
void pack_pairs(IndexRange summed, std::int64_t first, std::int64_t count, int panel, Real* to,
                const PairAt& pair_at) {
    const std::int64_t depth = summed.end - summed.begin;
    for (std::int64_t i = 0; i < count; i += panel, to += 2 * depth * panel)
        for (std::int64_t p = 0; p < depth; ++p)
            for (int r = 0; r < panel; ++r) {
                const Pair<Real> pair = pair_at(first + std::min(i + r, count - 1), summed.begin + p);
                to[2 * p * panel + r] = pair.first;
                to[(2 * p + 1) * panel + r] = pair.second;
            }
}

template <class Real>
void pack_elements(const Side<Real>& side, IndexRange summed, std::int64_t first, std::int64_t count, int panel,
                   Real* to) {
    const std::int64_t depth = summed.end - summed.begin;
    for (std::int64_t i = 0; i < count; i += panel, to += depth * panel)
        for (std::int64_t p = 0; p < depth; ++p)
            for (int r = 0; r < panel; ++r)
                to[p * panel + r] = side.at(first + std::min(i + r, count - 1), summed.begin + p).re;
}

/// Packs one factor. `pair_of(at, index, summed)` returns a pair of a complex factor, whose elements `at(index,
/// summed)` returns.
template <class Real, class PairOf>
void pack(const Job<Real>& job, const Side<Real>& side, IndexRange summed, std::int64_t first, std::int64_t count,
          int panel, Real* to, const PairOf& pair_of) {
    const Strides<Real> strides = strides_of(side);
    const bool is_stored = strides.data != nullptr;
    if (job.width == 1)
        return is_stored ? pack_real(strides, summed, first, count, panel, to)
                         : pack_elements(side, summed, first, count, panel, to);
    const auto pack_by = [&](const auto& source) {
        const auto at = [&](std::int64_t index, std::int64_t k) { return source.at(index, k); };
        pack_pairs(summed, first, count, panel, to,
                   [&](std::int64_t index, std::int64_t k) { return pair_of(at, index, k); });
    };
    is_stored ? pack_by(strides) : pack_by(side);
}

}  // namespace

template <class Real>
void pack_left(const Job<Real>& job, IndexRange summed, std::int64_t first, std::int64_t count, int panel, Real* to) {
    pack(job, job.left, summed, first, count, panel, to, [](const auto& at, std::int64_t row, std::int64_t k) {
        const ElementOf<Real> a = at(row, k);
        return Pair<Real>{a.re, a.im};
    });
}

template <class Real>
void pack_right(const Job<Real>& job, IndexRange summed, std::int64_t first, std::int64_t count, int panel,
                Real* to) {
    pack(job, job.right, summed, first, count, panel, to, [](const auto& at, std::int64_t column, std::int64_t k) {
        const ElementOf<Real> b = at(column / 2, k);
        return column % 2 == 0 ? Pair<Real>{b.re, -b.im} : Pair<Real>{b.im, b.re};
    });
}

template void pack_left(const Job<float>&, IndexRange, std::int64_t, std::int64_t, int, float*);
template void pack_left(const Job<double>&, IndexRange, std::int64_t, std::int64_t, int, double*);
template void pack_right(const Job<float>&, IndexRange, std::int64_t, std::int64_t, int, float*);
template void pack_right(const Job<double>&, IndexRange, std::int64_t, std::int64_t, int, double*);

StoredColumns stored_columns(const Job<float>& job, std::int64_t column, std::int64_t summed) {
    const Strides<float> strides = strides_of(job.right);
    if (job.width != 1 || strides.data == nullptr || strides.of_summed != 1) return {};
    return {strides.data + column * strides.of_index + summed, strides.of_index};
}

}  // namespace fp32shim::blas
