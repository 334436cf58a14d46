// One line of the verdict.
#pragma once

#include <string>

namespace gpu {

enum class Verdict {
    shown,      ///< claim confirmed on this machine
    wrong,      ///< claim refuted on this machine
    failed,     ///< measurement failed, though it should have been possible
    measured,   ///< figures without a claim
    not_tried,  ///< left out, for a reason that is not a fault
};

const char* to_string(Verdict verdict);

struct Line {
    std::string name;  ///< name of the check
    Verdict verdict = Verdict::not_tried;
    std::string text;  ///< evidence for the verdict
};

}  // namespace gpu
