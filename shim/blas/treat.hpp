// Tells how a decided precision applies to a call to a CPU library, as far as the function and the sizes determine
// it. The code has no side effects: blas/plan.cpp uses it in the program, and `fp32shim explain` uses it outside.
#pragma once

#include "policy/decide.hpp"
#include "shim/table/families.hpp"

namespace fp32shim {

/// The part of a call's plan that follows from the called function and the sizes.
struct TreatmentOutcome {
    policy::AppliedFormat applied = policy::AppliedFormat::unchanged;
    policy::Reason reason = policy::Reason::as_requested;
    bool rounds = false;  ///< true if operands are rounded to the format `applied`
};

/// Returns true if a decision asks for a format other than the operands' own format.
inline bool rounds_operands(const policy::Decision& decision, policy::Dtype dtype) {
    const policy::AppliedFormat as_called = policy::native_format(dtype);
    return policy::format_of(decision.precision).value_or(as_called) != as_called;
}

/// Returns the format, the reason and the rounding of a call to a function with the treatment `treatment`. A size
/// that is unknown counts as nonzero. Only the sizes and the element type of `call` matter.
inline TreatmentOutcome apply_treatment(Treatment treatment, const policy::Decision& decision,
                                        const policy::MatmulCall& call) {
    using policy::AppliedFormat;
    using policy::Reason;
    if (treatment == Treatment::observed) return {AppliedFormat::unchanged, Reason::observed};
    if (treatment == Treatment::opaque) return {AppliedFormat::unchanged, Reason::not_governable};
    // The precision `native` also leads here: a routine of a CPU library multiplies in its operands' own format.
    const AppliedFormat as_called = policy::native_format(call.dtype);
    if (!rounds_operands(decision, call.dtype)) return {as_called, decision.reason};
    if (treatment == Treatment::recognised || treatment == Treatment::solve)
        return {as_called, Reason::not_governable};
    if (treatment == Treatment::vector) return {as_called, Reason::vector_product};
    if (!multiplies(call)) return {as_called, Reason::no_product};
    return {*policy::format_of(decision.precision), decision.reason, true};
}

/// Returns true if functions with this treatment are computed in a fixed order in the CPU mode `reproducible`.
constexpr bool allows_fixed_order(Treatment treatment) {
    return treatment == Treatment::governed || treatment == Treatment::solve || treatment == Treatment::vector;
}

/// Returns true if the policy demands that calls to functions of this family are computed in a fixed order.
inline bool runs_in_fixed_order(const ProductFamily& family, const policy::Policy& policy) {
    return policy.cpu_mode == policy::CpuMode::reproducible && allows_fixed_order(family.treatment);
}

}  // namespace fp32shim
