#include "emulate_cases.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "naive_level3.hpp"
#include "shim/blas/emulate/operand.hpp"

namespace fp32shim::tests {
namespace {

using blas::Level3;
using blas::Matrix;
using blas::OperandRounding;
using blas::Operation;

const float poison = std::bit_cast<float>(0x7f812345U);

bool is_one_of(Operation operation, std::initializer_list<Operation> operations) {
    for (const Operation candidate : operations)
        if (operation == candidate) return true;
    return false;
}

std::string letters_of(bool present, const char* letters) { return present ? letters : std::string(1, '\0'); }

/// Returns a value whose lowest mantissa bits matter, which shows an operand that was not rounded, or rounded twice.
float random_value(std::mt19937& random) {
    return std::uniform_real_distribution<float>(-1.0F, 1.0F)(random) * (random() % 8 == 0 ? 64.0F : 1.0F);
}

/// Returns the elements of a stored matrix, with poison where it must not be read. For square matrices, `part` and
/// `real_diagonal` tell where that is.
std::vector<float> filled(Matrix shape, blas::Part part, bool real_diagonal, std::mt19937& random) {
    if (shape.rows == 0 || shape.columns == 0) return {};
    const std::int64_t elements = shape.ld * (shape.outer() - 1) + shape.inner();
    std::vector<float> values(static_cast<std::size_t>(elements * shape.width), poison);
    shape.data = values.data();
    for (std::int64_t i = 0; i < shape.rows; ++i) {
        for (std::int64_t j = 0; j < shape.columns; ++j) {
            if ((part == blas::Part::upper && i > j) || (part == blas::Part::lower && i < j)) continue;
            auto* const element = const_cast<float*>(shape.at(i, j));
            for (int w = 0; w < shape.width; ++w) element[w] = random_value(random);
            if (real_diagonal && i == j) element[1] = poison;
        }
    }
    return values;
}

Case make_case(Level3 product, std::int64_t extra_ld, std::array<float, 2> alpha, std::array<float, 2> beta) {
    std::mt19937 random(static_cast<unsigned>(product.m * 31 + product.n * 7 + product.k));
    const Operation operation = product.operation;
    const auto set_ld = [&](std::int64_t& ld, const Matrix& shape) {
        ld = std::max<std::int64_t>(1, shape.inner()) + extra_ld;
    };
    const bool in_place = operation == Operation::trmm && product.c == nullptr;
    const bool has_b = !is_one_of(operation, {Operation::syrk, Operation::herk});
    set_ld(product.lda, operand_a(product));
    if (has_b) set_ld(product.ldb, operand_b(product));
    if (!in_place) set_ld(product.ldc, operand_c(product));

    const bool c_is_triangle = is_one_of(
        operation, {Operation::gemmt, Operation::syrk, Operation::herk, Operation::syr2k, Operation::her2k});
    const blas::Part triangle = product.uplo == 'U' ? blas::Part::upper : blas::Part::lower;
    Case result{product, alpha, beta, {}, {}, {}};
    result.a = filled(operand_a(product), part_of_a(product), operation == Operation::hemm, random);
    if (has_b) result.b = filled(operand_b(product), blas::Part::whole, false, random);
    if (!in_place)
        result.c = filled(operand_c(product), c_is_triangle ? triangle : blas::Part::whole,
                          is_one_of(operation, {Operation::herk, Operation::her2k}), random);
    return result;
}

/// Rounds a value by the definition, in arithmetic.
float rounded(float value, OperandRounding rounding) {
    if (std::isnan(value) || value == 0) return value;
    const double unit = std::ldexp(1.0, std::ilogb(value) - (rounding == OperandRounding::bf16_even ? 7 : 10));
    const double units = value / unit;
    const double whole = rounding == OperandRounding::tf32_truncate ? std::trunc(units)
                         : rounding == OperandRounding::tf32_away   ? std::round(units)
                                                                    : std::nearbyint(units);
    return static_cast<float>(whole * unit);
}

std::vector<float> rounded(std::vector<float> values, OperandRounding rounding) {
    for (float& value : values) value = rounded(value, rounding);
    return values;
}

void point(Level3& product, const Case& scalars, void* a, void* b, void* c) {
    product.alpha = scalars.alpha.data();
    const bool in_place = product.operation == Operation::trmm && scalars.c.empty();
    product.beta = in_place ? nullptr : scalars.beta.data();
    product.a = a;
    product.b = scalars.b.empty() ? nullptr : b;
    product.c = in_place ? nullptr : c;
}

}  // namespace

std::string Case::description() const {
    const auto letter = [](char c) { return c == '\0' ? '-' : c; };
    std::string text = "operation " + std::to_string(static_cast<int>(product.operation));
    text += product.is_complex ? " complex" : " real";
    text += product.row_major ? " row-major " : " column-major ";
    for (const char c : {product.side, product.uplo, product.trans_a, product.trans_b, product.diag})
        text += letter(c);
    for (const std::int64_t size : {product.m, product.n, product.k}) text += ' ' + std::to_string(size);
    return text + (product.operation == Operation::trmm && c.empty() ? " in place" : "");
}

void for_every_case(Operation operation, bool is_complex, std::int64_t m, std::int64_t n, std::int64_t k,
                    const std::function<void(const Case&)>& check) {
    static float c_is_given = 0;
    const bool has_side = is_one_of(operation, {Operation::symm, Operation::hemm, Operation::trmm});
    const bool is_trmm = operation == Operation::trmm;
    const bool is_product = is_one_of(operation, {Operation::gemm, Operation::gemmt});
    const bool hermitian = is_one_of(operation, {Operation::herk, Operation::her2k});
    std::string trans = is_complex && operation == Operation::gemm ? "NTCR" : "NTC";
    if (is_complex && is_one_of(operation, {Operation::syrk, Operation::syr2k})) trans = "NT";
    if (hermitian) trans = "NC";
    const bool has_trans = !is_one_of(operation, {Operation::symm, Operation::hemm});
    for (const bool row_major : {false, true})
        for (const char side : letters_of(has_side, "LR"))
            for (const char uplo : letters_of(operation != Operation::gemm, "UL"))
                for (const char trans_a : letters_of(has_trans, trans.c_str()))
                    for (const char trans_b : letters_of(is_product, trans.c_str()))
                        for (const char diag : letters_of(is_trmm, "NU"))
                            for (const bool in_place : {false, true}) {
                                if (in_place && !is_trmm) continue;
                                Level3 product{operation, is_complex, row_major, side, uplo, trans_a, trans_b, diag};
                                const bool square = !has_side && operation != Operation::gemm;
                                product.m = square ? 0 : m;
                                product.n = n;
                                product.k = has_trans && !is_trmm ? k : 0;
                                product.c = in_place ? nullptr : &c_is_given;
                                check(make_case(product, row_major ? 0 : 3, {1.5F, -0.25F}, {0.5F, 2.0F}));
                                if (!in_place) check(make_case(product, 1, {-1.0F, 0.0F}, {0.0F, 0.0F}));
                            }
}

Case plain_gemm(std::int64_t m, std::int64_t n, std::int64_t k, char trans_a, char trans_b) {
    static float c_is_given = 0;
    Level3 product{Operation::gemm, false, false, 0, 0, trans_a, trans_b, 0, m, n, k};
    product.c = &c_is_given;
    return make_case(product, 0, {1.0F, 0.0F}, {0.0F, 0.0F});
}

Placed place(const Case& test_case) {
    Placed placed{test_case.product, GuardedFloats(test_case.a), GuardedFloats(test_case.b),
                  GuardedFloats(test_case.c)};
    point(placed.product, test_case, placed.a.data(), placed.b.data(), placed.c.data());
    return placed;
}

Expected expected_after(const Case& test_case, OperandRounding rounding) {
    std::vector<float> a = rounded(test_case.a, rounding);
    std::vector<float> b = rounded(test_case.b, rounding);
    std::vector<float> c = test_case.c;
    Level3 product = test_case.product;
    point(product, test_case, a.data(), b.data(), c.data());
    naive_level3(product);
    const bool writes_b = product.operation == Operation::trmm && product.c == nullptr;
    return {test_case.a, writes_b ? b : test_case.b, c};
}

}  // namespace fp32shim::tests
