#include "shim/cublas/accumulation.hpp"

#include "shim/cublas/api.hpp"

namespace fp32shim::cublas {
namespace {

using policy::Accumulator;
using policy::Reason;

bool is_lt(const RequestedPrecision& asked) { return asked.control == FormatControl::lt_matmul; }

/// Returns the reason why a product cannot be changed to add in FP32, or as_requested if it can. `as_called` is the
/// type in which the program's own call adds.
Reason obstacle_to_fp32(const PlanRequest& request, Accumulator as_called) {
    const RequestedPrecision& asked = request.asked;
    if (!request.handle_is_known) return Reason::unknown_handle;
    if (as_called == Accumulator::unknown) return Reason::unknown_value;
    if (as_called != Accumulator::fp16) return Reason::as_requested;
    if (asked.half.scalars == ScalarPlace::on_device) return Reason::scalars_on_device;
    if (asked.half.scalars == ScalarPlace::unreadable) return Reason::unknown_value;
    return is_lt(asked) || asked.has_compute_type_form ? Reason::as_requested : Reason::no_entry_point;
}

}  // namespace

Accumulator accumulator_of(const RequestedPrecision& asked) {
    const HalfProduct& half = asked.half;
    if (!half.is_half) return Accumulator::unknown;
    switch (asked.compute_type) {
        case compute_16f:
        case compute_16f_pedantic:
            return Accumulator::fp16;
        case 0:
            if (half.adds_in_fp16) return Accumulator::fp16;
            break;
        case compute_32f:
        case compute_32f_pedantic:
            break;
        default:
            return Accumulator::unknown;
    }
    const bool forbids =
        is_lt(asked) ? half.has_full_reduction : (asked.math_mode & math_full_precision_reduction) != 0;
    return forbids || half.is_result_float || is_pedantic(asked) ? Accumulator::fp32 : Accumulator::fp32_reduced;
}

Plan plan_accumulation(const PlanRequest& request, const policy::Decision& decision) {
    const RequestedPrecision& asked = request.asked;
    Plan plan;
    plan.decision = decision;
    plan.asked = plan.change.format = Format::fp16;  // no algorithm rounds half operands to a lower format
    plan.reason = decision.reason;
    plan.accumulator = plan.accumulator_as_called = accumulator_of(asked);
    if (decision.accumulate != policy::Accumulate::fp32 || plan.accumulator == Accumulator::fp32) return plan;
    const Reason obstacle = obstacle_to_fp32(request, plan.accumulator);
    if (obstacle != Reason::as_requested) {
        plan.reason = obstacle;
        return plan;
    }
    const bool pedantic = asked.compute_type == compute_16f_pedantic || is_pedantic(asked);
    if (plan.accumulator == Accumulator::fp16) {
        plan.change.how = record::How::compute_type;
        plan.change.compute_type = pedantic ? compute_32f_pedantic : compute_32f;
        plan.change.converts_scalars = true;
    } else {
        plan.change.how = is_lt(asked) ? record::How::algorithm : record::How::math_mode;
        plan.change.compute_type = asked.compute_type;
    }
    if (is_lt(asked))
        plan.change.needs_full_reduction = true;
    else if (!pedantic && (asked.math_mode & math_full_precision_reduction) == 0)
        plan.change.math_mode = asked.math_mode | math_full_precision_reduction;
    plan.accumulator = Accumulator::fp32;
    return plan;
}

}  // namespace fp32shim::cublas
