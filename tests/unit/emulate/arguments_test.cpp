#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>

#include "emulate_cases.hpp"
#include "shim/blas/emulate/arguments.hpp"

namespace fp32shim::tests {
namespace {

using blas::Level3;
using blas::Operation;

constexpr Operation operations[] = {Operation::gemm,  Operation::gemmt, Operation::symm,
                                    Operation::hemm,  Operation::syrk,  Operation::herk,
                                    Operation::syr2k, Operation::her2k, Operation::trmm};
/// Returns a product of sizes 2, 3, 4 with the smallest leading dimensions that its layout allows.
Level3 smallest(Operation operation, bool is_complex, bool row_major) {
    Level3 product{operation, is_complex, row_major};
    product.side = 'L';
    product.uplo = 'U';
    product.trans_a = 'N';
    product.trans_b = 'N';
    product.diag = 'N';
    product.n = 3;
    static float scalar[2] = {1, 0};
    static float operand[32] = {};
    product.alpha = product.beta = scalar;
    product.a = product.b = product.c = operand;
    switch (operation) {
        case Operation::gemm:
            product.m = 2;
            product.k = 4;
            product.lda = row_major ? 4 : 2;
            product.ldb = row_major ? 3 : 4;
            product.ldc = row_major ? 3 : 2;
            break;
        case Operation::gemmt:
            product.k = 4;
            product.lda = row_major ? 4 : 3;
            product.ldb = row_major ? 3 : 4;
            product.ldc = 3;
            break;
        case Operation::symm:
        case Operation::hemm:
        case Operation::trmm:
        case Operation::trsm:
            product.m = 2;
            product.lda = 2;
            product.ldb = product.ldc = row_major ? 3 : 2;
            break;
        default:
            product.k = 4;
            product.lda = product.ldb = row_major ? 4 : 3;
            product.ldc = 3;
    }
    return product;
}

bool is_hermitian(Operation operation) {
    return operation == Operation::hemm || operation == Operation::herk || operation == Operation::her2k;
}

bool takes_b(Operation operation) { return operation != Operation::syrk && operation != Operation::herk; }

/// Calls `body` with the smallest valid product of each operation, dtype and layout.
template <typename Body>
void for_every_product(Body body) {
    for (const Operation operation : operations)
        for (const bool is_complex : {false, true})
            for (const bool row_major : {false, true})
                if (is_complex || !is_hermitian(operation)) body(smallest(operation, is_complex, row_major));
}

TEST(Arguments, AreValidWithTheSmallestLeadingDimensionsOfEachLayout) {
    for_every_product([](const Level3& product) {
        EXPECT_TRUE(arguments_are_valid(product)) << static_cast<int>(product.operation) << product.row_major;
    });
}

TEST(Arguments, AreInvalidWithALeadingDimensionBelowTheSmallest) {
    for_every_product([](const Level3& product) {
        Level3 wrong = product;
        --wrong.lda;
        EXPECT_FALSE(arguments_are_valid(wrong));
        wrong = product;
        --wrong.ldc;
        EXPECT_FALSE(arguments_are_valid(wrong));
        wrong = product;
        --wrong.ldb;
        EXPECT_EQ(arguments_are_valid(wrong), !takes_b(product.operation));
    });
}

TEST(Arguments, NeedALeadingDimensionOfAtLeastOneWhereASizeIsZero) {
    for_every_product([](const Level3& product) {
        Level3 empty = product;
        empty.m = empty.n = empty.k = 0;
        empty.lda = empty.ldb = empty.ldc = 1;
        EXPECT_TRUE(arguments_are_valid(empty));
        empty.lda = 0;
        EXPECT_FALSE(arguments_are_valid(empty));
    });
}

TEST(Arguments, AreInvalidWithNegativeSizes) {
    for_every_product([](const Level3& product) {
        for (std::int64_t Level3::*size : {&Level3::m, &Level3::n, &Level3::k}) {
            Level3 wrong = product;
            wrong.*size = -1;
            EXPECT_FALSE(arguments_are_valid(wrong));
        }
    });
}

TEST(Arguments, AreInvalidWithLettersThatTheOperationDoesNotKnow) {
    for_every_product([](const Level3& product) {
        const Operation operation = product.operation;
        const bool has_side =
            operation == Operation::symm || operation == Operation::hemm || operation == Operation::trmm;
        const bool has_trans = operation != Operation::symm && operation != Operation::hemm;
        const bool has_trans_b = operation == Operation::gemm || operation == Operation::gemmt;
        const auto with = [&](char Level3::*letter, char value) {
            Level3 changed = product;
            changed.*letter = value;
            return arguments_are_valid(changed);
        };
        for (const char wrong : {'\0', 'X', 'n', 'u'}) {
            EXPECT_EQ(with(&Level3::side, wrong), !has_side);
            EXPECT_EQ(with(&Level3::uplo, wrong), operation == Operation::gemm);
            EXPECT_EQ(with(&Level3::diag, wrong), operation != Operation::trmm);
            EXPECT_EQ(with(&Level3::trans_a, wrong), !has_trans);
            EXPECT_EQ(with(&Level3::trans_b, wrong), !has_trans_b);
        }
    });
}

TEST(Arguments, AllowTheTranspositionsOfTheReference) {
    const auto allows = [](Operation operation, bool is_complex, char trans) {
        Level3 product = smallest(operation, is_complex, false);
        product.trans_a = trans;
        product.lda = product.ldb = 8;
        return arguments_are_valid(product);
    };
    for (const Operation operation : {Operation::syrk, Operation::syr2k}) {
        EXPECT_TRUE(allows(operation, false, 'T'));
        EXPECT_TRUE(allows(operation, false, 'C'));
        EXPECT_TRUE(allows(operation, true, 'T'));
        EXPECT_FALSE(allows(operation, true, 'C'));
    }
    for (const Operation operation : {Operation::herk, Operation::her2k}) {
        EXPECT_TRUE(allows(operation, true, 'C'));
        EXPECT_FALSE(allows(operation, true, 'T'));
        EXPECT_FALSE(allows(operation, false, 'N')) << "there is no real Hermitian update";
    }
    EXPECT_TRUE(allows(Operation::gemm, true, 'R'));
    EXPECT_FALSE(allows(Operation::gemm, false, 'R'));
    EXPECT_FALSE(allows(Operation::gemmt, true, 'R'));
    EXPECT_FALSE(allows(Operation::trmm, true, 'R'));
}

TEST(Arguments, CompareTheLeadingDimensionWithTheStoredShape) {
    Level3 product = smallest(Operation::gemm, false, false);
    product.trans_a = 'T';
    EXPECT_FALSE(arguments_are_valid(product)) << "A is stored 4x2";
    product.lda = 4;
    EXPECT_TRUE(arguments_are_valid(product));
    product.row_major = true;
    product.ldb = product.ldc = 3;
    product.lda = 2;
    EXPECT_TRUE(arguments_are_valid(product)) << "its rows are 2 long";
}

TEST(Multiplies, IsFalseWhereASizeIsZero) {
    for_every_product([](const Level3& product) {
        EXPECT_TRUE(multiplies(product));
        for (std::int64_t Level3::*size : {&Level3::m, &Level3::n, &Level3::k}) {
            if (product.*size == 0) continue;
            Level3 empty = product;
            empty.*size = 0;
            EXPECT_FALSE(multiplies(empty));
        }
    });
}

TEST(Multiplies, IsFalseWithoutAPointerThatTheProductNeeds) {
    for_every_product([](const Level3& product) {
        Level3 incomplete = product;
        incomplete.alpha = nullptr;
        EXPECT_FALSE(multiplies(incomplete));
        incomplete = product;
        incomplete.a = nullptr;
        EXPECT_FALSE(multiplies(incomplete));
        incomplete = product;
        incomplete.b = nullptr;
        EXPECT_EQ(multiplies(incomplete), !takes_b(product.operation));
        incomplete = product;
        incomplete.c = nullptr;
        EXPECT_EQ(multiplies(incomplete), product.operation == Operation::trmm) << "trmm is in place without C";
    });
}

TEST(Multiplies, LooksAtBothPartsOfAComplexAlphaAndTakesNanForANumber) {
    float alpha[2] = {0.0F, 0.0F};
    const auto with_alpha = [&](Operation operation, bool is_complex) {
        Level3 product = smallest(operation, is_complex, false);
        product.alpha = alpha;
        return multiplies(product);
    };
    EXPECT_FALSE(with_alpha(Operation::gemm, false));
    EXPECT_FALSE(with_alpha(Operation::gemm, true));
    alpha[1] = 1.0F;
    EXPECT_FALSE(with_alpha(Operation::gemm, false));
    EXPECT_TRUE(with_alpha(Operation::gemm, true));
    EXPECT_TRUE(with_alpha(Operation::her2k, true));
    EXPECT_FALSE(with_alpha(Operation::herk, true)) << "its alpha is real: one float";
    alpha[0] = std::nanf("");
    EXPECT_TRUE(with_alpha(Operation::gemm, false));
    alpha[0] = -0.0F;
    EXPECT_FALSE(with_alpha(Operation::gemm, false));
}

}  // namespace
}  // namespace fp32shim::tests
