// Tests formats that cuBLAS calls ask for, and the changes that the shim makes: shim/cublas/formats.hpp.
#include "shim/cublas/formats.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "shim/cublas/api.hpp"
#include "shim/cublas/plan_key.hpp"

namespace fp32shim::cublas {
namespace {

using policy::Decision;
using policy::Floor;
using policy::Policy;
using policy::Precision;
using policy::Reason;
using record::How;

RequestedPrecision by_compute_type(std::int32_t compute_type, std::int32_t math_mode = math_default,
                                   std::int32_t algorithm = gemm_default) {
    return {.road = Road::compute_type,
            .math_mode = math_mode,
            .compute_type = compute_type,
            .algorithm = algorithm,
            .compute_capability = 90,
            .has_bf16x9 = true};
}

RequestedPrecision by_math_mode(std::int32_t math_mode) {
    return {.road = Road::math_mode, .math_mode = math_mode, .compute_capability = 90, .has_bf16x9 = true};
}

RequestedPrecision on(std::int32_t compute_capability, RequestedPrecision asked) {
    asked.compute_capability = compute_capability;
    return asked;
}

Decision wanting(Precision precision, Reason reason = Reason::as_requested) {
    return {.requested = precision, .precision = precision, .reason = reason};
}

CallChange plan(const RequestedPrecision& asked, const Decision& decision, Floor floor = Floor::none,
                const Policy& policy = {}, const Environment& environment = {},
                Reason forbids_lowering = Reason::as_requested) {
    return plan_change(asked, environment, forbids_lowering, decision, floor, policy);
}

constexpr Environment emulating{.emulates_fp32 = true};

// Every way to allow something below FP32, and the format that it allows on a device with all formats.
struct Case {
    const char* name;
    RequestedPrecision asked;
    Format allows;
};

std::vector<Case> all_cases() {
    return {
        {"sgemm", by_compute_type(0), Format::fp32},
        {"sgemm, TENSOR_OP", by_compute_type(0, math_tensor_op), Format::fp16},
        {"sgemm, PEDANTIC", by_compute_type(0, math_pedantic), Format::fp32},
        {"sgemm, TF32", by_compute_type(0, math_tf32_tensor_op), Format::tf32},
        {"sgemm, TF32 and a flag", by_compute_type(0, math_tf32_tensor_op | 16), Format::tf32},
        {"32F", by_compute_type(compute_32f), Format::fp32},
        {"32F, TF32", by_compute_type(compute_32f, math_tf32_tensor_op), Format::tf32},
        {"32F, TENSOR_OP", by_compute_type(compute_32f, math_tensor_op), Format::fp16},
        {"32F, algorithm 99", by_compute_type(compute_32f, math_default, 99), Format::fp32},
        {"32F, algorithm 99 on 8.0", on(80, by_compute_type(compute_32f, math_default, 99)), Format::fp32},
        {"32F, algorithm 99 on 7.5", on(75, by_compute_type(compute_32f, math_default, 99)), Format::fp16},
        {"32F, algorithm 115 on 7.0", on(70, by_compute_type(compute_32f, math_default, 115)), Format::fp16},
        {"32F, algorithm 99, who knows where", on(0, by_compute_type(compute_32f, math_default, 99)), Format::fp16},
        {"32F, autotune", by_compute_type(compute_32f, math_default, gemm_autotune), Format::fp32},
        {"PEDANTIC, TF32", by_compute_type(compute_32f_pedantic, math_tf32_tensor_op), Format::fp32},
        {"PEDANTIC, algorithm 99", by_compute_type(compute_32f_pedantic, math_default, 99), Format::fp32},
        {"PEDANTIC, algorithm 99 on 7.5", on(75, by_compute_type(compute_32f_pedantic, math_default, 99)),
         Format::fp16},
        {"FAST_16F", by_compute_type(compute_32f_fast_16f), Format::fp16},
        {"FAST_16BF", by_compute_type(compute_32f_fast_16bf), Format::bf16},
        {"FAST_TF32", by_compute_type(compute_32f_fast_tf32), Format::tf32},
        {"FAST_TF32, PEDANTIC", by_compute_type(compute_32f_fast_tf32, math_pedantic), Format::tf32},
        {"FAST_TF32, algorithm 100", by_compute_type(compute_32f_fast_tf32, math_default, 100), Format::tf32},
        {"FAST_TF32, algorithm 100 on 7.5", on(75, by_compute_type(compute_32f_fast_tf32, math_default, 100)),
         Format::fp16},
        {"EMULATED", on(100, by_compute_type(compute_32f_emulated_16bfx9)), Format::bf16x9},
        {"EMULATED on 9.0", by_compute_type(compute_32f_emulated_16bfx9), Format::fp32},
        {"ssyrk", by_math_mode(math_default), Format::fp32},
        {"ssyrk, TF32", by_math_mode(math_tf32_tensor_op), Format::tf32},
        {"ssyrk, TENSOR_OP", by_math_mode(math_tensor_op), Format::fp16},
        {"ssyrk, BF16X9", on(103, by_math_mode(math_fp32_emulated_bf16x9)), Format::bf16x9},
        {"ssyrk, TENSOR_OP and BF16X9", by_math_mode(5), Format::fp16},
        {"ssyrk, PEDANTIC and BF16X9", on(100, by_math_mode(6)), Format::bf16x9},
        {"ssyrk, PEDANTIC and BF16X9 on 9.0", by_math_mode(6), Format::fp32},
        {"ssyrk, all three bits", by_math_mode(7), Format::fp16},
        {"ssyrk, a bit that nobody knows", on(60, by_math_mode(32)), Format::fp16},
    };
}

TEST(Formats, AreWhatComputeTypeMathModeAndAlgorithmAllow) {
    for (const Case& each : all_cases()) {
        EXPECT_TRUE(is_known_request(each.asked)) << each.name;
        EXPECT_EQ(requested_format(each.asked, {}), each.allows) << each.name;
    }
}

TEST(Formats, AreThoseThatTheDeviceHas) {
    const RequestedPrecision tf32 = by_compute_type(compute_32f_fast_tf32);
    const RequestedPrecision fp16 = by_compute_type(compute_32f_fast_16f);
    EXPECT_EQ(requested_format(on(75, tf32), {}), Format::fp32);
    EXPECT_EQ(requested_format(on(75, fp16), {}), Format::fp16);
    EXPECT_EQ(requested_format(on(61, fp16), {}), Format::fp32);
    EXPECT_EQ(requested_format(on(0, tf32), {}), Format::tf32) << "an unknown device is taken to have it";
}

TEST(Formats, OfPlainCallsAreBf16x9WhereTheEnvironmentEmulates) {
    EXPECT_EQ(requested_format(on(100, by_compute_type(0)), emulating), Format::bf16x9);
    EXPECT_EQ(requested_format(on(100, by_compute_type(compute_32f)), emulating), Format::bf16x9);
    EXPECT_EQ(requested_format(on(100, by_compute_type(compute_32f_pedantic)), emulating), Format::fp32);
    EXPECT_EQ(requested_format(on(90, by_compute_type(0)), emulating), Format::fp32);
}

TEST(Formats, APedanticHandleKeepsTheEnvironmentFromFunctionsWithoutAComputeTypeOnly) {
    EXPECT_EQ(requested_format(on(100, by_compute_type(0, math_pedantic)), emulating), Format::fp32);
    EXPECT_EQ(requested_format(on(100, by_math_mode(math_pedantic | 16)), emulating), Format::fp32);
    const RequestedPrecision plain = on(100, by_compute_type(compute_32f, math_pedantic));
    EXPECT_EQ(requested_format(plain, emulating), Format::bf16x9);
    EXPECT_EQ(plan(plain, wanting(Precision::highest), Floor::none, {}, emulating).compute_type,
              compute_32f_pedantic);
    Policy pedantic;
    pedantic.pedantic = true;
    EXPECT_EQ(plan(plain, wanting(Precision::highest), Floor::none, pedantic).compute_type, compute_32f_pedantic);
    EXPECT_EQ(
        plan(on(100, by_compute_type(0, math_pedantic)), wanting(Precision::highest), Floor::none, pedantic).how,
        How::forward);
}

TEST(Formats, TheOverrideTurnsTf32IntoFp32) {
    EXPECT_EQ(apply_tf32_override(Format::tf32, {.tf32_is_off = true}), Format::fp32);
    EXPECT_EQ(apply_tf32_override(Format::bf16, {.tf32_is_off = true}), Format::bf16);
    EXPECT_EQ(apply_tf32_override(Format::tf32, {}), Format::tf32);
}

TEST(Formats, UnknownValuesAreToldApart) {
    EXPECT_TRUE(has_known_math_mode(by_compute_type(0, 5)));
    EXPECT_TRUE(has_known_math_mode(by_compute_type(0, 31)));
    EXPECT_FALSE(has_known_math_mode(by_compute_type(0, 32)));
    EXPECT_FALSE(has_known_math_mode(by_compute_type(0, -1)));
    EXPECT_FALSE(is_known_request(by_compute_type(compute_32f, math_default, 24)));
    EXPECT_FALSE(is_known_request(by_compute_type(compute_32f, math_default, 116)));
    EXPECT_FALSE(is_known_request(by_compute_type(2)));
    EXPECT_FALSE(is_known_request(by_compute_type(80)));
}

TEST(Formats, AValueThatIsNotKnownToSwitchOffIsTakenToSwitchOn) {
    const auto read = [](std::vector<const char*> entries) {
        entries.push_back(nullptr);
        return read_environment(entries.data());
    };
    EXPECT_EQ(read({}), Environment{});
    EXPECT_EQ(read({"NVIDIA_TF32_OVERRIDE=0"}), Environment{.tf32_is_off = true});
    EXPECT_EQ(read({"XNVIDIA_TF32_OVERRIDE=0", "NVIDIA_TF32_OVERRIDE="}), Environment{});
    EXPECT_EQ(read({"NVIDIA_TF32_OVERRIDE=1"}), Environment{.tf32_may_be_on = true});
    EXPECT_EQ(read({"A=b", "CUBLAS_EMULATE_SINGLE_PRECISION=1"}), Environment{.emulates_fp32 = true});
    EXPECT_EQ(read({"CUBLAS_EMULATE_SINGLE_PRECISION=0"}), Environment{});
}

TEST(Formats, OfTwoVariablesOfOneNameTheFirstCountsAsForGetenv) {
    const char* const entries[] = {"NVIDIA_TF32_OVERRIDE=1", "CUBLAS_EMULATE_SINGLE_PRECISION=0",
                                   "NVIDIA_TF32_OVERRIDE=0", "CUBLAS_EMULATE_SINGLE_PRECISION=1", nullptr};
    EXPECT_EQ(read_environment(entries), Environment{.tf32_may_be_on = true});
}

TEST(Plan, NativeLeavesEveryCallAsItIs) {
    for (const Case& each : all_cases()) {
        const CallChange change = plan(each.asked, wanting(Precision::native));
        EXPECT_EQ(change.how, How::forward) << each.name;
        EXPECT_EQ(change.format, each.allows) << each.name;
        EXPECT_EQ(change.reason, Reason::as_requested) << each.name;
    }
}

TEST(Plan, WhatIsWishedAlreadyIsForwarded) {
    EXPECT_EQ(plan(by_compute_type(0), wanting(Precision::highest)).how, How::forward);
    EXPECT_EQ(plan(by_compute_type(0, math_tf32_tensor_op), wanting(Precision::high)).how, How::forward);
    EXPECT_EQ(plan(by_compute_type(compute_32f_fast_16bf), wanting(Precision::medium)).how, How::forward);
    EXPECT_EQ(plan(by_math_mode(math_pedantic), wanting(Precision::highest)).how, How::forward);
}

TEST(Plan, HighestAndEveryStricterFloorLeaveNothingBelow) {
    for (const Case& each : all_cases()) {
        for (const bool by_floor : {false, true}) {
            const CallChange change = by_floor ? plan(each.asked, wanting(Precision::native), Floor::fp32)
                                               : plan(each.asked, wanting(Precision::highest));
            EXPECT_EQ(change.format, Format::fp32) << each.name;
            // The changed call, judged like any other call.
            RequestedPrecision changed = each.asked;
            if (change.how == How::compute_type) {
                changed.compute_type = change.compute_type;
                if (change.replaces_algorithm) changed.algorithm = gemm_default;
            }
            if (change.math_mode >= 0) changed.math_mode = (changed.math_mode & math_flags) | change.math_mode;
            EXPECT_EQ(requested_format(changed, {}), Format::fp32) << each.name;
            EXPECT_EQ(change.how == How::forward, each.allows == Format::fp32) << each.name;
            const Reason expected = by_floor && change.how != How::forward ? Reason::floor : Reason::as_requested;
            EXPECT_EQ(change.reason, expected) << each.name;
        }
    }
}

TEST(Plan, HighestKeepsEmulationByTheEnvironmentAwayByPedanticTypes) {
    const CallChange sgemm =
        plan(on(100, by_compute_type(0)), wanting(Precision::highest), Floor::none, {}, emulating);
    EXPECT_EQ(sgemm.how, How::compute_type);
    EXPECT_EQ(sgemm.compute_type, compute_32f_pedantic);
    const CallChange ssyrk = plan(on(100, by_math_mode(0)), wanting(Precision::native), Floor::fp32, {}, emulating);
    EXPECT_EQ(ssyrk.how, How::math_mode);
    EXPECT_EQ(ssyrk.math_mode, math_pedantic);
    Policy allowing;
    allowing.allow_bf16x9 = true;
    const CallChange allowed =
        plan(on(100, by_compute_type(0)), wanting(Precision::highest), Floor::none, allowing, emulating);
    EXPECT_EQ(allowed.how, How::forward);
    EXPECT_EQ(allowed.format, Format::bf16x9);
}

TEST(Plan, HighestIsPedanticWhereTf32MayBeSwitchedOn) {
    constexpr Environment reserved{.tf32_may_be_on = true};
    EXPECT_EQ(requested_format(by_compute_type(0), reserved), Format::tf32);
    EXPECT_EQ(requested_format(on(75, by_compute_type(0)), reserved), Format::fp32);
    const CallChange change = plan(by_compute_type(0), wanting(Precision::highest), Floor::none, {}, reserved);
    EXPECT_EQ(change.compute_type, compute_32f_pedantic);
    EXPECT_EQ(change.format, Format::fp32);
}

TEST(Plan, APedanticTypeStaysPedantic) {
    const RequestedPrecision asked = on(75, by_compute_type(compute_32f_pedantic, math_default, 99));
    const CallChange change = plan(asked, wanting(Precision::highest));
    EXPECT_EQ(change.compute_type, compute_32f_pedantic);
    EXPECT_TRUE(change.replaces_algorithm);
}

TEST(Plan, AFloorTakesAnAlgorithmAwayAndKeepsTheComputeType) {
    for (const std::int32_t type : {compute_32f, compute_32f_pedantic})
        for (const Floor floor : {Floor::bf16, Floor::tf32, Floor::bf16x9, Floor::fp32}) {
            const RequestedPrecision asked = by_compute_type(type, math_default, gemm_default_tensor_op);
            const CallChange old = plan(on(75, asked), wanting(Precision::native), floor);
            EXPECT_EQ(old.compute_type, type);
            EXPECT_TRUE(old.replaces_algorithm);
            EXPECT_EQ(old.format, Format::fp32);
            EXPECT_EQ(old.reason, Reason::floor);
            EXPECT_EQ(plan(on(80, asked), wanting(Precision::native), floor).how, How::forward)
                << "the algorithm has no effect there";
        }
}

TEST(Plan, AFloorIsKeptWhereTheDeviceLacksTheFormat) {
    const RequestedPrecision fp16 = on(70, by_compute_type(compute_32f_fast_16f));
    for (const Floor floor : {Floor::bf16, Floor::tf32}) {
        const CallChange change = plan(fp16, wanting(Precision::native), floor);
        EXPECT_EQ(change.compute_type, compute_32f);
        EXPECT_EQ(change.format, Format::fp32);
        EXPECT_EQ(change.reason, Reason::floor);
    }
}

TEST(Plan, AnAlgorithmThatRoundsBelowItsComputeTypeCounts) {
    RequestedPrecision asked = {
        .road = Road::lt_matmul, .compute_type = compute_32f, .compute_capability = 90, .of_algorithm = Format::tf32};
    EXPECT_EQ(requested_format(asked, {}), Format::tf32);
    EXPECT_EQ(plan(asked, wanting(Precision::highest)).compute_type, compute_32f);
    asked.of_algorithm = Format::fp16;
    EXPECT_EQ(plan(asked, wanting(Precision::native), Floor::bf16).compute_type, compute_32f);
}

TEST(Plan, AFunctionWithoutAComputeTypeIsRaisedToFp32ByTheDefaultMode) {
    const CallChange raised = plan(by_compute_type(0, math_tf32_tensor_op), wanting(Precision::highest));
    EXPECT_EQ(raised.how, How::math_mode);
    EXPECT_EQ(raised.math_mode, math_default);
    EXPECT_EQ(raised.format, Format::fp32);
}

TEST(Plan, WhatCannotBeRaisedByComputeTypeIsRaisedByMathMode) {
    const CallChange pedantic =
        plan(on(100, by_compute_type(0)), wanting(Precision::highest), Floor::none, {}, emulating);
    const CallChange raised = as_math_mode_change(pedantic);
    EXPECT_EQ(raised.how, How::math_mode);
    EXPECT_EQ(raised.math_mode, math_pedantic);
}

TEST(PlanKeys, AreOnesThatTellCallsApart) {
    EXPECT_NE(handle_key(90, 0), handle_key(90, 3));
    EXPECT_NE(handle_key(90, 0), handle_key(80, 0));
    EXPECT_NE(call_key(0, 0, false), call_key(0, compute_32f, false));
    EXPECT_NE(call_key(0, compute_32f, false), call_key(0, compute_32f, true));
    EXPECT_EQ(handle_key(90, -1), key_unknown);
    EXPECT_EQ(call_key(0, 2, false), key_unknown);
    EXPECT_EQ(call_key(0, -1, false), key_unknown);
    EXPECT_EQ(join_keys(1, key_unknown, 0), key_unknown);
    EXPECT_NE(settings_key(7, 1), settings_key(7, 2));
}

TEST(Plan, HighestIsPedanticWhereThePolicySaysSo) {
    Policy pedantic;
    pedantic.pedantic = true;
    const CallChange sgemm = plan(by_compute_type(0), wanting(Precision::highest), Floor::none, pedantic);
    EXPECT_EQ(sgemm.compute_type, compute_32f_pedantic);
    EXPECT_EQ(plan(by_compute_type(0), wanting(Precision::high), Floor::none, pedantic).compute_type,
              compute_32f_fast_tf32);
    EXPECT_EQ(plan(by_compute_type(compute_32f_pedantic), wanting(Precision::highest), Floor::none, pedantic).how,
              How::forward);
}

TEST(Plan, ThePlainComputeTypeIsKeptFromTheHandlesModeAndFlagsStay) {
    const CallChange change =
        plan(by_compute_type(compute_32f_fast_16f, math_tf32_tensor_op | 16, 99), wanting(Precision::highest));
    EXPECT_EQ(change.compute_type, compute_32f);
    EXPECT_TRUE(change.replaces_algorithm);
    EXPECT_EQ(change.math_mode, math_default);
    EXPECT_EQ(plan(by_compute_type(0, math_tensor_op), wanting(Precision::high)).math_mode, -1)
        << "a compute type that says the format needs no mode";
}

TEST(Plan, LoweringGoesByComputeTypeWhereThereIsOneElseByMathMode) {
    const CallChange sgemm = plan(by_compute_type(0), wanting(Precision::medium));
    EXPECT_EQ(sgemm.how, How::compute_type);
    EXPECT_EQ(sgemm.compute_type, compute_32f_fast_16bf);
    EXPECT_EQ(sgemm.format, Format::bf16);
    const CallChange gemm3m = plan(by_math_mode(0), wanting(Precision::high));
    EXPECT_EQ(gemm3m.how, How::math_mode);
    EXPECT_EQ(gemm3m.math_mode, math_tf32_tensor_op);
    EXPECT_EQ(gemm3m.format, Format::tf32);
}

TEST(Plan, FunctionsThatIgnoreTf32ModeAreNotLoweredAndStillRaised) {
    const auto ssyrk = [](std::int32_t math_mode) {
        RequestedPrecision asked = by_math_mode(math_mode);
        asked.ignores_tf32_mode = true;
        return asked;
    };
    for (const Precision precision : {Precision::high, Precision::medium, Precision::fp16, Precision::xf32}) {
        const CallChange change = plan(ssyrk(math_default), wanting(precision));
        EXPECT_EQ(change.how, How::forward);
        EXPECT_EQ(change.format, Format::fp32);
        EXPECT_EQ(change.reason, Reason::no_such_format);
    }
    EXPECT_EQ(plan(on(100, ssyrk(math_default)), wanting(Precision::bf16x9)).format, Format::bf16x9);
    // Other devices and versions may obey a mode of the program's.
    EXPECT_EQ(plan(ssyrk(math_tf32_tensor_op), wanting(Precision::native)).format, Format::tf32);
    EXPECT_EQ(plan(ssyrk(math_tensor_op), wanting(Precision::high)).format, Format::tf32);
    for (const CallChange& raised : {plan(ssyrk(math_tf32_tensor_op), wanting(Precision::highest)),
                                     plan(ssyrk(math_tf32_tensor_op), wanting(Precision::native), Floor::fp32)}) {
        EXPECT_EQ(raised.how, How::math_mode);
        EXPECT_EQ(raised.math_mode, math_default);
        EXPECT_EQ(raised.format, Format::fp32);
    }
}

TEST(Plan, TheFunctionsThatIgnoreTf32ModeAreThoseOfSymmetricAndTriangularMatrices) {
    using namespace families;
    for (const ProductFamily* family : {&cublas_ssymm, &cublas_chemm, &cublas_ssyrk, &cublas_cherk,
                                        &cublas_csyrk_typed, &cublas_ssyr2k, &cublas_strmm})
        EXPECT_TRUE(ignores_tf32_mode(*family));
    for (const ProductFamily* family :
         {&cublas_sgemm, &cublas_cgemm3m, &cublas_strsm, &cublas_ctrsm_batched, &cublas_dsyrk, &xt_ssyrk, &lt_matmul})
        EXPECT_FALSE(ignores_tf32_mode(*family));
}

TEST(Plan, WhereThereIsNoBf16MediumIsTf32) {
    RequestedPrecision grouped = by_compute_type(compute_32f);
    grouped.is_grouped = true;
    for (const RequestedPrecision& asked : {by_math_mode(0), grouped}) {
        const CallChange change = plan(asked, wanting(Precision::medium));
        EXPECT_EQ(change.format, Format::tf32);
        EXPECT_EQ(change.reason, Reason::no_such_format);
    }
}

TEST(Plan, Bf16x9NeedsALibraryAndAFunctionThatHaveIt) {
    const RequestedPrecision asked = on(100, by_compute_type(0));
    EXPECT_EQ(plan(asked, wanting(Precision::bf16x9)).compute_type, compute_32f_emulated_16bfx9);
    EXPECT_EQ(plan(on(100, by_math_mode(0)), wanting(Precision::bf16x9)).math_mode, math_fp32_emulated_bf16x9);
    RequestedPrecision old = asked;
    old.has_bf16x9 = false;
    RequestedPrecision grouped = asked;
    grouped.is_grouped = true;
    for (const RequestedPrecision& without : {old, grouped}) {
        const CallChange change = plan(without, wanting(Precision::bf16x9));
        EXPECT_EQ(change.format, Format::fp32);
        EXPECT_EQ(change.reason, Reason::bf16x9_unavailable);
        EXPECT_EQ(change.how, How::forward);
    }
}

TEST(Plan, RestraintsForbidLoweringAndNothingElse) {
    for (const Reason forbids_lowering : {Reason::alignment, Reason::solver, Reason::protected_call}) {
        const CallChange lowered =
            plan(by_compute_type(0), wanting(Precision::high), Floor::none, {}, {}, forbids_lowering);
        EXPECT_EQ(lowered.how, How::forward);
        EXPECT_EQ(lowered.format, Format::fp32);
        EXPECT_EQ(lowered.reason, forbids_lowering);
        const CallChange raised = plan(by_compute_type(compute_32f_fast_tf32), wanting(Precision::highest),
                                       Floor::none, {}, {}, forbids_lowering);
        EXPECT_EQ(raised.compute_type, compute_32f);
        EXPECT_EQ(raised.reason, Reason::as_requested);
    }
}

TEST(Plan, AFloorRaisesOnlyWhatIsBelowIt) {
    const RequestedPrecision fp16 = by_compute_type(compute_32f_fast_16f);
    EXPECT_EQ(plan(fp16, wanting(Precision::native), Floor::fp16).how, How::forward);
    EXPECT_EQ(plan(fp16, wanting(Precision::native), Floor::bf16).compute_type, compute_32f_fast_16bf);
    EXPECT_EQ(plan(fp16, wanting(Precision::native), Floor::tf32).compute_type, compute_32f_fast_tf32);
    EXPECT_EQ(plan(fp16, wanting(Precision::native), Floor::bf16x9).compute_type, compute_32f);
    EXPECT_EQ(plan(by_compute_type(compute_32f_fast_tf32), wanting(Precision::native), Floor::tf32).how,
              How::forward);
}

TEST(Plan, WithoutAFunctionThatTakesAComputeTypeOnlyRaisingIsLeft) {
    RequestedPrecision asked = by_compute_type(0, math_tf32_tensor_op);
    asked.has_compute_type_form = false;
    const CallChange raised = plan(asked, wanting(Precision::highest));
    EXPECT_EQ(raised.how, How::math_mode);
    EXPECT_EQ(raised.math_mode, math_default);
    asked.math_mode = math_default;
    const CallChange lowered = plan(asked, wanting(Precision::high));
    EXPECT_EQ(lowered.how, How::forward);
    EXPECT_EQ(lowered.reason, Reason::no_entry_point);
}

TEST(Plan, TheDecisionsOwnReasonIsKept) {
    const CallChange change =
        plan(on(75, by_compute_type(0)), wanting(Precision::highest, Reason::compute_capability));
    EXPECT_EQ(change.reason, Reason::compute_capability);
    EXPECT_EQ(change.format, Format::fp32);
}

}  // namespace
}  // namespace fp32shim::cublas
