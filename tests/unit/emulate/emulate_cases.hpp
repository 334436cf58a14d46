// Level-3 products with random operands in guarded memory, for the emulation's tests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "../sanitized.hpp"
#include "guarded_floats.hpp"
#include "shim/blas/emulate/emulate.hpp"

namespace fp32shim::tests {

inline constexpr std::size_t unlimited = std::size_t{1} << 40;

/// One product: its arguments and the values of its operands. Every element that the routine must not read is a
/// signalling NaN: between columns, in the triangle that is not stored, in the imaginary diagonal of Hermitian
/// operands.
struct Case {
    blas::Level3 product;  ///< arguments; `place` sets the pointers
    std::array<float, 2> alpha{};
    std::array<float, 2> beta{};
    std::vector<float> a, b, c;

    std::string description() const;
};

/// Calls `body` for every valid combination of side, uplo, trans, diag and layout of the operation at these sizes. A
/// size that the operation does not have is ignored. trmm is tested in place and out of place.
void for_every_case(blas::Operation operation, bool is_complex, std::int64_t m, std::int64_t n, std::int64_t k,
                    const std::function<void(const Case&)>& check);

/// Base of tests of every operation, real and complex. Instantiate derived classes with the parameters below.
class EveryOperation : public testing::TestWithParam<std::tuple<blas::Operation, bool>> {
  protected:
    blas::Operation operation() const { return std::get<0>(GetParam()); }
    bool is_complex() const { return std::get<1>(GetParam()); }
    void for_cases(std::int64_t m, std::int64_t n, std::int64_t k, const std::function<void(const Case&)>& body) {
        for_every_case(operation(), is_complex(), m, n, k, body);
    }
    /// Calls `body` for every case whose number is a multiple of `distance`, and under sanitizers for fewer cases.
    void for_some_cases(int distance, std::int64_t m, std::int64_t n, std::int64_t k,
                        const std::function<void(const Case&)>& body) {
        int count = 0;
        distance *= test::one_case_in;
        for_cases(m, n, k, [&](const Case& one) {
            if (count++ % distance == 0) body(one);
        });
        EXPECT_GT(count, 0);
    }
};

inline const auto real_operations =
    testing::Combine(testing::Values(blas::Operation::gemm, blas::Operation::gemmt, blas::Operation::symm,
                                     blas::Operation::syrk, blas::Operation::syr2k, blas::Operation::trmm),
                     testing::Values(false));
inline const auto complex_operations =
    testing::Combine(testing::Values(blas::Operation::gemm, blas::Operation::gemmt, blas::Operation::symm,
                                     blas::Operation::hemm, blas::Operation::syrk, blas::Operation::herk,
                                     blas::Operation::syr2k, blas::Operation::her2k, blas::Operation::trmm),
                     testing::Values(true));

inline std::string name_of(const testing::TestParamInfo<EveryOperation::ParamType>& info) {
    const char* const names[] = {"gemm", "gemmt", "symm", "hemm", "syrk", "herk", "syr2k", "her2k", "trmm"};
    return (std::get<1>(info.param) ? "Complex_" : "Real_") +
           std::string(names[static_cast<int>(std::get<0>(info.param))]);
}

/// Returns a case of gemm: column-major, alpha 1, beta 0, the smallest possible leading dimensions.
Case plain_gemm(std::int64_t m, std::int64_t n, std::int64_t k, char trans_a = 'N', char trans_b = 'N');

/// A case in memory.
struct Placed {
    blas::Level3 product;
    GuardedFloats a, b, c;
};
Placed place(const Case& test_case);

/// A, B and C after a product of operands that are rounded by the definition, element by element.
struct Expected {
    std::vector<float> a, b, c;
};
Expected expected_after(const Case& test_case, blas::OperandRounding rounding);

}  // namespace fp32shim::tests
