// Questions about cuBLAS that no manual answers, asked by running products and looking at the results: all sections,
// as tables, with what follows from them.
#pragma once

#include <string>
#include <vector>

#include "gpu_check/sections/findings.hpp"

namespace gpu {

/// `gpu-check questions ...`: prints the tables. Returns an exit status.
int ask_questions(const std::vector<std::string>& words);

/// The choice of a decision rule between two alternatives, and the measurements behind it.
struct Conclusion {
    const char* experiment;
    const char* expected;
    std::string seen;
    std::string follows;
};
/// conclusions.cpp: what follows from a section.
std::vector<Conclusion> conclusions(const Findings& findings, const std::string& section);

// rows.cpp: the answers to rows of tests/cublas/stand_in/semantics.def
struct Answer {
    std::string row;
    std::string answer;  // "?" where this device cannot tell
    std::string because;
};
std::vector<Answer> answered_rows(const Findings& findings);

}  // namespace gpu
