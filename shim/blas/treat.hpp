// The treatment of a decision by the CPU back end, as far as it follows from the function alone. Pure:
// blas/plan.cpp asks it in the process, `fp32shim explain` without one.
#pragma once

#include "policy/decide.hpp"
#include "shim/table/families.hpp"

namespace fp32shim {

struct Treated {
    policy::Applied applied = policy::Applied::unchanged;
    policy::Reason reason = policy::Reason::as_requested;
    bool rounds = false;  ///< operands are rounded to the applied format
};

Treated treat(Treatment treatment, const policy::Decision& decision);

}  // namespace fp32shim
