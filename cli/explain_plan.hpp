// Predicts for `fp32shim explain` how the shim would treat a call. The prediction runs the shim's own code. Facts
// that only a running process knows are assumed, and the assumptions are listed.
#pragma once

#include <string>
#include <vector>

#include "cli/run/process_environment.hpp"
#include "policy/decide.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim::cli {

/// The number format at which a call would run, and the reason for it.
struct PlannedFormat {
    policy::AppliedFormat applied = policy::AppliedFormat::unchanged;
    policy::Reason reason = policy::Reason::as_requested;
    /// The format in which a product of float16 or bfloat16 on a GPU would add if the shim did not change the call.
    policy::Accumulator accumulator_as_called = policy::Accumulator::unknown;
    /// The format in which a product of float16 or bfloat16 on a GPU adds under the shim.
    policy::Accumulator accumulator = policy::Accumulator::unknown;

    bool operator==(const PlannedFormat&) const = default;
};

/// The predicted treatment of a call by the shim.
struct PlannedCall {
    /// An outcome that the call has if one of the assumptions is wrong.
    struct OtherOutcome {
        PlannedFormat outcome;
        /// The facts, each of which leads to `outcome`: `math mode CUBLAS_TENSOR_OP_MATH`.
        std::vector<std::string> where;
    };

    PlannedFormat outcome;
    std::string words;                    ///< description of the outcome, for people
    std::vector<std::string> supposed{};  ///< assumptions on which the outcome depends
    std::vector<OtherOutcome> others{};
    std::vector<std::string> notes{};
};

/// Returns how the shim would treat a call of `function`. `environment` has the variables that cuBLAS reads.
PlannedCall plan_described_call(const Function& function, const policy::MatmulCall& call,
                                const policy::Decision& decision, const policy::Policy& policy,
                                const ProcessEnvironment& environment);

}  // namespace fp32shim::cli
