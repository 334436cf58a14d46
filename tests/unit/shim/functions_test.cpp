// Tests the table of intercepted functions: functions.def, families.hpp.
#include "shim/table/functions.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>

namespace fp32shim {
namespace {

std::string name_of(FunctionIndex index) { return std::string(functions[index].name); }

TEST(Functions, HaveEachNameOnce) {
    std::set<std::string> names;
    for (FunctionIndex index = 0; index < function_count; ++index)
        EXPECT_TRUE(names.insert(name_of(index)).second) << name_of(index);
}

TEST(Functions, AreFoundByName) {
    for (FunctionIndex index = 0; index < function_count; ++index)
        EXPECT_EQ(find_function(name_of(index).c_str()), index) << name_of(index);
}

TEST(Functions, AreNotFoundByOtherNames) {
    for (const char* name : {"", "sgem", "sgemm__", "dgbmv_", "cblas_dgem", "dlsym", "_Z5sgemmv"})
        EXPECT_EQ(find_function(name), -1) << name;
}

TEST(Functions, AreFoundByFamilyAndForm) {
    const auto beside = [](const char* name, const FunctionFamily& family) {
        const FunctionIndex found = find_function(family, functions[find_function(name)].form);
        return found < 0 ? "" : name_of(found);
    };
    EXPECT_EQ(beside("scipy_cblas_csyrk64_", families::cgemm), "scipy_cblas_cgemm64_");
    EXPECT_EQ(beside("CGEMM3M_BATCH", families::cgemm), "CGEMM");
    EXPECT_EQ(beside("cblas_strsm_batch_64", families::strsm), "cblas_strsm_64");
    EXPECT_EQ(beside("sgemmtr_", families::sgemmt), "sgemmt_");
    EXPECT_EQ(beside("zherk_64_", families::zgemm), "zgemm_64_");
    EXPECT_EQ(beside("cblas_dtrsm_batch_64", families::dtrsm), "cblas_dtrsm_64");
    EXPECT_EQ(beside("cublasSgemmBatched_64", families::cublas_gemm_batched_ex), "cublasGemmBatchedEx_64");
    EXPECT_EQ(beside("cublasSgemm_v2", families::sgemm), "");
    EXPECT_EQ(beside("scipy_sgemm_", families::ssyrk_batch), "");
}

TEST(Functions, OfTheCpuHaveOneNameOfEachForm) {
    for (FunctionIndex index = 0; index < function_count; ++index) {
        if (!is_of_cpu(functions[index].convention)) continue;
        EXPECT_EQ(find_function(*functions[index].family, functions[index].form), index) << name_of(index);
    }
}

TEST(Functions, UnderBareNamesHaveAnUnderscoredOne) {
    for (FunctionIndex index = 0; index < function_count; ++index) {
        if (functions[index].convention != CallingConvention::bare) continue;
        const FunctionIndex known = find_function(*functions[index].family, NameForm::underscored);
        ASSERT_GE(known, 0) << name_of(index);
        std::string expected = name_of(index) + "_";
        for (char& letter : expected) letter = static_cast<char>(std::tolower(letter));
        EXPECT_EQ(name_of(known), expected);
    }
}

TEST(Functions, PassNoMoreArgumentsThanCanBeCalledWith) {
    constexpr int hidden_lengths = 4;
    for (FunctionIndex index = 0; index < function_count; ++index) {
        if (!is_of_cpu(functions[index].convention)) continue;
        EXPECT_LE(functions[index].positions().words + hidden_lengths, max_words) << name_of(index);
    }
}

TEST(Functions, SayTheirIntegerWidthWhereTheNameDoes) {
    for (FunctionIndex index = 0; index < function_count; ++index) {
        const std::string name = name_of(index);
        const bool says_64 = name.ends_with("_64") || name.ends_with("_64_") || name.ends_with("64_");
        const bool takes_size_t = name.starts_with("cublasXt");
        EXPECT_EQ(functions[index].width == Width::ilp64, says_64 || takes_size_t) << name;
    }
}

TEST(Functions, TakeALayoutFirstInCblasOnlyIfTheyHaveAMatrix) {
    for (FunctionIndex index = 0; index < function_count; ++index) {
        const Function& function = functions[index];
        if (!is_of_cpu(function.convention)) continue;
        const bool is_cblas = function.convention == CallingConvention::cblas;
        EXPECT_EQ(name_of(index).find("cblas") != std::string::npos, is_cblas) << name_of(index);
        const bool has_layout = is_cblas && has_matrix(function.product().operation);
        EXPECT_EQ(function.positions().of(Role::layout) >= 0, has_layout) << name_of(index);
    }
}

// Numbers counted by hand in cblas.h and mkl_cblas.h: of integer-class arguments, and positions of some of them.
struct Expected {
    const char* name;
    int words;
    int a;
    int ldc;
    int alpha_float;
    int beta_float;
};

TEST(Functions, KnowWhereTheirArgumentsStand) {
    const Expected expectations[] = {
        {"sgemm_", 13, 6, 12, -1, -1},
        {"cblas_sgemm", 12, 6, 11, 0, 1},
        {"cblas_cgemm", 14, 7, 13, -1, -1},
        {"sgemmt_", 13, 6, 12, -1, -1},
        {"cblas_sgemmt", 12, 6, 11, 0, 1},
        {"ssymm_", 12, 5, 11, -1, -1},
        {"cblas_ssymm", 11, 5, 10, 0, 1},
        {"cblas_chemm", 13, 6, 12, -1, -1},
        {"ssyrk_", 10, 5, 9, -1, -1},
        {"cblas_cherk", 9, 5, 8, 0, 1},
        {"cblas_csyrk", 11, 6, 10, -1, -1},
        {"cblas_cher2k", 12, 6, 11, -1, 0},
        {"strmm_", 11, 7, -1, -1, -1},
        {"cblas_strmm", 11, 7, -1, 0, -1},
        {"cblas_ctrmm_oop", 15, 8, 14, -1, -1},
        {"sgemm_batch_", 15, 6, 12, -1, -1},
        {"cblas_sgemm_batch", 16, 7, 13, -1, -1},
        {"sgemm_batch_strided_", 17, 6, 14, -1, -1},
        {"cblas_sgemm_batch_strided", 16, 6, 13, 0, 1},
        {"cblas_cgemm_batch_strided", 18, 7, 15, -1, -1},
        {"cblas_ssyrk_batch_strided", 12, 5, 9, 0, 1},
        {"sgemm_direct", 14, 6, 12, -1, -1},
        {"mkl_cblas_jit_create_sgemm", 10, -1, 9, 0, 1},
        {"sgemv_", 11, 4, 10, -1, -1},
        {"cblas_sgemv", 10, 4, 9, 0, 1},
        {"cblas_zgemv_64", 12, 5, 11, -1, -1},
        {"ssymv_", 10, 3, 9, -1, -1},
        {"cblas_ssymv", 9, 3, 8, 0, 1},
        {"cblas_chemv64_", 11, 4, 10, -1, -1},
        {"sger_", 9, 3, 8, -1, -1},
        {"cblas_dger", 9, 3, 8, 0, -1},
        {"cblas_cgerc", 10, 4, 9, -1, -1},
        {"strmv_", 8, 4, -1, -1, -1},
        {"cblas_ztrsv", 9, 5, -1, -1, -1},
        {"sdot_", 5, 1, -1, -1, -1},
        {"cblas_ddot", 5, 1, -1, -1, -1},
        {"zdotc_", 5, 1, -1, -1, -1},
        {"sdsdot_", 6, 2, -1, -1, -1},
        {"cblas_sdsdot", 5, 1, -1, 0, -1},
        {"cblas_cdotu_sub", 6, 1, -1, -1, -1},
        {"dznrm2_", 3, 1, -1, -1, -1},
        {"cblas_sasum", 3, 1, -1, -1, -1},
        {"cblas_hgemm", 14, 7, 13, -1, -1},
        // Numbers counted in cublas_api.h and cublasXt.h.
        {"cublasSgemm_v2", 14, 7, 13, -1, -1},
        {"cublasCgemmStridedBatched_64", 18, 7, 15, -1, -1},
        {"cublasSgemmBatched", 15, 7, 13, -1, -1},
        {"cublasSgemmGroupedBatched", 16, 7, 13, -1, -1},
        {"cublasSgemmEx", 17, 7, 16, -1, -1},
        {"cublasGemmEx_64", 19, 7, 16, -1, -1},
        {"cublasGemmBatchedEx", 20, 7, 16, -1, -1},
        {"cublasGemmStridedBatchedEx", 23, 7, 18, -1, -1},
        {"cublasGemmGroupedBatchedEx", 20, 7, 16, -1, -1},
        {"cublasChemm_v2", 13, 6, 12, -1, -1},
        {"cublasSsyrk_v2", 11, 6, 10, -1, -1},
        {"cublasCherk3mEx", 13, 6, 12, -1, -1},
        {"cublasCher2k_v2_64", 13, 6, 12, -1, -1},
        {"cublasStrmm_v2", 14, 8, 13, -1, -1},
        {"cublasCtrsmBatched", 13, 8, -1, -1, -1},
        {"cublasXtSsymm", 13, 6, 12, -1, -1},
        {"cublasSgemm", 11, 5, 10, -1, -1},
        {"cublasLtMatmul", 16, -1, -1, -1, -1},
    };
    for (const Expected& expected : expectations) {
        SCOPED_TRACE(expected.name);
        const FunctionIndex index = find_function(expected.name);
        ASSERT_GE(index, 0);
        const ArgumentPositions& positions = functions[index].positions();
        EXPECT_EQ(positions.words, expected.words);
        EXPECT_EQ(positions.of(Role::a), expected.a);
        EXPECT_EQ(positions.of(Role::ldc), expected.ldc);
        EXPECT_EQ(positions.alpha_float, expected.alpha_float);
        EXPECT_EQ(positions.beta_float, expected.beta_float);
    }
}

TEST(Functions, ThatReturnNumbersAreDotProductsAndNorms) {
    const auto function = [](const char* name) -> const Function& { return functions[find_function(name)]; };
    for (const char* name :
         {"sdot_", "cblas_ddot", "cdotu_", "sdsdot", "scipy_cblas_dsdot64_", "SCNRM2", "cblas_dzasum"})
        EXPECT_TRUE(function(name).returns_number()) << name;
    for (const char* name :
         {"cblas_cdotu_sub", "sgemv_", "cblas_dger", "sgemm_", "mkl_jit_create_sgemm", "cublasCreate_v2"})
        EXPECT_FALSE(function(name).returns_number()) << name;
    for (const char* name : {"cdotu_", "zdotc", "CDOTC_64"}) EXPECT_TRUE(function(name).returns_complex()) << name;
    for (const char* name : {"cblas_cdotu", "cblas_zdotc_sub", "scnrm2_", "ddot_", "cgeru_"})
        EXPECT_FALSE(function(name).returns_complex()) << name;
}

TEST(Functions, OfCublasTakeTheirHandleFirst) {
    for (FunctionIndex index = 0; index < function_count; ++index) {
        const Function& function = functions[index];
        const bool creates_no_handle =
            function.multiplies() || function.state().effect != StateEffect::handle_created;
        const bool has_handle = function.positions().of(Role::handle) >= 0;
        if (function.convention == CallingConvention::cublas && creates_no_handle) {
            EXPECT_EQ(function.positions().of(Role::handle), 0) << name_of(index);
        } else {
            EXPECT_FALSE(has_handle) << name_of(index);
        }
    }
}

TEST(Functions, OfCublasThatGoByComputeTypeNameAFunctionOfTheTable) {
    for (FunctionIndex index = 0; index < function_count; ++index) {
        const Function& function = functions[index];
        if (!function.multiplies() || function.product().control != FormatControl::compute_type) continue;
        const FunctionIndex typed = find_function(*function.product().with_compute_type, function.form);
        ASSERT_GE(typed, 0) << name_of(index);
        EXPECT_EQ(functions[typed].width, function.width) << name_of(index);
        EXPECT_GE(functions[typed].positions().of(Role::compute_type), 0) << name_of(index);
    }
}

}  // namespace
}  // namespace fp32shim
