// Questions about cuBLAS that no manual answers, asked by running products and looking at the results.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "findings.hpp"
#include "problem.hpp"
#include "worker.hpp"

namespace gpu {

/// A section is measured once for each of these.
struct Variant {
    const char* name;
    const char* variables;  // "NAME=value ..."; SHIM stands for the shim's path, RECORDINGS for a folder
};

/// One table, and how it is measured.
struct Section {
    const char* name;
    const char* title;
    std::vector<const char*> columns;  // with several variants a first one names the variant
    void (*measure)(Worker& worker);
    std::vector<Variant> variants = {};  // none: once, as called
    bool faults_are_answers = false;     // else a row that failed is a failure of the whole
};

/// In the order in which they are asked.
std::span<const Section> sections();

/// The format of a product, or how it was refused: a cublasStatus_t's name, or "absent" from this library.
std::string answer_of(const std::optional<cublasStatus_t>& status, const Measured& measured);

// questions_math_mode.cpp: which functions a handle's math mode reaches
void ask_math_modes(Worker& worker);

// questions_compute_type.cpp: what compute types, algorithms and math modes do to the Ex functions
void ask_compute_types(Worker& worker);
void ask_ex_functions(Worker& worker);
void ask_alignment(Worker& worker);
void ask_override(Worker& worker);

// questions_ties.cpp: how operands are rounded
void ask_ties(Worker& worker);

// questions_lt.cpp: cublasLt
void ask_lt_formats(Worker& worker);
void ask_lt_algorithms(Worker& worker);
void ask_lt_alignment(Worker& worker);
void ask_workspace(Worker& worker);
void ask_capability(Worker& worker);

// questions_speed.cpp: bits and times of what should be the same
void ask_shapes(Worker& worker);
void ask_gains(Worker& worker);
// questions_latency.cpp: what a call costs the host
void ask_latency(Worker& worker);
// questions_graph.cpp, questions_threads.cpp: what the shim must not change
void ask_graph(Worker& worker);
void ask_threads(Worker& worker);

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
