#include "shim/plan.hpp"

namespace fp32shim {
namespace {

using policy::Applied;
using policy::Precision;
using policy::Reason;

bool all_arguments_are_valid(const Site& site, const Frame& frame, const blas::Product& product) {
    return for_each_product(
        site, frame, product, [](void*, const blas::Level3& single) { return blas::arguments_are_valid(single); },
        nullptr);
}

bool any_multiplies(const Site& site, const Frame& frame, const blas::Product& product) {
    const bool none_does = for_each_product(
        site, frame, product, [](void*, const blas::Level3& single) { return !blas::multiplies(single); }, nullptr);
    return !none_does;
}

}  // namespace

Plan make_plan(const Site& site, const Frame& frame, const blas::Product& product, const policy::Decision& decision,
               policy::Tf32Rounding tf32_rounding) {
    const Family& family = *site.function->family;
    Plan plan;
    plan.reason = decision.reason;
    if (site.ambiguous) plan.detail = "several libraries provide it, and the caller imports it from none of them";
    if (site.runs_one_by_one()) {
        plan.how = record::How::one_by_one;
        plan.detail = "no library provides this batch function";
    }
    if (family.treatment == Treatment::observed) {
        plan.reason = Reason::observed;
        return plan;
    }
    if (family.treatment == Treatment::opaque) {
        plan.reason = Reason::not_governable;
        return plan;
    }
    // A float32 routine of a CPU library multiplies in float32.
    plan.applied = Applied::fp32;
    if (!product.readable) {
        plan.reason = site.width.load(std::memory_order_relaxed) == IntegerWidth::unknown ? Reason::width_unknown
                                                                                          : Reason::invalid_arguments;
        return plan;
    }
    if (!all_arguments_are_valid(site, frame, product)) {
        plan.reason = Reason::invalid_arguments;
        return plan;
    }
    const bool lowers = decision.precision == Precision::high || decision.precision == Precision::medium;
    if (!lowers) return plan;
    if (family.treatment == Treatment::recognised) {
        plan.reason = Reason::not_governable;
    } else if (!any_multiplies(site, frame, product)) {
        plan.reason = Reason::no_product;
    } else {
        plan.rounds = true;
        plan.rounding = decision.precision == Precision::medium       ? blas::OperandRounding::bf16_even
                        : tf32_rounding == policy::Tf32Rounding::even ? blas::OperandRounding::tf32_even
                                                                      : blas::OperandRounding::tf32_away;
        plan.applied = decision.precision == Precision::medium ? Applied::bf16 : Applied::tf32;
        if (!site.runs_one_by_one()) plan.how = record::How::round_operands;
    }
    return plan;
}

}  // namespace fp32shim
