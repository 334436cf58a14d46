#include "shim/blas/emulate/tensor_core.hpp"

#include <algorithm>

#include "shim/blas/emulate/rounding.hpp"

namespace fp32shim::blas {
namespace {

using policy::Accumulation;

/// Numbers of a GPU's tensor cores: products in one step for TF32, for 16-bit and for 8-bit formats, fraction bits of
/// terms, and fraction bits of terms and of results for 8-bit formats. An A100 has no 8-bit formats; their numbers
/// are numbers of FP16 too, and are multiplied as such.
struct Gpu {
    Accumulation name;
    int tf32_block, block_of_16_bits, block_of_8_bits;
    int fraction_bits, fraction_bits_of_8, result_bits_of_8;
};
constexpr Gpu gpus[] = {
    {Accumulation::a100, 4, 8, 8, 24, 24, 23},
    {Accumulation::hopper, 8, 16, 32, 25, 13, 13},
    {Accumulation::b200, 8, 16, 32, 25, 25, 23},
};

/// An element of an operand, or the place where a triangle has none.
struct Element {
    float re = 0;
    float im = 0;
    bool exists = true;
};

Element conj(Element x) { return {x.re, -x.im, x.exists}; }
Element product_of(Element x, Element y) { return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}; }
bool is_zero(Element x) { return x.re == 0 && x.im == 0; }

Element element_at(const float* at, int width) { return {at[0], width == 2 ? at[1] : 0.0F}; }

Element scalar(const void* at, bool is_pair) {
    return at == nullptr ? Element{} : element_at(static_cast<const float*>(at), is_pair ? 2 : 1);
}

/// An operand in its mathematical form: op() is applied, and a triangle is completed if the operation does so.
class OperandView {
  public:
    OperandView() = default;
    OperandView(const Matrix& matrix, char trans) : matrix_(matrix), trans_(trans) {}
    /// Views A of a product whose A has one triangle only.
    explicit OperandView(const Level3& product)
        : matrix_(operand_a(product)),
          trans_(product.operation == Operation::trmm ? product.trans_a : 'N'),
          product_(&product) {}

    Element at(std::int64_t row, std::int64_t column) const {
        const bool transposed = trans_ == 'T' || trans_ == 'C';
        const Element value = transposed ? stored(column, row) : stored(row, column);
        return trans_ == 'C' || trans_ == 'R' ? conj(value) : value;
    }

  private:
    Element stored(std::int64_t row, std::int64_t column) const {
        if (product_ == nullptr) return whole(row, column);
        const bool is_there = product_->uplo == 'U' ? row <= column : row >= column;
        switch (product_->operation) {
            case Operation::symm:
                return is_there ? whole(row, column) : whole(column, row);
            case Operation::hemm:
                if (row == column) return {whole(row, row).re};
                return is_there ? whole(row, column) : conj(whole(column, row));
            default:  // trmm
                if (row == column && product_->diag == 'U') return {1};
                return is_there ? whole(row, column) : Element{.exists = false};
        }
    }
    Element whole(std::int64_t row, std::int64_t column) const {
        return element_at(matrix_.at(row, column), matrix_.width);
    }

    Matrix matrix_;
    char trans_ = 'N';
    const Level3* product_ = nullptr;
};

/// Rows or columns of a result that are computed together.
struct Tile {
    std::int64_t begin;
    std::int64_t end;
    int count() const { return static_cast<int>(end - begin); }
};

/// Divides [0, length) into tiles and calls `use` with each, the last one first if `backwards`.
template <class Use>
void for_each_tile(std::int64_t length, std::int64_t width, bool backwards, const Use& use) {
    const std::int64_t count = (length + width - 1) / width;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t begin = (backwards ? count - 1 - i : i) * width;
        use(Tile{begin, std::min(begin + width, length)});
    }
}

/// A product of two factors: result := alpha left right + beta result.
class TensorCoreProduct {
  public:
    TensorCoreProduct(const Level3& product, const TensorCore& core) : product_(product), core_(core) {
        const bool is_in_place = product.operation == Operation::trmm && product.c == nullptr;
        result_ = is_in_place ? operand_b(product) : operand_c(product);
    }

    void run() {
        const Matrix a = operand_a(product_);
        const Matrix b = operand_b(product_);
        const bool hermitian = is_hermitian();
        const bool real_alpha = product_.operation == Operation::herk;
        alpha_ = scalar(product_.alpha, product_.is_complex && !real_alpha);
        beta_ = scalar(product_.beta, product_.is_complex && !hermitian);
        if (product_.operation == Operation::trmm && product_.c == nullptr) beta_ = {};
        const char transposed = hermitian ? 'C' : 'T';
        const char other = product_.trans_a == 'N' ? transposed : 'N';
        switch (product_.operation) {
            case Operation::gemm:
            case Operation::gemmt:
                return run({a, product_.trans_a}, {b, product_.trans_b}, product_.k);
            case Operation::syrk:
            case Operation::herk:
                return run({a, product_.trans_a}, {a, other}, product_.k);
            case Operation::syr2k:
            case Operation::her2k:
                run({a, product_.trans_a}, {b, other}, product_.k);
                if (hermitian) alpha_ = conj(alpha_);
                beta_ = {1};
                return run({b, product_.trans_a}, {a, other}, product_.k);
            default:
                if (product_.side == 'L') return run(OperandView(product_), {b, 'N'}, a.rows);
                return run({b, 'N'}, OperandView(product_), a.rows);
        }
    }

  private:
    static constexpr std::int64_t rows_at_once = 8;

    bool is_hermitian() const {
        return product_.operation == Operation::herk || product_.operation == Operation::her2k;
    }
    bool is_triangular() const { return product_.operation == Operation::trmm; }
    /// Returns true if op(A) of a trmm is upper triangular.
    bool is_upper() const { return (product_.uplo == 'U') == (product_.trans_a == 'N' || product_.trans_a == 'R'); }
    bool writes(std::int64_t row, std::int64_t column) const {
        switch (product_.operation) {
            case Operation::gemm:
            case Operation::symm:
            case Operation::hemm:
            case Operation::trmm:
                return true;
            default:
                return product_.uplo == 'U' ? row <= column : row >= column;
        }
    }

    void run(const OperandView& left, const OperandView& right, std::int64_t depth) {
        left_ = left;
        right_ = right;
        depth_ = depth;
        // A trmm in place overwrites elements of B that no later tile reads.
        const bool is_left = product_.side == 'L';
        const bool rows_backwards = is_triangular() && is_left && !is_upper();
        const bool columns_backwards = is_triangular() && !is_left && is_upper();
        for_each_tile(result_.rows, rows_at_once, rows_backwards, [&](Tile rows) {
            for_each_tile(result_.columns, sums_at_once, columns_backwards, [&](Tile columns) {
                if (writes(rows.begin, columns.end - 1) || writes(rows.end - 1, columns.begin))
                    run_tile(rows, columns);
            });
        });
    }

    /// Returns the indices of a tile's sums at which op(A) of a trmm is not zero; of other operations, all.
    Tile summed(Tile rows, Tile columns) const {
        if (!is_triangular()) return {0, depth_};
        if (product_.side == 'L') return is_upper() ? Tile{rows.begin, depth_} : Tile{0, rows.end};
        return is_upper() ? Tile{0, columns.end} : Tile{columns.begin, depth_};
    }

    struct Sums {
        float re[rows_at_once][sums_at_once] = {};
        float im[rows_at_once][sums_at_once] = {};
    };

    void run_tile(Tile rows, Tile columns) {
        Sums sums;
        const Tile all = summed(rows, columns);
        for (std::int64_t first = all.begin; first < all.end; first += core_.block)
            add_products(rows, columns, {first, std::min(first + core_.block, all.end)}, sums);
        for (std::int64_t i = rows.begin; i < rows.end; ++i)
            for (std::int64_t j = columns.begin; j < columns.end; ++j)
                if (writes(i, j))
                    write(i, j,
                          {sums.re[i - rows.begin][j - columns.begin], sums.im[i - rows.begin][j - columns.begin]});
    }

    void add_products(Tile rows, Tile columns, Tile summed, Sums& sums) const {
        RightFactors right_re;
        RightFactors right_im;
        for (int p = 0; p < summed.count(); ++p) {
            for (int j = 0; j < sums_at_once; ++j) {
                const Element element =
                    j < columns.count() ? right_.at(summed.begin + p, columns.begin + j) : Element{.exists = false};
                set_or_leave_out(right_re, p, j, element.re, element.exists);
                if (product_.is_complex) set_or_leave_out(right_im, p, j, element.im, element.exists);
            }
        }
        for (int i = 0; i < rows.count(); ++i) {
            LeftFactors left_re;
            LeftFactors left_im;
            for (int p = 0; p < summed.count(); ++p) {
                const Element element = left_.at(rows.begin + i, summed.begin + p);
                set_or_leave_out(left_re, p, element.re, element.exists);
                if (product_.is_complex) set_or_leave_out(left_im, p, element.im, element.exists);
            }
            add_block(left_re, right_re, summed.count(), false, core_, sums.re[i]);
            if (!product_.is_complex) continue;
            add_block(left_im, right_im, summed.count(), true, core_, sums.re[i]);
            add_block(left_re, right_im, summed.count(), false, core_, sums.im[i]);
            add_block(left_im, right_re, summed.count(), false, core_, sums.im[i]);
        }
    }
    void set_or_leave_out(LeftFactors& factors, int p, float number, bool exists) const {
        exists ? factors.set(p, number, core_) : factors.leave_out(p);
    }
    void set_or_leave_out(RightFactors& factors, int p, int sum, float number, bool exists) const {
        exists ? factors.set(p, sum, number, core_) : factors.leave_out(p, sum);
    }

    void write(std::int64_t row, std::int64_t column, Element sum) const {
        auto* const to = const_cast<float*>(result_.at(row, column));
        const bool is_real = is_hermitian() && row == column;
        Element value = product_.is_complex ? product_of(alpha_, sum) : Element{alpha_.re * sum.re};
        if (!is_zero(beta_)) {
            Element old = element_at(to, result_.width);
            if (is_real) old.im = 0;
            const Element scaled = product_.is_complex ? product_of(beta_, old) : Element{beta_.re * old.re};
            value = {value.re + scaled.re, value.im + scaled.im};
        }
        to[0] = value.re;
        if (result_.width == 2) to[1] = is_real ? 0.0F : value.im;
    }

    const Level3& product_;
    const TensorCore& core_;
    Matrix result_;
    OperandView left_;
    OperandView right_;
    std::int64_t depth_ = 0;
    Element alpha_;
    Element beta_;
};

}  // namespace

TensorCore tensor_core(Accumulation gpu, OperandRounding rounding) {
    const Gpu& numbers = *std::ranges::find(gpus, gpu, &Gpu::name);
    const auto [fraction_bits, lowest_exponent] = significand_of(rounding);
    constexpr int fraction_bits_of_e4m3 = 3;
    constexpr int fraction_bits_of_tf32 = 10;
    constexpr int lowest_exponent_of_float32 = -126;
    if (fraction_bits <= fraction_bits_of_e4m3)
        return {numbers.block_of_8_bits, numbers.fraction_bits_of_8, numbers.result_bits_of_8, fraction_bits,
                lowest_exponent};
    const bool is_tf32 = fraction_bits == fraction_bits_of_tf32 && lowest_exponent == lowest_exponent_of_float32;
    return {is_tf32 ? numbers.tf32_block : numbers.block_of_16_bits, numbers.fraction_bits, 23, fraction_bits,
            lowest_exponent};
}

void multiply_on_tensor_core(void* core, const Level3& product) {
    TensorCoreProduct(product, *static_cast<const TensorCore*>(core)).run();
}

}  // namespace fp32shim::blas
