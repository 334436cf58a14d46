#include "shim/blas/emulate/blocks.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "shim/blas/emulate/operand.hpp"
#include "shim/level3/roles.hpp"

namespace fp32shim::blas {
namespace {

/// A number of rows or columns that is enough for a panel. For each panel of one operand, the library packs the panel
/// of the other operand again. At this width, packing costs little compared with multiplying, so wider panels gain
/// little.
constexpr std::int64_t ample_width = 256;

/// Returns the largest count from 1 to `most` with bytes(count) <= limit, or 0 if there is none. `bytes` must not
/// decrease when the count grows.
template <typename Bytes>
std::int64_t largest_fit(std::int64_t most, std::size_t limit, Bytes bytes) {
    std::int64_t fits = 0;
    std::int64_t exceeds = most + 1;
    while (exceeds - fits > 1) {
        const std::int64_t middle = fits + (exceeds - fits) / 2;
        (bytes(middle) <= limit ? fits : exceeds) = middle;
    }
    return fits;
}

std::int64_t largest_panel(const PanelOperand& factor, std::int64_t most, std::size_t limit) {
    return largest_fit(std::min(most, factor.length()), limit,
                       [&](std::int64_t count) { return panel_bytes(factor, count); });
}

std::int64_t divide_rounding_up(std::int64_t value, std::int64_t by) { return (value - 1) / by + 1; }

float* advanced_by(float* scratch, std::size_t bytes) { return scratch + bytes / sizeof(float); }

void set_c(Level3& call, const Level3& product, std::int64_t row, std::int64_t column) {
    call.c = const_cast<float*>(operand_c(product).at(row, column));
}

void set_b(Level3& call, const Matrix& b) {
    call.b = b.data;
    call.ldb = b.ld;
}

void set_operands(Level3& call, const Matrix& a, const Matrix& b) {
    call.a = a.data;
    call.lda = a.ld;
    set_b(call, b);
}

// In a gemm, every block of C is one product of a panel of op(A) and a panel of op(B).

/// A plan to round a gemm's factors in panels. A panel of the kept factor stays in memory while all panels of the
/// streamed factor are multiplied with it.
struct GemmPlan {
    std::int64_t kept = 0;  ///< rows or columns of a kept panel; 0 if not even one row or column fits
    std::int64_t streamed = 0;
    double rounded_elements = 0;
};

GemmPlan plan_gemm(const PanelOperand& kept, const PanelOperand& streamed, std::size_t limit) {
    GemmPlan plan;
    plan.streamed = std::max<std::int64_t>(1, largest_panel(streamed, ample_width, limit / 2));
    const std::size_t streamed_bytes = panel_bytes(streamed, plan.streamed);
    if (streamed_bytes >= limit) return plan;
    plan.kept = largest_panel(kept, kept.length(), limit - streamed_bytes);
    if (plan.kept == 0) return plan;
    const std::int64_t passes = divide_rounding_up(kept.length(), plan.kept);
    plan.kept = divide_rounding_up(kept.length(), passes);
    plan.streamed = largest_panel(streamed, streamed.length(), limit - panel_bytes(kept, plan.kept));
    const auto elements = [](const Matrix& m) {
        return static_cast<double>(m.rows) * static_cast<double>(m.columns);
    };
    plan.rounded_elements = elements(kept.stored) + static_cast<double>(passes) * elements(streamed.stored);
    return plan;
}

/// Runs a gemm in blocks of C. `call` describes the whole product; its operands, sizes and C are replaced for each
/// block. Returns scratch_limit, and calls nothing, if there is too little memory or the library lacks `routine`.
EmulationResult gemm_in_blocks(Level3 call, const PanelOperand& left, const PanelOperand& right, Routine routine,
                               const EmulationStep& step) {
    const GemmPlan keeping_left = plan_gemm(left, right, step.scratch->limit);
    const GemmPlan keeping_right = plan_gemm(right, left, step.scratch->limit);
    const bool keeps_left = keeping_right.kept == 0 || (keeping_left.kept != 0 && keeping_left.rounded_elements <=
                                                                                      keeping_right.rounded_elements);
    const GemmPlan& plan = keeps_left ? keeping_left : keeping_right;
    if (plan.kept == 0 || routine.call == nullptr) return EmulationResult::scratch_limit;
    const PanelOperand& kept = keeps_left ? left : right;
    const PanelOperand& streamed = keeps_left ? right : left;
    const std::size_t kept_bytes = panel_bytes(kept, plan.kept);
    float* const scratch = step.scratch->acquire(kept_bytes + panel_bytes(streamed, plan.streamed));
    if (scratch == nullptr) return EmulationResult::scratch_limit;

    const Level3 product = call;
    for (std::int64_t i = 0; i < kept.length(); i += plan.kept) {
        const std::int64_t i_count = std::min(plan.kept, kept.length() - i);
        const PanelOperand kept_copy = rounded_panel(kept, i, i_count, scratch);
        for (std::int64_t j = 0; j < streamed.length(); j += plan.streamed) {
            const std::int64_t j_count = std::min(plan.streamed, streamed.length() - j);
            const PanelOperand streamed_copy = rounded_panel(streamed, j, j_count, advanced_by(scratch, kept_bytes));
            call.m = keeps_left ? i_count : j_count;
            call.n = keeps_left ? j_count : i_count;
            set_operands(call, (keeps_left ? kept_copy : streamed_copy).stored,
                         (keeps_left ? streamed_copy : kept_copy).stored);
            set_c(call, product, keeps_left ? i : j, keeps_left ? j : i);
            routine.call(routine.context, call);
        }
    }
    return EmulationResult::done;
}

PanelOperand left_factor(const Level3& product, const RoundedProduct& rounded) {
    return {.stored = operand_a(product), .cut_rows = !transposes(product.trans_a), .kernel = rounded.round_a};
}

PanelOperand right_factor(const Level3& product, const RoundedProduct& rounded) {
    return {.stored = operand_b(product), .cut_rows = transposes(product.trans_b), .kernel = rounded.round_b};
}

// The functions below compute a gemmt or a rank-k update in blocks of the triangle of C that the operation updates.

/// Alpha or beta of a gemm, with room for a complex number of float64: a complex gemm takes complex scalars, even if
/// it replaces a herk or her2k with real scalars.
using Scalar = std::array<float, 4>;
/// A gemm that computes a rectangle of C off the diagonal. For syr2k and her2k, two of these gemms are summed.
struct GemmTerm {
    PanelOperand left;
    PanelOperand right;
    Scalar alpha{};
    Scalar beta{};
};

struct TriangleTerms {
    std::array<GemmTerm, 2> of{};
    int count = 1;
    /// True if the right factors are the left factors in reverse order. On the diagonal, left panels then also serve
    /// as right panels.
    bool same_factors = true;
    /// True if a product of A with its own transpose is computed from two different parts of the numbers of A. That
    /// product is not symmetric, so the program's routine cannot compute its diagonal blocks.
    bool is_asymmetric = false;
    char trans_a = 'N';
    char trans_b = 'N';
};

Scalar scalar(const Level3& product, bool is_beta) {
    Scalar copy{};
    const std::size_t size = product.is_double ? sizeof(double) : sizeof(float);
    std::memcpy(copy.data(), is_beta ? product.beta : product.alpha,
                has_complex_scalar(product, is_beta) ? 2 * size : size);
    return copy;
}

/// Returns the number 1 in the product's type.
Scalar one_of(const Level3& product) {
    Scalar one{1.0F};
    constexpr double as_double = 1;
    if (product.is_double) std::memcpy(one.data(), &as_double, sizeof as_double);
    return one;
}

TriangleTerms terms_of(const Level3& product, const EmulationStep& step) {
    const RoundedProduct& rounded = step.rounded;
    const Operation operation = product.operation;
    const bool hermitian = is_herk_or_her2k(operation);
    TriangleTerms terms;
    GemmTerm& first = terms.of[0];
    first.alpha = scalar(product, false);
    first.beta = scalar(product, true);
    first.left = left_factor(product, rounded);
    terms.trans_a = product.trans_a;
    if (operation == Operation::gemmt) {
        first.right = right_factor(product, rounded);
        terms.same_factors = false;
        terms.trans_b = product.trans_b;
        return terms;
    }
    const char transposed = hermitian ? 'C' : 'T';
    terms.trans_b = product.trans_a == 'N' ? transposed : 'N';
    first.right = first.left;
    first.right.kernel = rounded.round_b;
    if (operation == Operation::syr2k || operation == Operation::her2k) {
        terms.count = 2;
        first.right.stored = operand_b(product);
        terms.of[1] = {first.right, first.left, first.alpha, one_of(product)};
        if (hermitian) {  // conjugates alpha: the sign of the imaginary part is in the last float, even if the
                          // numbers are float64
            float& last = terms.of[1].alpha[static_cast<std::size_t>(product.width() - 1)];
            last = -last;
        }
        return terms;
    }
    terms.is_asymmetric = step.is_of_parts;
    terms.same_factors = !terms.is_asymmetric;
    return terms;
}

/// A plan that keeps left panels of `kept` rows of C in memory, and streams right panels of `streamed` columns.
/// `kept` is a multiple of `streamed`, or all rows. So the indices of a right panel's columns are either all among
/// the indices of a left panel's rows, or none of them is.
struct TrianglePlan {
    std::int64_t kept = 0;
    std::int64_t streamed = 0;
    std::size_t kept_bytes = 0;
    std::size_t tile_begin = 0;  ///< size of the panels in bytes; if the terms are asymmetric, a tile of C follows
                                 ///< them
    std::size_t bytes = 0;
};

/// Returns a square tile with `count` rows in the layout of `c`. The tile lies in scratch memory.
Matrix tile_of(const Matrix& c, std::int64_t count, float* memory) {
    return {memory, count, count, count, c.row_major, c.width, c.is_complex, c.is_double};
}

TrianglePlan plan_triangle(const TriangleTerms& terms, const Matrix& c, std::size_t limit) {
    const std::int64_t n = c.rows;
    const auto bytes_of = [&](std::int64_t count, PanelOperand GemmTerm::*side) {
        std::size_t bytes = 0;
        for (int t = 0; t < terms.count; ++t)
            bytes = saturated_sum(bytes, panel_bytes(terms.of[t].*side, std::min(count, n)));
        return bytes;
    };
    const auto both = [&](std::int64_t kept, std::int64_t streamed) {
        return saturated_sum(bytes_of(kept, &GemmTerm::left), bytes_of(streamed, &GemmTerm::right));
    };
    const auto all = [&](std::int64_t kept, std::int64_t streamed) {
        const std::size_t tile = terms.is_asymmetric ? rounded_copy_bytes(tile_of(c, streamed, nullptr)) : 0;
        return saturated_sum(both(kept, streamed), tile);
    };
    TrianglePlan plan;
    plan.streamed = std::min(n, ample_width);
    while (plan.streamed > 0 && all(plan.streamed, plan.streamed) > limit) plan.streamed /= 2;
    if (plan.streamed == 0) return plan;
    const std::int64_t multiple = largest_fit(divide_rounding_up(n, plan.streamed), limit,
                                              [&](std::int64_t t) { return all(t * plan.streamed, plan.streamed); });
    plan.kept = std::min(n, multiple * plan.streamed);
    plan.kept_bytes = bytes_of(plan.kept, &GemmTerm::left);
    plan.tile_begin = both(plan.kept, plan.streamed);
    plan.bytes = all(plan.kept, plan.streamed);
    return plan;
}

using Panels = std::array<PanelOperand, 2>;

/// Computes C's diagonal block at `span` from rounded panels. Calls `same`, the routine that the program called.
void call_diagonal(const Level3& product, const Panels& left, const Panels& right, IndexRange span, Routine same) {
    Level3 call = product;
    call.n = span.count();
    set_operands(call, left[0].stored, right[0].stored);
    if (product.b == nullptr) {  // in a rank-k update, the right factor is A as well
        call.b = nullptr;
        call.ldb = 0;
    }
    set_c(call, product, span.begin, span.begin);
    same.call(same.context, call);
}

void call_rectangle(const Level3& product, const TriangleTerms& terms, const Panels& left, const Panels& right,
                    IndexRange rows, IndexRange columns, Routine gemm) {
    Level3 call = product;
    call.operation = Operation::gemm;
    call.uplo = '\0';
    call.trans_a = terms.trans_a;
    call.trans_b = terms.trans_b;
    call.m = rows.count();
    call.n = columns.count();
    set_c(call, product, rows.begin, columns.begin);
    for (int t = 0; t < terms.count; ++t) {
        call.alpha = terms.of[t].alpha.data();
        call.beta = terms.of[t].beta.data();
        set_operands(call, left[t].stored, right[t].stored);
        gemm.call(gemm.context, call);
    }
}

/// Multiplies the stored triangle of a diagonal block `c` of C by `beta`, as rank-k updates do, and adds `tile` to
/// it.
void add_triangle(const Matrix& c, const Matrix& tile, const Level3& product, const Scalar& beta) {
    const bool upper = product.uplo == 'U';
    for (std::int64_t i = 0; i < tile.rows; ++i) {
        for (std::int64_t j = upper ? i : 0; j < (upper ? tile.columns : i + 1); ++j) {
            const float* const from = tile.at(i, j);
            auto* const to = const_cast<float*>(c.at(i, j));
            const bool is_real = product.operation == Operation::herk && i == j;
            const bool is_pair = tile.is_complex && !is_real;
            float scaled[2] = {0.0F, 0.0F};
            if (beta[0] != 0.0F || beta[1] != 0.0F) {
                scaled[0] = beta[0] * to[0] - (beta[1] != 0.0F ? beta[1] * to[1] : 0.0F);
                if (is_pair) scaled[1] = beta[0] * to[1] + (beta[1] != 0.0F ? beta[1] * to[0] : 0.0F);
            }
            to[0] = scaled[0] + from[0];
            if (tile.is_complex) to[1] = is_real ? 0.0F : scaled[1] + from[1];
        }
    }
}

/// Computes C's diagonal block at `span` if the terms are asymmetric. Calls gemm to compute the whole block in
/// `memory`, and adds one triangle of that block to C.
void call_diagonal_as_gemm(const Level3& product, const TriangleTerms& terms, const Panels& left, const Panels& right,
                           IndexRange span, float* memory, Routine gemm) {
    constexpr float zero[2] = {0.0F, 0.0F};
    const Matrix c = operand_c(product);
    const Matrix tile = tile_of(c, span.count(), memory);
    Level3 whole = product;
    whole.beta = zero;
    whole.c = memory;
    whole.ldc = tile.ld;
    TriangleTerms plain = terms;
    plain.of[0].beta = {};
    const IndexRange all{0, span.count()};
    call_rectangle(whole, plain, left, right, all, all, gemm);
    add_triangle(c.block(span.begin, span.begin, span.count(), span.count()), tile, product, terms.of[0].beta);
}

Panels sub_panels(const Panels& panels, std::int64_t first, std::int64_t count) {
    Panels result = panels;
    for (PanelOperand& factor : result)
        if (factor.stored.data != nullptr) factor.stored = factor.panel(first, count);
    return result;
}

EmulationResult triangle_in_blocks(const Level3& product, const EmulationStep& step) {
    const TriangleTerms terms = terms_of(product, step);
    const std::int64_t n = product.n;
    const TrianglePlan plan = plan_triangle(terms, operand_c(product), step.scratch->limit);
    if (plan.kept == 0 || step.gemm.call == nullptr) return EmulationResult::scratch_limit;
    float* const scratch = step.scratch->acquire(plan.bytes);
    if (scratch == nullptr) return EmulationResult::scratch_limit;
    float* const streamed_to = advanced_by(scratch, plan.kept_bytes);

    const auto copy_panels = [&](PanelOperand GemmTerm::*side, IndexRange span, float* to) {
        Panels panels;
        for (int t = 0; t < terms.count; ++t) {
            const PanelOperand& factor = terms.of[t].*side;
            panels[t] = rounded_panel(factor, span.begin, span.count(), to);
            to = advanced_by(to, panel_bytes(factor, span.count()));
        }
        return panels;
    };
    const bool upper = product.uplo == 'U';
    for (std::int64_t i = 0; i < n; i += plan.kept) {
        const IndexRange rows{i, std::min(n, i + plan.kept)};
        const Panels kept = copy_panels(&GemmTerm::left, rows, scratch);
        const IndexRange triangle = upper ? IndexRange{rows.begin, n} : IndexRange{0, rows.end};
        for (std::int64_t j = triangle.begin; j < triangle.end; j += plan.streamed) {
            const IndexRange columns{j, std::min(triangle.end, j + plan.streamed)};
            const bool on_diagonal = columns.begin >= rows.begin && columns.end <= rows.end;
            const Panels left =
                on_diagonal ? sub_panels(kept, columns.begin - rows.begin, columns.count()) : Panels{};
            const Panels right = on_diagonal && terms.same_factors
                                     ? Panels{left[terms.count - 1], left[0]}
                                     : copy_panels(&GemmTerm::right, columns, streamed_to);
            IndexRange beside = rows;
            if (on_diagonal) {
                if (terms.is_asymmetric)
                    call_diagonal_as_gemm(product, terms, left, right, columns, advanced_by(scratch, plan.tile_begin),
                                          step.gemm);
                else
                    call_diagonal(product, left, right, columns, step.same);
                (upper ? beside.end : beside.begin) = upper ? columns.begin : columns.end;
            }
            if (beside.count() > 0)
                call_rectangle(product, terms, sub_panels(kept, beside.begin - rows.begin, beside.count()), right,
                               beside, columns, step.gemm);
        }
    }
    return EmulationResult::done;
}

// In symm, hemm and an out-of-place trmm, A is square, and each panel of C depends on only one panel of B.

/// Runs a product with a rounded copy of the whole A. Calls the program's routine once for each rounded panel of B.
/// Returns scratch_limit, and calls nothing, if A and a panel of `least` rows or columns of B do not fit in memory.
EmulationResult side_in_blocks(const Level3& product, std::int64_t least, const EmulationStep& step) {
    const RoundedProduct& rounded = step.rounded;
    const PanelOperand b{.stored = operand_b(product), .cut_rows = product.side == 'R', .kernel = rounded.round_b};
    const std::size_t a_bytes = rounded_copy_bytes(operand_a(product));
    const std::size_t limit = step.scratch->limit;
    if (a_bytes >= limit) return EmulationResult::scratch_limit;
    const std::int64_t width = largest_panel(b, b.length(), limit - a_bytes);
    if (width < std::min(least, b.length())) return EmulationResult::scratch_limit;
    float* const scratch = step.scratch->acquire(a_bytes + panel_bytes(b, width));
    if (scratch == nullptr) return EmulationResult::scratch_limit;

    Level3 call = product;
    set_rounded_a(call, rounded.round_a, rounded.has_first_of_a, scratch);
    for (std::int64_t first = 0; first < b.length(); first += width) {
        const std::int64_t count = std::min(width, b.length() - first);
        const Matrix b_copy = rounded_panel(b, first, count, advanced_by(scratch, a_bytes)).stored;
        set_b(call, b_copy);
        call.m = b_copy.rows;
        call.n = b_copy.columns;
        set_c(call, product, b.cut_rows ? first : 0, b.cut_rows ? 0 : first);
        step.same.call(step.same.context, call);
    }
    return EmulationResult::done;
}

/// Runs a symm or hemm as a gemm. Each panel of the symmetric factor is completed from the triangle that is stored.
EmulationResult symm_as_gemm(const Level3& product, const EmulationStep& step) {
    const bool a_is_left = product.side == 'L';
    const PanelOperand a{operand_a(product), a_is_left, part_of_a(product), product.operation == Operation::hemm,
                         step.rounded.round_a};
    const PanelOperand b{.stored = operand_b(product), .cut_rows = !a_is_left, .kernel = step.rounded.round_b};
    Level3 call = product;
    call.operation = Operation::gemm;
    call.side = call.uplo = '\0';
    call.trans_a = call.trans_b = 'N';
    call.k = a_is_left ? product.m : product.n;
    return gemm_in_blocks(call, a_is_left ? a : b, a_is_left ? b : a, step.gemm, step);
}

/// Adds each element of a panel to the element of `sum` at the same position.
void add_panel(const Matrix& sum, const Matrix& panel) {
    for_each_contiguous_run(panel, sum, Part::whole, [&](const float* from, float* to, std::int64_t elements) {
        for (std::int64_t i = 0; i < elements * panel.width; ++i) to[i] += from[i];
    });
}

}  // namespace

EmulationResult sum_trmm_in_place(const Level3& product, std::span<const RoundedProduct> products, Routine same,
                                  ProductScratch& scratch) {
    PanelOperand b{.stored = operand_b(product), .cut_rows = product.side == 'R'};
    const std::size_t a_bytes = rounded_copy_bytes(operand_a(product));
    if (a_bytes >= scratch.limit) return EmulationResult::scratch_limit;
    const std::int64_t width = largest_panel(b, b.length(), (scratch.limit - a_bytes) / 2);
    if (width == 0) return EmulationResult::scratch_limit;
    const std::size_t b_bytes = panel_bytes(b, width);
    float* const memory = scratch.acquire(a_bytes + 2 * b_bytes);
    if (memory == nullptr) return EmulationResult::scratch_limit;
    float* const sum_begin = advanced_by(memory, a_bytes + b_bytes);

    for (std::int64_t first = 0; first < b.length(); first += width) {
        const std::int64_t count = std::min(width, b.length() - first);
        Matrix sum;
        for (const RoundedProduct& rounded : products) {
            const bool is_first = &rounded == products.data();
            b.kernel = rounded.round_b;
            // The first product is computed directly in the memory of the sum.
            const Matrix panel =
                rounded_panel(b, first, count, is_first ? sum_begin : advanced_by(memory, a_bytes)).stored;
            Level3 call = product;
            set_rounded_a(call, rounded.round_a, rounded.has_first_of_a, memory);
            set_b(call, panel);
            call.m = panel.rows;
            call.n = panel.columns;
            same.call(same.context, call);
            if (is_first)
                sum = panel;
            else
                add_panel(sum, panel);
        }
        copy_elements(sum, Part::whole, b.panel(first, count));
    }
    return EmulationResult::done;
}

EmulationResult emulate_in_blocks(const Level3& product, const EmulationStep& step) {
    switch (product.operation) {
        case Operation::gemm:
            return gemm_in_blocks(product, left_factor(product, step.rounded), right_factor(product, step.rounded),
                                  step.same, step);
        case Operation::symm:
        case Operation::hemm: {
            // In a factor that is rounded to fixed-point numbers, each row or column has its own unit. So a
            // symmetric factor is no longer symmetric after rounding.
            if (step.rounded.round_a.fixed_point_bits() > 0) return symm_as_gemm(product, step);
            const std::int64_t least = step.gemm.call == nullptr ? 1 : ample_width;
            if (side_in_blocks(product, least, step) == EmulationResult::done) return EmulationResult::done;
            return symm_as_gemm(product, step);
        }
        case Operation::trmm:
            return side_in_blocks(product, 1, step);
        default:
            return triangle_in_blocks(product, step);
    }
}

}  // namespace fp32shim::blas
