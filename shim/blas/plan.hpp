// The third step of a call to a CPU library: plans how to run the call at the precision that was decided, and what to
// record about the call.
#pragma once

#include "policy/decide.hpp"
#include "shim/blas/emulate/emulate.hpp"
#include "shim/blas/product.hpp"
#include "shim/decision/record_call.hpp"

namespace fp32shim::blas {

/// The way to run a call, and the outcome that is recorded if the call runs in this way.
struct Plan : ExecutionOutcome {
    Preview preview = OperandRounding::tf32_away;
    bool rounds = false;
    bool has_fixed_order = false;  ///< true if the shim computes the product itself, in a fixed order
    bool uses_bf16_units = false;  ///< true if the shim computes the product itself, on BF16 units
    int threads = 0;               ///< the largest number of threads on which the shim computes; 0: as many as the
                                   ///< library may use
};

/// Returns how the CPU previews products in `format`, by rounding or splitting the operands, under the settings of
/// `policy`.
Preview preview_of(policy::AppliedFormat format, const policy::Policy& policy);

/// Plans how to carry out the decision on a call. The function has no side effects. It reads alpha, but no matrix.
Plan plan_cpu_call(const Site& site, const Frame& frame, const Product& product, const policy::Decision& decision,
                   const policy::Policy& policy);

/// Returns true if a call with this plan has a result that can be examined: its arguments are valid, and the result
/// is float32 or float64.
inline bool has_examinable_result(const Product& product, const Plan& plan) {
    using policy::Reason;
    return product.readable && plan.applied != policy::AppliedFormat::unchanged &&
           plan.reason != Reason::invalid_arguments && plan.reason != Reason::width_unknown;
}

/// Returns the format in which a call with this plan runs, or fp32 if audits do not know the format.
inline policy::AuditFormat audit_format_of(const Plan& plan) {
    return policy::audit_format_of(plan.applied).value_or(policy::AuditFormat::fp32);
}

}  // namespace fp32shim::blas
