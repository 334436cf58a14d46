#include "cli/source_locations/function_names.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>

namespace fp32shim::cli {
namespace {

std::string name_of(std::string_view symbol) { return function_name(symbol); }

TEST(FunctionName, OfCppIsWithoutArgumentsAndReturnType) {
    EXPECT_EQ(name_of("_Z5solvev"), "solve");
    EXPECT_EQ(name_of("_ZN7physics5solveERKNS_4GridEd"), "physics::solve");
    EXPECT_EQ(name_of("_ZN7physics5solveIfEEvT_"), "physics::solve");
    EXPECT_EQ(name_of("_ZNK7physics4GridIfLi3ENS_4CellIJdPKcEEEE4stepEv"), "physics::Grid::step");
    EXPECT_EQ(name_of("_ZL6hiddenPKf"), "hidden");
    EXPECT_EQ(name_of("_ZN9constants5applyIiEEvT_"), "constants::apply");
    EXPECT_EQ(name_of("_ZNV9constants1S2goIiEEiv"), "constants::S::go");
    EXPECT_EQ(name_of("_Z6pickerIfEPFviEPT_S3_"), "picker");
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
    for (const std::string type : {"i", "Dn", "Du", "Dv4_f", "PFivE", "PFivRE", "PDoFivE", "DxFivE", "DwiEFivE",
                                   "A3_f", "M1Ai", "U8__vectorf", "u6__bf16", "St6vectorIfE", "N1B1CE", "Sa"})
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
    for (const char* name : {"main", "MAIN__", "solve__", "_", "", "Solve_", "_init", "_Z", "_ZTv0_n24_N1A1fEv", "__",
                             "__MOD_", "_Q", "_QX", "_R5solve", "cblas_sgemm", "_ZN9999999999999999999999aE"})
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

TEST(FunctionName, HasItsTemplateArgumentsInFull) {
    EXPECT_EQ(full_function_name("_ZN7physics5solveIfEEvT_"), "physics::solve<float>");
    EXPECT_EQ(full_function_name("_ZNK7physics4GridIfLi3EE4stepEv"), "physics::Grid<float, 3>::step");
    EXPECT_EQ(full_function_name("_Z5solvev.cold"), "solve");
    EXPECT_EQ(full_function_name("__physics_MOD_solve"), "physics::solve");
    EXPECT_EQ(full_function_name("solve"), "solve");
}

TEST(FunctionName, OfAnOperatorIsWhole) {
    for (const auto& [symbol, name] : {std::pair("_ZN1AltERKS_", "A::operator<"),
                                       {"_ZN1AlsIiEERS_T_", "A::operator<<"},
                                       {"_ZN1AptEv", "A::operator->"},
                                       {"_ZN1AnwEm", "A::operator new"},
                                       {"_ZN1AcvfEv", "A::operator float"},
                                       {"_ZN1AclIiEEvT_", "A::operator()"},
                                       {"_Zli3_kmy", "operator\"\" _km"}})
        EXPECT_EQ(name_of(symbol), name);
}

TEST(FunctionName, OfAnyBytesEnds) {
    std::mt19937 random(1);
    constexpr std::string_view letters = "_ZNSITLJXEPRKFAMDUCBltvf0123456789t.abGrQMF";
    for (int round = 0; round < 50'000; ++round) {
        std::string symbol = "_Z";
        for (unsigned size = random() % 40; size > 0; --size) symbol += letters[random() % letters.size()];
        EXPECT_NE(name_of(symbol), "");
        EXPECT_NE(full_function_name(symbol), "");
    }
    for (const char* deep : {"N", "I", "P", "Z", "F", "J", "L", "DpDp", "Z1f"}) {
        std::string symbol = "_Z1f";
        while (symbol.size() < 2000) symbol += deep;
        EXPECT_EQ(name_of("_Z" + symbol), "_Z" + symbol);
    }
    EXPECT_EQ(name_of(std::string(1'000'000, 'x')).size(), 1'000'000U);
}

}  // namespace
}  // namespace fp32shim::cli
