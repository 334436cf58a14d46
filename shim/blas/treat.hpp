// The treatment of a decision for a CPU, as far as function and sizes determine it. Pure: blas/plan.cpp uses it
// inside a process, `fp32shim explain` without one.
#pragma once

#include "policy/decide.hpp"
#include "shim/table/families.hpp"

namespace fp32shim {

struct Treated {
    policy::Applied applied = policy::Applied::unchanged;
    policy::Reason reason = policy::Reason::as_requested;
    bool rounds = false;  ///< operands are rounded to the applied format
};

/// Returns the format, reason and rounding of a call to a function of this treatment. An unknown size counts as
/// nonzero. Of `call`, only the sizes and the element type matter.
Treated treat(Treatment treatment, const policy::Decision& decision, const policy::MatmulCall& call);

/// Returns true if a decision asks for a format other than that of the operands.
inline bool rounds_operands(const policy::Decision& decision, policy::Dtype dtype) {
    const policy::Applied as_called = policy::native_format(dtype);
    return policy::format_of(decision.precision).value_or(as_called) != as_called;
}

/// Returns true if functions of a CPU library with this treatment are computed in a fixed order in the CPU mode
/// `reproducible`.
constexpr bool has_fixed_order(Treatment treatment) {
    return treatment == Treatment::governed || treatment == Treatment::solve || treatment == Treatment::vector;
}

/// Returns true if calls to functions of this family are computed in a fixed order.
inline bool runs_in_fixed_order(const ProductFamily& family, const policy::Policy& policy) {
    return policy.cpu_mode == policy::CpuMode::reproducible && has_fixed_order(family.treatment);
}

}  // namespace fp32shim
