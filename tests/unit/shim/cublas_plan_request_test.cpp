// Tests the plan for a decision about a cuBLAS call, which also depends on the caller: shim/cublas/plan_request.hpp.
#include "shim/cublas/plan_request.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "shim/cublas/api.hpp"
#include "shim/table/families.hpp"

namespace fp32shim::cublas {
namespace {

using policy::AppliedFormat;
using policy::Decision;
using policy::Floor;
using policy::Policy;
using policy::Precision;
using policy::Reason;
using record::How;

PlanRequest sgemm_of(std::string_view caller) {
    PlanRequest request;
    request.caller = caller;
    request.asked = {.control = FormatControl::compute_type, .compute_capability = 90};
    return request;
}

PlanRequest strsm_of(std::string_view caller) {
    PlanRequest request;
    request.is_solve = true;
    request.caller = caller;
    request.asked = {.control = FormatControl::math_mode, .compute_capability = 90};
    return request;
}

/// Returns a policy with one rule, to which a decision can refer.
Policy with_rule(std::vector<std::string> functions, std::vector<std::string> callers) {
    Policy policy;
    policy.rules.emplace_back();
    policy.rules[0].when.function = std::move(functions);
    policy.rules[0].when.caller = std::move(callers);
    return policy;
}

Plan by_rule(const PlanRequest& request, const Policy& policy) {
    return plan_request(request, {.precision = Precision::high, .rule = 0}, Floor::none, {}, policy);
}

Plan by_default(const PlanRequest& request, Precision precision, Floor floor = Floor::none) {
    return plan_request(request, {.precision = precision}, floor, {}, {});
}

TEST(ProtectedCalls, AreNotLoweredByTheDefaultPrecision) {
    for (const std::string_view caller :
         {"libmagma.so", "libtorch_cuda_linalg.so", "libcudnn.so.9", "libcutensor.so.2",
          "libcudnn_engines_precompiled.so.9", "libcusolver.so.12"}) {
        const Plan plan = by_default(sgemm_of(caller), Precision::high);
        EXPECT_EQ(plan.applied, AppliedFormat::fp32) << caller;
        EXPECT_EQ(plan.change.how, How::forward) << caller;
        EXPECT_EQ(plan.reason, caller.starts_with("libcusolver") ? Reason::solver : Reason::protected_call) << caller;
    }
    for (const std::string_view caller : {"program", "libtorch_cuda.so", "libmagma.so", ""}) {
        const Plan plan = by_default(strsm_of(caller), Precision::high);
        EXPECT_EQ(plan.applied, AppliedFormat::fp32) << caller;
        EXPECT_EQ(plan.reason, Reason::protected_call) << caller;
    }
    EXPECT_EQ(by_default(sgemm_of("libtorch_cuda.so"), Precision::high).applied, AppliedFormat::tf32);
}

TEST(ProtectedCalls, AreNotLoweredByARuleThatHappensToMatch) {
    for (const Policy& policy : {with_rule({}, {}), with_rule({"cublas*"}, {}), with_rule({"*"}, {"*"}),
                                 with_rule({}, {"libtorch_cuda*", "lib*"}), with_rule({"cublasSgemm*"}, {})}) {
        EXPECT_EQ(by_rule(sgemm_of("libtorch_cuda_linalg.so"), policy).reason, Reason::protected_call);
        EXPECT_EQ(by_rule(strsm_of("program"), policy).reason, Reason::protected_call);
        EXPECT_EQ(by_rule(sgemm_of("program"), policy).applied, AppliedFormat::tf32);
    }
    EXPECT_EQ(by_rule(sgemm_of("libmagma.so"), with_rule({}, {"libcudnn*"})).reason, Reason::protected_call);
    EXPECT_EQ(by_rule(strsm_of("libmagma.so"), with_rule({"cublasStrsm_v2"}, {})).reason, Reason::protected_call);
}

TEST(ProtectedCalls, AreLoweredByARuleThatNamesThem) {
    EXPECT_EQ(by_rule(sgemm_of("libmagma.so"), with_rule({}, {"libx*", "libmagma*"})).applied, AppliedFormat::tf32);
    EXPECT_EQ(by_rule(strsm_of("libmagma.so"), with_rule({}, {"libmagma*"})).applied, AppliedFormat::tf32);
    EXPECT_EQ(by_rule(sgemm_of("libcudnn_graph.so.9"), with_rule({}, {"libcudnn*"})).applied, AppliedFormat::tf32);
    EXPECT_EQ(by_rule(sgemm_of("libcusolver.so.12"), with_rule({}, {"libcusolver.so.*"})).applied,
              AppliedFormat::tf32);
    for (const char* glob : {"cublasStrsm_v2", "cublas?trsm*", "*TRSM*"})
        EXPECT_EQ(by_rule(strsm_of("program"), with_rule({"cublasSsyrk*", glob}, {})).applied, AppliedFormat::tf32)
            << glob;
}

TEST(ProtectedCalls, AreRaisedAsAnyOther) {
    for (PlanRequest request : {sgemm_of("libcudnn.so.9"), sgemm_of("libmagma.so"), strsm_of("program")}) {
        request.asked.math_mode = math_tf32_tensor_op;
        EXPECT_EQ(by_default(request, Precision::highest).applied, AppliedFormat::fp32);
        EXPECT_EQ(by_default(request, Precision::native, Floor::fp32).applied, AppliedFormat::fp32);
        EXPECT_EQ(by_default(request, Precision::native, Floor::fp32).reason, Reason::floor);
        EXPECT_EQ(by_default(request, Precision::native).applied, AppliedFormat::tf32);
        request.asked.math_mode = math_tensor_op;
        EXPECT_EQ(by_default(request, Precision::high).applied, AppliedFormat::tf32);
    }
}

TEST(PedanticMode, IsReplacedByDefaultModeWhereTheLibraryRefusesIt) {
    PlanRequest request;  // as cublasCsyrk3mEx
    request.asked = {
        .control = FormatControl::math_mode, .math_mode = math_tf32_tensor_op | 16, .compute_capability = 90};
    Policy policy;
    policy.pedantic = true;
    const Plan pinned = plan_request(request, {.precision = Precision::highest}, Floor::none, {}, policy);
    EXPECT_EQ(pinned.change.math_mode, math_pedantic);
    const Plan in_default_mode = plan_without_pedantic(pinned, request.asked, {});
    EXPECT_EQ(in_default_mode.change.how, How::math_mode);
    EXPECT_EQ(in_default_mode.change.math_mode, math_default);
    EXPECT_EQ(in_default_mode.applied, AppliedFormat::fp32);
    EXPECT_EQ(in_default_mode.reason, Reason::as_requested);
    // Only PEDANTIC overrides the environment, so nothing is claimed here.
    const Environment environment{.tf32_may_be_on = true};
    const Plan floored = plan_request(request, {.precision = Precision::native}, Floor::fp32, environment, {});
    EXPECT_EQ(floored.change.math_mode, math_pedantic);
    const Plan lower = plan_without_pedantic(floored, request.asked, environment);
    EXPECT_EQ(lower.applied, AppliedFormat::tf32);
    EXPECT_EQ(lower.reason, Reason::library_refused);
}

TEST(Float64, RunsAsCalledIfTheLibraryRefusesTheChange) {
    PlanRequest request = sgemm_of("program");
    request.treatment = OperandTreatment::as_called;
    request.asked.math_mode = math_fp64_emulated_fixedpoint;
    const Plan plan = by_default(request, Precision::fp64);
    EXPECT_EQ(plan.applied, AppliedFormat::fp64);
    EXPECT_EQ(plan.change.math_mode, math_default);
    const Plan refused = plan_unchanged(plan, Reason::library_refused, {});
    EXPECT_EQ(refused.applied, AppliedFormat::fp64_emulated);
    EXPECT_EQ(refused.change.how, How::forward);
}

TEST(Float64, MayBeEmulatedInEveryFunctionWithoutAComputeTypeUntilARuleForbidsIt) {
    using namespace families;
    for (const ProductFamily* family : {&cublas_dsyrk, &cublas_zsyrk, &cublas_zherk, &cublas_dsyr2k, &cublas_zsyr2k,
                                        &cublas_zher2k, &cublas_dtrsm, &cublas_ztrsm, &cublas_ztrsm_batched}) {
        PlanRequest request;
        request.treatment = OperandTreatment::as_called;
        request.is_solve = family->operation == blas::Operation::trsm;
        request.asked = {.control = family->control, .math_mode = math_fp64_emulated_fixedpoint};
        EXPECT_EQ(by_default(request, Precision::native).applied, AppliedFormat::fp64_emulated);
        const Plan forbidden = by_default(request, Precision::fp64);
        EXPECT_EQ(forbidden.applied, AppliedFormat::fp64);
        EXPECT_EQ(forbidden.change.math_mode, math_default);
    }
}

TEST(Float64, IsNotClaimedToBeFp64WhereNothingOverridesTheEnvironment) {
    PlanRequest request;  // as cublasXtDgemm
    request.treatment = OperandTreatment::as_called;
    for (const Precision precision : {Precision::fp64, Precision::native}) {
        const Plan plan = plan_request(request, {.precision = precision}, Floor::none, {.emulates_fp64 = true}, {});
        EXPECT_EQ(plan.applied, AppliedFormat::fp64_emulated);
        EXPECT_EQ(plan.reason, precision == Precision::fp64 ? Reason::not_governable : Reason::as_requested);
        EXPECT_TRUE(plan.is_by_environment);
    }
    EXPECT_EQ(by_default(request, Precision::fp64).reason, Reason::as_requested);
}

TEST(Float64, IsEmulatedByProtectedCallersOnlyIfARuleNamesThem) {
    PlanRequest request = sgemm_of("libcusolver.so.12");
    request.treatment = OperandTreatment::as_called;
    request.asked.has_fp64_emulation = true;
    const auto planned = [&](const Policy& policy) {
        return plan_request(request, {.precision = Precision::fp64_emulated, .rule = 0}, Floor::none, {}, policy);
    };
    EXPECT_EQ(planned(with_rule({}, {})).reason, Reason::solver);
    EXPECT_EQ(planned(with_rule({}, {})).applied, AppliedFormat::fp64);
    EXPECT_EQ(planned(with_rule({}, {"libcusolver*"})).applied, AppliedFormat::fp64_emulated);
}

TEST(UnknownMathModes, AreForwardedWithoutAWishAndReplacedUnderAPinOrFloor) {
    for (const std::int32_t bits : {32, 64 | 3, -1}) {
        for (PlanRequest request : {sgemm_of("program"), strsm_of("program")}) {
            request.asked.math_mode = bits;
            const Plan native = by_default(request, Precision::native);
            EXPECT_EQ(native.change.how, How::forward);
            EXPECT_EQ(native.applied, AppliedFormat::unchanged);
            EXPECT_EQ(native.reason, Reason::unknown_value);
            for (const Plan& raised :
                 {by_default(request, Precision::highest), by_default(request, Precision::native, Floor::fp32)}) {
                EXPECT_EQ(raised.change.how, How::math_mode);
                EXPECT_EQ(raised.change.math_mode, math_default);
                EXPECT_EQ(raised.applied, AppliedFormat::fp32);
            }
        }
        PlanRequest fast = sgemm_of("program");
        fast.asked.math_mode = bits;
        fast.asked.compute_type = compute_32f_fast_tf32;
        EXPECT_EQ(by_default(fast, Precision::native).applied, AppliedFormat::tf32) << "the mode does not count";
    }
}

TEST(CombinedMathModes, AreNeverForwardedUnderAPin) {
    for (const std::int32_t mode : {5, 6, 7, 5 | 16, 7 | 24}) {
        PlanRequest request = strsm_of("program");
        request.asked.math_mode = mode;
        request.asked.compute_capability = 100;
        const Plan pinned = by_default(request, Precision::highest);
        EXPECT_EQ(pinned.change.how, How::math_mode) << mode;
        EXPECT_EQ(pinned.applied, AppliedFormat::fp32) << mode;
        EXPECT_NE(by_default(request, Precision::native).applied, AppliedFormat::fp32) << mode;
    }
}

}  // namespace
}  // namespace fp32shim::cublas
