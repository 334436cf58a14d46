// One line of the verdict.
#pragma once

#include <string>

namespace gpu {

enum class Verdict {
    shown,      ///< seen to hold here
    wrong,      ///< seen not to hold
    failed,     ///< could not be measured, though it should have been
    measured,   ///< figures, with no claim about them
    not_tried,  ///< left out, for a reason that is no fault
};

const char* to_string(Verdict verdict);

struct Line {
    std::string name;  ///< of the check
    Verdict verdict = Verdict::not_tried;
    std::string text;  ///< the evidence
};

}  // namespace gpu
