#include "shim/blas/treat.hpp"

namespace fp32shim {

using policy::Applied;
using policy::Reason;

Treated treat(Treatment treatment, const policy::Decision& decision, const policy::MatmulCall& call) {
    if (treatment == Treatment::observed) return {Applied::unchanged, Reason::observed};
    if (treatment == Treatment::opaque) return {Applied::unchanged, Reason::not_governable};
    // `native` leaves the format to the program, and a routine of a CPU library multiplies in its operands' format.
    const Applied as_called = policy::native_format(call.dtype);
    if (!rounds_operands(decision, call.dtype)) return {as_called, decision.reason};
    if (treatment == Treatment::recognised || treatment == Treatment::solve)
        return {as_called, Reason::not_governable};
    if (treatment == Treatment::vector) return {as_called, Reason::vector_product};
    if (!multiplies(call)) return {as_called, Reason::no_product};
    return {*format_of(decision.precision), decision.reason, true};
}

}  // namespace fp32shim
