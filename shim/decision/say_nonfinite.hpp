// The line on stderr about the first NaN or infinity.
#pragma once

#include "policy/decide.hpp"
#include "record/audit.hpp"
#include "shim/decision/record_call.hpp"
#include "shim/entry/site.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim {

/// Says which product made NaN or infinity of finite operands, where in its result, and where in the program: the
/// line of Python also where the settings do not ask for it. `found`: has the flag audit_nonfinite.
void say_nonfinite(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                   const policy::Decision& decision, const Done& done, const record::Audit& found);

}  // namespace fp32shim
