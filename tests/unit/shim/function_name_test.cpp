#include "shim/where/native/function_name.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace fp32shim::where {
namespace {

std::string name_of(std::string_view symbol) {
    char buffer[symbol_limit];
    return std::string(function_name(symbol, buffer));
}

TEST(FunctionName, OfCppIsWithoutArgumentsAndReturnType) {
    EXPECT_EQ(name_of("_Z5solvev"), "solve");
    EXPECT_EQ(name_of("_ZN7physics5solveERKNS_4GridEd"), "physics::solve");
    EXPECT_EQ(name_of("_ZN7physics5solveIfEEvT_"), "physics::solve");
    EXPECT_EQ(name_of("_ZNK7physics4GridIfLi3ENS_4CellIJdPKcEEEE4stepEv"), "physics::Grid::step");
    EXPECT_EQ(name_of("_ZL6hiddenPKf"), "hidden");
    EXPECT_EQ(name_of("_ZN12_GLOBAL__N_16hiddenEv"), "(anonymous namespace)::hidden");
    EXPECT_EQ(name_of("_ZN4GridIfEC2Ev"), "Grid::Grid");
    EXPECT_EQ(name_of("_ZN4GridD0Ev"), "Grid::~Grid");
    EXPECT_EQ(name_of("_ZmlRK6MatrixS1_"), "operator*");
    EXPECT_EQ(name_of("_ZN6MatrixclEii"), "Matrix::operator()");
    EXPECT_EQ(name_of("_ZNSt6vectorIfSaIfEE9push_backERKf"), "std::vector::push_back");
    EXPECT_EQ(name_of("_ZSt4sortIPfEvT_S1_"), "std::sort");
    EXPECT_EQ(name_of("_ZN1A1fB5cxx11Ev"), "A::f");
    EXPECT_EQ(name_of("_ZN5\xc3\xa4Phi\x46solveEv"), "_ZN5\xc3\xa4Phi\x46solveEv") << "not one of C++";
    EXPECT_EQ(name_of("_ZN6gr\xc3\xb6\xc3\x9f"
                      "1xEv"),
              "gr\xc3\xb6\xc3\x9f::x");
}

TEST(FunctionName, LeavesOutTemplateArgumentsOfAllKinds) {
    for (const std::string type :
         {"i",           "Dn",       "Du",           "Dv4_f",    "DF16_",   "DF16b", "DB8_", "PFivE",
          "PFivRE",      "PDoFivE",  "DxFivE",       "DwiEFivE", "A3_f",    "M1Ai",  "T_",   "DpT0_",
          "U8__vectorf", "u6__bf16", "St6vectorIfE", "N1B1CE",   "Z1gvE1D", "Sa"})
        for (const std::string& argument : {type, "J" + type + "E", "L" + type + "0E"})
            EXPECT_EQ(name_of("_ZN1AI" + argument + "E1fEv"), "A::f") << argument;
}

TEST(FunctionName, OfALambdaNamesTheFunctionAround) {
    EXPECT_EQ(name_of("_ZZN7physics5solveERK4GridENKUlRKfiE_clES3_i"), "physics::solve::{lambda#1}::operator()");
    EXPECT_EQ(name_of("_ZZ4mainENUlvE2_4_FUNEv"), "main::{lambda#4}::_FUN");
    EXPECT_EQ(name_of("_ZZ4mainEN5Local3runEv"), "main::Local::run");
}

TEST(FunctionName, OfFortranIsTheProcedureInItsModule) {
    EXPECT_EQ(name_of("__physics_MOD_solve"), "physics::solve");
    EXPECT_EQ(name_of("__physics.details_MOD_solve.constprop.0"), "physics.details::solve");
    EXPECT_EQ(name_of("solve_"), "solve");
    EXPECT_EQ(name_of("inner.0"), "inner");
    EXPECT_EQ(name_of("physics_mp_solve_"), "physics::solve");
    EXPECT_EQ(name_of("_QMphysicsPsolve"), "physics::solve");
    EXPECT_EQ(name_of("_QMphysicsFsolvePinner_1"), "physics::solve::inner_1");
    EXPECT_EQ(name_of("_QPsolve"), "solve");
}

TEST(FunctionName, OfAnotherKindIsUnchanged) {
    for (const char* name :
         {"main", "MAIN__", "solve__", "_", "", "Solve_", "_init", "_Z", "_ZTv0_n24_N1A1fEv", "__", "__MOD_", "_Q",
          "_QX", "_R5solve", "cblas_sgemm", "_ZN1AcvfEv", "_ZN9999999999999999999999aE"})
        EXPECT_EQ(name_of(name), name);
}

TEST(FunctionName, HasNoVersionAndNoAdditionOfTheCompiler) {
    EXPECT_EQ(name_of("solve@@LIBPHYSICS_2"), "solve");
    EXPECT_EQ(name_of("_Z5solvev.constprop.0.isra.0"), "solve");
    EXPECT_EQ(name_of("solve._omp_fn.0"), "solve");
    EXPECT_EQ(clone_suffix("_Z5solvev.cold"), ".cold");
    EXPECT_EQ(clone_suffix("__physics.details_MOD_solve.part.0@@V"), ".part.0");
    EXPECT_EQ(clone_suffix("_Z5solvev"), "");
}

TEST(FunctionName, ThatHasNoRoomIsTheSymbol) {
    char small[8];
    EXPECT_EQ(function_name("_ZN7physics5solveEv", small), "_ZN7physics5solveEv");
    EXPECT_EQ(function_name("_Z5solvev", small), "solve");
    EXPECT_EQ(function_name("__physics_MOD_solve", small), "__physics_MOD_solve");
}

TEST(FunctionName, CanBeCutOutOfAMangledName) {
    EXPECT_EQ(mangled_function("_ZN7physics5solveIfEEvT_"), "_ZN7physics5solveIfEE");
    EXPECT_EQ(mangled_function("_Z5solvev.cold"), "_Z5solve");
    EXPECT_EQ(mangled_function("_ZZN7physics5solveERK4GridENKUlRKfiE_clES3_i"),
              "_ZZN7physics5solveERK4GridENKUlRKfiE_cl"
              "E");
    EXPECT_EQ(mangled_function("solve"), "");
}

TEST(FunctionName, OfAnyBytesIsBounded) {
    std::mt19937 random(1);
    constexpr std::string_view letters = "_ZNSITLJXEPRKFAMDUCBltvf0123456789t.abGrQMF";
    char buffer[symbol_limit];
    for (int round = 0; round < 200'000; ++round) {
        std::string symbol = "_Z";
        for (unsigned size = random() % 40; size > 0; --size) symbol += letters[random() % letters.size()];
        EXPECT_LE(function_name(symbol, buffer).size(), symbol_limit);
        EXPECT_LE(mangled_function(symbol).size(), symbol.size());
    }
    for (const char* deep : {"N", "I", "P", "Z", "F", "J", "L", "DpDp", "Z1f"}) {
        std::string symbol = "_Z1f";
        while (symbol.size() < symbol_limit - 8) symbol += deep;
        EXPECT_EQ(name_of("_Z" + symbol), "_Z" + symbol);
        EXPECT_LE(name_of("_ZN1fI" + symbol).size(), symbol_limit);
    }
    EXPECT_EQ(name_of(std::string(1'000'000, 'x')).size(), 1'000'000U);
}

}  // namespace
}  // namespace fp32shim::where
