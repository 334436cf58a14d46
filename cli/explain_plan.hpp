// Plans a call by the shim's own code for `fp32shim explain`. Facts that only a process knows are assumed and listed.
#pragma once

#include <string>
#include <vector>

#include "cli/run/process_environment.hpp"
#include "policy/decide.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim::cli {

/// Format that a call would run at, and the reason, with the names that a log gives them.
struct PlannedFormat {
    policy::Applied applied = policy::Applied::unchanged;
    policy::Reason reason = policy::Reason::as_requested;

    bool operator==(const PlannedFormat&) const = default;
};

/// Predicted treatment of a call by the shim.
struct PlannedCall {
    /// A different outcome, which comes about if one of the assumptions does not hold.
    struct Other {
        PlannedFormat outcome;
        std::vector<std::string> where;  ///< facts that each cause this outcome: `math mode CUBLAS_TENSOR_OP_MATH`
    };

    PlannedFormat outcome;
    std::string words;                    ///< meaning of the outcome, for people
    std::vector<std::string> supposed{};  ///< assumptions on which the outcome depends
    std::vector<Other> others{};
    std::vector<std::string> notes{};
};

/// Returns how the shim would treat a call of `function`. `environment` has the variables that cuBLAS reads.
PlannedCall plan_described_call(const Function& function, const policy::MatmulCall& call,
                                const policy::Decision& decision, const policy::Policy& policy,
                                const ProcessEnvironment& environment);

}  // namespace fp32shim::cli
