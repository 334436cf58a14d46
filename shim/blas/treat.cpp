#include "shim/blas/treat.hpp"

namespace fp32shim {

using policy::Applied;
using policy::Reason;

Treated treat(Treatment treatment, const policy::Decision& decision, const policy::MatmulCall& call) {
    if (treatment == Treatment::observed) return {Applied::unchanged, Reason::observed};
    if (treatment == Treatment::opaque) return {Applied::unchanged, Reason::not_governable};
    // `native` leaves the format to the program, and a float32 routine of a CPU library multiplies in float32.
    const Applied applied = format_of(decision.precision).value_or(Applied::fp32);
    if (applied == Applied::fp32) return {Applied::fp32, decision.reason};
    if (treatment == Treatment::recognised) return {Applied::fp32, Reason::not_governable};
    if (!multiplies(call)) return {Applied::fp32, Reason::no_product};
    return {applied, decision.reason, true};
}

}  // namespace fp32shim
