// Turns the findings of workers into lines of the verdict. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "gpu_check/checks/line.hpp"
#include "gpu_check/sections/findings.hpp"

namespace gpu {

/// Facts that a judgement needs besides the findings of its section.
struct Judging {
    int compute_capability = 0;  ///< 10·major + minor: 90 means 9.0
    std::vector<int> sizes;      ///< sizes at which the section was measured
    bool is_floored = false;     ///< a policy of this machine forbids formats below FP32

    bool has_tf32() const { return compute_capability >= 80; }
    /// Returns true if `high` must result in TF32 on this machine.
    bool expects_tf32() const { return has_tf32() && !is_floored; }
};

/// Returns true if a floor raised the precision `high`. Such a floor comes from the site's policy, not from
/// gpu-check.
bool is_floored(const Findings& findings);

std::vector<Line> judge_products(const Findings& findings, const Judging& judging);
std::vector<Line> judge_opt_ins(const Findings& findings, const Judging& judging);
std::vector<Line> judge_float64(const Findings& findings, const Judging& judging);
std::vector<Line> judge_times(const Findings& findings, const Judging& judging);
std::vector<Line> judge_cost(const Findings& findings, const Judging& judging);
std::vector<Line> judge_graph(const Findings& findings, const Judging& judging);
std::vector<Line> judge_audits(const Findings& findings, const Judging& judging);

}  // namespace gpu
