#include "shim/blas/emulate/tensor_core.hpp"

#include <algorithm>
#include <new>

#include "shim/blas/emulate/rounding.hpp"
#include "shim/level3/operand_view.hpp"

namespace fp32shim::blas {
namespace {

FloatElement product_of(FloatElement x, FloatElement y) {
    return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

/// Divides [0, length) into ranges of `width` indices, and calls `use` with each range, the last one first if
/// `backwards` is true.
template <class Use>
void for_each_tile(std::int64_t length, std::int64_t width, bool backwards, const Use& use) {
    const std::int64_t count = (length + width - 1) / width;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t begin = (backwards ? count - 1 - i : i) * width;
        use(IndexRange{begin, std::min(begin + width, length)});
    }
}

/// Computes one product by the model of a tensor core.
class TensorCoreProduct {
  public:
    TensorCoreProduct(const Level3& product, const TensorCoreModel& core, void* memory)
        : product_(product), core_(core), memory_(memory), result_(result_of(product)) {}

    void run() {
        for_each_two_factor_product<FloatElement>(product_, [this](const TwoFactorProduct<FloatElement>& factors) {
            factors_ = factors;
            run_factors();
        });
    }

  private:
    static constexpr std::int64_t rows_at_once = 8;

    bool is_trmm() const { return product_.operation == Operation::trmm; }
    /// Returns true if op(A) of a trmm is upper triangular.
    bool is_upper() const { return (product_.uplo == 'U') != transposes(product_.trans_a); }
    bool writes(std::int64_t row, std::int64_t column) const { return contains(written_part(product_), row, column); }

    void run_factors() {
        // A trmm in place overwrites elements of B. The tiles are computed in an order in which no later tile reads
        // these elements.
        const bool is_left = product_.side == 'L';
        const bool rows_backwards = is_trmm() && is_left && !is_upper();
        const bool columns_backwards = is_trmm() && !is_left && is_upper();
        for_each_tile(result_.rows, rows_at_once, rows_backwards, [&](IndexRange rows) {
            for_each_tile(result_.columns, sums_at_once, columns_backwards, [&](IndexRange columns) {
                if (writes(rows.begin, columns.end - 1) || writes(rows.end - 1, columns.begin))
                    run_tile(rows, columns);
            });
        });
    }

    /// Returns the range of indices over which a tile's sums run. In a trmm, these are the indices at which op(A) is
    /// not zero.
    IndexRange summed(IndexRange rows, IndexRange columns) const {
        if (!is_trmm()) return {0, factors_.depth};
        if (product_.side == 'L')
            return is_upper() ? IndexRange{rows.begin, factors_.depth} : IndexRange{0, rows.end};
        return is_upper() ? IndexRange{0, columns.end} : IndexRange{columns.begin, factors_.depth};
    }

    struct TileSums {
        float re[rows_at_once][sums_at_once] = {};
        float im[rows_at_once][sums_at_once] = {};
    };

    void run_tile(IndexRange rows, IndexRange columns) {
        TileSums sums;
        const IndexRange all = summed(rows, columns);
        for (std::int64_t first = all.begin; first < all.end; first += core_.step.products)
            add_products(rows, columns, {first, std::min(first + core_.step.products, all.end)}, sums);
        for (std::int64_t i = rows.begin; i < rows.end; ++i)
            for (std::int64_t j = columns.begin; j < columns.end; ++j)
                if (writes(i, j))
                    write(i, j,
                          {sums.re[i - rows.begin][j - columns.begin], sums.im[i - rows.begin][j - columns.begin]});
    }

    void add_products(IndexRange rows, IndexRange columns, IndexRange summed, TileSums& sums) const {
        const auto count = static_cast<int>(summed.count());
        auto& [right_re, right_im, left_re, left_im] = *new (memory_) ComplexBlockFactors;
        for (int p = 0; p < count; ++p) {
            for (int j = 0; j < sums_at_once; ++j) {
                const FloatElement element = j < columns.count()
                                                 ? factors_.right.at(summed.begin + p, columns.begin + j)
                                                 : FloatElement{.exists = false};
                set_or_leave_out(right_re, p, j, element.re, element.exists);
                if (product_.is_complex) set_or_leave_out(right_im, p, j, element.im, element.exists);
            }
        }
        for (int i = 0; i < rows.count(); ++i) {
            left_re.are_finite = left_im.are_finite = true;
            for (int p = 0; p < count; ++p) {
                const FloatElement element = factors_.left.at(rows.begin + i, summed.begin + p);
                set_or_leave_out(left_re, p, 0, element.re, element.exists);
                if (product_.is_complex) set_or_leave_out(left_im, p, 0, element.im, element.exists);
            }
            add_product_block(left_re, right_re, count, false, core_, sums.re[i]);
            if (!product_.is_complex) continue;
            add_product_block(left_im, right_im, count, true, core_, sums.re[i]);
            add_product_block(left_re, right_im, count, false, core_, sums.im[i]);
            add_product_block(left_im, right_re, count, false, core_, sums.im[i]);
        }
    }
    template <int sums>
    void set_or_leave_out(BlockFactors<sums>& factors, int p, int sum, float number, bool exists) const {
        exists ? factors.set_factor(p, sum, number, core_) : factors.leave_out_factor(p, sum);
    }

    void write(std::int64_t row, std::int64_t column, FloatElement sum) const {
        auto* const to = const_cast<float*>(result_.at(row, column));
        const bool is_real = is_herk_or_her2k(product_.operation) && row == column;
        FloatElement value =
            product_.is_complex ? product_of(factors_.alpha, sum) : FloatElement{factors_.alpha.re * sum.re};
        if (!is_zero(factors_.beta)) {
            FloatElement old = FloatElement::read(to, false, result_.is_complex);
            if (is_real) old.im = 0;
            const FloatElement scaled =
                product_.is_complex ? product_of(factors_.beta, old) : FloatElement{factors_.beta.re * old.re};
            value = {value.re + scaled.re, value.im + scaled.im};
        }
        to[0] = value.re;
        if (result_.width == 2) to[1] = is_real ? 0.0F : value.im;
    }

    const Level3& product_;
    const TensorCoreModel& core_;
    void* memory_;  ///< memory for a ComplexBlockFactors object
    Matrix result_;
    TwoFactorProduct<FloatElement> factors_;
};

}  // namespace

std::optional<TensorCoreModel> tensor_core_model(policy::AccumulationModel gpu, OperandRounding rounding) {
    constexpr policy::Factors factors[] = {
#define ROUNDING(name, ...) policy::FactorsOfRounding::name,
#include "policy/formats.def"
    };
    const policy::TensorCoreStep* const step =
        policy::find_tensor_core_step(gpu, factors[static_cast<std::size_t>(rounding)]);
    if (step == nullptr) return std::nullopt;
    const auto [fraction_bits, lowest_exponent] = number_format_of(rounding);
    return TensorCoreModel{*step, fraction_bits, lowest_exponent};
}

void multiply_on_tensor_core(void* routine, const Level3& product) {
    const auto& [core, scratch] = *static_cast<const TensorCoreRoutine*>(routine);
    TensorCoreProduct(product, core, scratch->leading_memory()).run();
}

}  // namespace fp32shim::blas
