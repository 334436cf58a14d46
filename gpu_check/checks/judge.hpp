// From what the workers found to lines of the verdict. Pure.
#pragma once

#include <string>
#include <vector>

#include "gpu_check/checks/line.hpp"
#include "gpu_check/sections/findings.hpp"

namespace gpu {

/// What a judgement depends on besides the findings of its section.
struct Judging {
    int compute_capability = 0;  ///< 90 is 9.0
    std::vector<int> sizes;      ///< those that the section was asked for
    bool is_floored = false;     ///< a policy of this machine forbids less than FP32

    bool has_tf32() const { return compute_capability >= 80; }
    /// Returns true if `high` has to come to TF32 here.
    bool expects_tf32() const { return has_tf32() && !is_floored; }
};

/// Returns true if a floor that the site's policy sets, not gpu-check, raised `high`.
bool is_floored(const Findings& findings);

std::vector<Line> judge_products(const Findings& findings, const Judging& judging);
std::vector<Line> judge_opt_ins(const Findings& findings, const Judging& judging);
std::vector<Line> judge_times(const Findings& findings, const Judging& judging);
std::vector<Line> judge_cost(const Findings& findings, const Judging& judging);
std::vector<Line> judge_graph(const Findings& findings, const Judging& judging);
std::vector<Line> judge_audits(const Findings& findings, const Judging& judging);

}  // namespace gpu
