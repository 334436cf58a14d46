// Questions about cuBLAS that no manual answers. They are answered by running products and examining the results.
// Prints all sections as tables, followed by conclusions.
#pragma once

#include <string>
#include <vector>

#include "gpu_check/sections/findings.hpp"

namespace gpu {

/// A choice between two alternatives by a decision rule, with the measurements behind it.
struct Conclusion {
    const char* experiment;
    const char* expected;
    std::string seen;
    std::string follows;
};
/// Returns the conclusions from a section. Defined in conclusions.cpp.
std::vector<Conclusion> conclusions(const FindingMap& findings, const std::string& section);

// Answer to one row of tests/cublas/stand_in/semantics.def; see rows.cpp.
struct Answer {
    std::string row;
    std::string answer;  // "?" if this device cannot give the answer
    std::string because;
};
std::vector<Answer> answered_rows(const FindingMap& findings);

}  // namespace gpu
