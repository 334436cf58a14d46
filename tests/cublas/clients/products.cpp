// Tests every product of cuBLAS with the relevant options: its result must be right, and the shim's decision must
// agree with the format of the result. Runs with and without the shim, on a GPU and on the stand-in. settings.hpp
// lists the variables that control the test.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "decision_log.hpp"
#include "run_product.hpp"
#include "settings.hpp"

namespace clients {

// Prints a case in GoogleTest's messages.
void PrintTo(const ProductCase& product, std::ostream* out);
void PrintTo(const ProductCase& product, std::ostream* out) { *out << product.function; }

namespace {

std::vector<ProductCase> all_cases() {
    std::vector<ProductCase> result = plain_cases();
    for (const auto& more : {legacy_cases(), xt_cases()}) result.insert(result.end(), more.begin(), more.end());
    return result;
}

std::string name_of_case(const testing::TestParamInfo<ProductCase>& info) {
    constexpr const char* dtypes[] = {"float32", "complex64", "float16", "bfloat16", "float64"};
    return info.param.function + "__" + dtypes[static_cast<int>(info.param.dtype)];
}

class Product : public testing::TestWithParam<ProductCase> {
  protected:
    void SetUp() override {
        if (!GetParam().exists) GTEST_SKIP() << "this library has no " << GetParam().function;
        if (settings().math_mode == CUBLAS_PEDANTIC_MATH && GetParam().function.find("k3mEx") != std::string::npos)
            GTEST_SKIP() << "refuses the mode that the program sets";
        if (GetParam().form == Form::legacy) start_legacy();
        ASSERT_EQ(api().cublasCreate_v2(&handle_), CUBLAS_STATUS_SUCCESS);
        ASSERT_EQ(api().cublasSetMathMode(handle_, settings().math_mode), CUBLAS_STATUS_SUCCESS);
    }
    void TearDown() override {
        if (handle_ != nullptr) api().cublasDestroy_v2(handle_);
    }

    void run(const Variant& variant) { run_product(device(), handle_, GetParam(), variant); }

    /// Returns every combination of the options that the function has. For a real matrix 'C' means 'T'.
    std::vector<Variant> options() const {
        const Operation operation = GetParam().operation;
        const bool complex = GetParam().dtype == Dtype::complex64;
        const bool is_hermitian =
            operation == Operation::herk || operation == Operation::her2k || operation == Operation::herkx;
        const bool is_gemm = operation == Operation::gemm;
        const bool is_symm = operation == Operation::symm || operation == Operation::hemm;
        const bool is_triangular = operation == Operation::trmm || operation == Operation::trsm;
        std::string transpositions = "NT";
        if (is_hermitian) transpositions = "NC";
        if (is_symm) transpositions = "N";
        if ((is_gemm || is_triangular) && complex) transpositions = "NTC";
        std::vector<Variant> result;
        for (char trans_a : transpositions)
            for (char trans_b : is_gemm ? transpositions : "N")
                for (char side : std::string(is_symm || is_triangular ? "LR" : "L"))
                    for (char uplo : std::string(is_gemm ? "U" : "UL"))
                        for (char diag : std::string(is_triangular ? "NU" : "N"))
                            result.push_back(
                                {.trans_a = trans_a, .trans_b = trans_b, .side = side, .uplo = uplo, .diag = diag});
        return result;
    }

    static const Device& device() {
        static const Device first;
        return first;
    }

    cublasHandle_t handle_ = nullptr;
};

TEST_P(Product, RunsInTheFormatThatItsDecisionNames) {
    for (const Variant& variant : options()) run(variant);
}

TEST_P(Product, DoesNotReadItsResultWhereBetaIsZero) {
    if (GetParam().operation == Operation::trmm || GetParam().operation == Operation::trsm)
        GTEST_SKIP() << "has no beta";
    run({.zero_beta = true});
}

TEST_P(Product, KeepsSmallValuesWhereItIsFloat32) {
    // BF16x9 has float32's accuracy except on such operands, which therefore tell the two apart.
    const Operation operation = GetParam().operation;
    if (operation != Operation::gemm && operation != Operation::symm && operation != Operation::hemm &&
        operation != Operation::syr2k && operation != Operation::her2k)
        GTEST_SKIP() << "has no second operand to make up for a small one";
    if (GetParam().road == Road::observed) GTEST_SKIP() << "has operands with less range";
    run({.small_a = true});
}

TEST_P(Product, TakesScalarsFromDeviceMemory) {
    if (GetParam().form != Form::plain) GTEST_SKIP() << "has scalars in host memory only";
    if (GetParam().batching == Batching::groups) GTEST_SKIP() << "has scalars in host memory only";
    run({.device_scalars = true});
}

TEST_P(Product, OfAnEmptySizeMultipliesNothing) {  // answers.cpp runs this test by its name
    run({.m = 0, .n = 0});
    run({.k = 0});
}

TEST_P(Product, RunsInBatchesOfNoneOneAndThree) {
    if (GetParam().batching == Batching::single) GTEST_SKIP() << "is no batch";
    for (std::int64_t batch : {0, 1, 3}) run({.batch = batch});
}

INSTANTIATE_TEST_SUITE_P(Cublas, Product, testing::ValuesIn(all_cases()), name_of_case);

}  // namespace
}  // namespace clients
