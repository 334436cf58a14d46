// Turns the findings of workers into lines of the verdict. All functions are pure.
#pragma once

#include <string>
#include <vector>

#include "gpu_check/sections/findings.hpp"

namespace gpu {

enum class Verdict {
    shown,      ///< the claim was confirmed on this machine
    wrong,      ///< the claim was refuted on this machine
    failed,     ///< the measurement failed, though it should have been possible
    measured,   ///< the line gives figures, without a claim
    not_tried,  ///< the check was left out, for a reason that is not a fault
};

const char* to_string(Verdict verdict);

/// One line of the verdict.
struct VerdictLine {
    std::string name;  ///< name of the check
    Verdict verdict = Verdict::not_tried;
    std::string text;  ///< evidence for the verdict
};

/// Facts that a judgement needs besides the findings of its section.
struct JudgementFacts {
    int compute_capability = 0;   ///< 10·major + minor, so that 90 means 9.0
    std::vector<int> sizes;       ///< sizes at which the section was measured
    bool has_site_floor = false;  ///< a policy of this machine forbids formats below FP32

    bool has_tf32() const { return compute_capability >= 80; }
    /// Returns true if `high` must result in TF32 on this machine.
    bool expects_tf32() const { return has_tf32() && !has_site_floor; }
};

/// Returns true if a floor raised the precision of the variant `high`. This floor comes from the site's policy,
/// because gpu-check itself sets no floor in this variant.
bool has_site_floor(const FindingMap& findings);

/// Returns the lines about a section, in the order of the verdict.
std::vector<VerdictLine> judge_section(const std::string& section, const FindingMap& findings,
                                       const JudgementFacts& facts);

}  // namespace gpu
