// Tests what half products add in, and the plan that changes it: shim/cublas/accumulation.hpp.
#include "shim/cublas/accumulation.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "shim/cublas/api.hpp"

namespace fp32shim::cublas {
namespace {

using policy::Accumulate;
using policy::Accumulator;
using policy::Reason;
using record::How;

RequestedPrecision asked_of_half(std::int32_t compute_type) {
    RequestedPrecision asked{
        .control = FormatControl::compute_type, .compute_type = compute_type, .compute_capability = 90};
    asked.half.is_half = true;
    return asked;
}

Plan plan_for(const RequestedPrecision& asked, Accumulate accumulate = Accumulate::fp32) {
    const Reason reason = accumulate == Accumulate::fp32 ? Reason::as_requested : Reason::observed;
    return plan_accumulation({.treatment = OperandTreatment::observed, .asked = asked},
                             {.reason = reason, .accumulate = accumulate});
}

TEST(FloatOfHalf, IsTheSameNumber) {
    for (std::uint32_t half = 0; half <= 0xffff; ++half) {
        const int exponent = static_cast<int>(half >> 10 & 0x1f), fraction = static_cast<int>(half & 0x3ff);
        const double magnitude = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                                 : exponent == 0 ? std::ldexp(fraction, -24)
                                                 : std::ldexp(fraction + 1024, exponent - 25);
        const float found = half_to_float(static_cast<std::uint16_t>(half));
        ASSERT_EQ(std::signbit(found), half > 0x7fff) << half;
        if (std::isnan(magnitude))
            ASSERT_TRUE(std::isnan(found)) << half;
        else
            ASSERT_EQ(std::fabs(static_cast<double>(found)), magnitude) << half;
    }
}

TEST(Accumulator, FollowsFromComputeTypeModeAlgorithmAndResult) {
    EXPECT_EQ(accumulator_of(asked_of_half(compute_16f)), Accumulator::fp16);
    EXPECT_EQ(accumulator_of(asked_of_half(compute_16f_pedantic)), Accumulator::fp16);
    EXPECT_EQ(accumulator_of(asked_of_half(compute_32f)), Accumulator::fp32_reduced);
    EXPECT_EQ(accumulator_of(asked_of_half(compute_32f_pedantic)), Accumulator::fp32);
    EXPECT_EQ(accumulator_of(asked_of_half(0)), Accumulator::fp32_reduced);  // cublasSgemmEx
    EXPECT_EQ(accumulator_of(asked_of_half(compute_64f)), Accumulator::unknown);
    EXPECT_EQ(accumulator_of({.compute_type = compute_32f}), Accumulator::unknown);  // of float32
    RequestedPrecision asked = asked_of_half(0);
    asked.half.adds_in_fp16 = true;
    EXPECT_EQ(accumulator_of(asked), Accumulator::fp16);
    asked = asked_of_half(compute_32f);
    asked.half.is_result_float = true;
    EXPECT_EQ(accumulator_of(asked), Accumulator::fp32);
    asked = asked_of_half(compute_32f);
    asked.math_mode = math_full_precision_reduction;
    EXPECT_EQ(accumulator_of(asked), Accumulator::fp32);
    asked.control = FormatControl::lt_matmul;  // has no mode
    EXPECT_EQ(accumulator_of(asked), Accumulator::fp32_reduced);
    asked.half.has_full_reduction = true;
    EXPECT_EQ(accumulator_of(asked), Accumulator::fp32);
}

TEST(AccumulationPlan, ChangesWhatIsNeededAndNothingElse) {
    for (const std::int32_t compute_type : {compute_16f, compute_32f, compute_32f_pedantic}) {
        const Plan plan = plan_for(asked_of_half(compute_type), Accumulate::as_called);
        EXPECT_EQ(plan.change.how, How::forward);
        EXPECT_EQ(plan.reason, Reason::observed);
        EXPECT_EQ(plan.accumulator, plan.accumulator_as_called);
    }
    RequestedPrecision asked = asked_of_half(compute_16f);
    asked.math_mode = math_tf32_tensor_op;
    Plan plan = plan_for(asked);
    EXPECT_EQ(plan.change.how, How::compute_type);
    EXPECT_EQ(plan.change.compute_type, compute_32f);
    EXPECT_TRUE(plan.change.converts_scalars);
    EXPECT_EQ(plan.change.math_mode, math_tf32_tensor_op | math_full_precision_reduction);
    EXPECT_EQ(plan.accumulator, Accumulator::fp32);
    plan = plan_for(asked_of_half(compute_16f_pedantic));
    EXPECT_EQ(plan.change.compute_type, compute_32f_pedantic);
    EXPECT_EQ(plan.change.math_mode, -1);
    plan = plan_for(asked_of_half(compute_32f));
    EXPECT_EQ(plan.change.how, How::math_mode);
    EXPECT_FALSE(plan.change.converts_scalars);
    asked = asked_of_half(compute_32f);
    asked.control = FormatControl::lt_matmul;
    plan = plan_for(asked);
    EXPECT_EQ(plan.change.how, How::algorithm);
    EXPECT_TRUE(plan.change.needs_full_reduction);
    EXPECT_EQ(plan.change.math_mode, -1);
}

TEST(AccumulationPlan, LeavesACallThatCannotBeChangedAsItIs) {
    const auto reason_of = [](const RequestedPrecision& asked) {
        const Plan plan = plan_for(asked);
        EXPECT_EQ(plan.change.how, How::forward);
        EXPECT_EQ(plan.accumulator, plan.accumulator_as_called);
        return plan.reason;
    };
    RequestedPrecision asked = asked_of_half(compute_16f);
    asked.half.scalars = ScalarPlace::on_device;
    EXPECT_EQ(reason_of(asked), Reason::scalars_on_device);
    asked.half.scalars = ScalarPlace::unreadable;
    EXPECT_EQ(reason_of(asked), Reason::unknown_value);
    asked = asked_of_half(compute_16f);
    asked.has_compute_type_form = false;
    EXPECT_EQ(reason_of(asked), Reason::no_entry_point);
    EXPECT_EQ(reason_of(asked_of_half(compute_64f)), Reason::unknown_value);
    EXPECT_EQ(reason_of(asked_of_half(compute_32f_pedantic)), Reason::as_requested);
    const Plan unknown = plan_accumulation({.treatment = OperandTreatment::observed, .handle_is_known = false},
                                           {.accumulate = Accumulate::fp32});
    EXPECT_EQ(unknown.reason, Reason::unknown_handle);
}

}  // namespace
}  // namespace fp32shim::cublas
