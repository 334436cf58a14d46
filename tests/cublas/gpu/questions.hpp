// The open questions about cuBLAS that no manual answers, each asked by running products and looking at the results.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libraries.hpp"
#include "problem.hpp"
#include "report.hpp"

namespace gpu {

struct Session {
    const Device& device;
    const Cublas& cublas;
    std::vector<int> sizes;  // ascending. Small and large: libraries choose their kernels by size
    std::map<std::string, std::string> measurements;  // "mode_ssymm_tf32" -> "tf32": what rows() concludes from
};

/// Runs this program once more, in a process of its own: `--probe NAME` under these variables ("NAME=value ..."). Its
/// standard output; an answer that begins with "ended with status" where it did not end well.
std::string in_a_child(const Session& session, const std::string& probe, const std::string& variables = "");

/// The format of a product, or how it was refused: a cublasStatus_t's name, or "absent" from this library.
std::string answer_of(const std::optional<cublasStatus_t>& status, const Measured& measured);
/// The lower of two formats; a refusal is lower than none.
std::string lower_format(const std::string& left, const std::string& right);

// questions_math_mode.cpp: which functions a handle's math mode reaches
void ask_math_modes(Session& session);

// questions_compute_type.cpp: what compute types, algorithms and math modes do to the Ex functions
void ask_compute_types(Session& session);
void ask_ex_functions(Session& session);
void ask_alignment(Session& session);
void ask_override(Session& session);
std::string probe_alignment(Session& session, bool batched, cublasComputeType_t compute_type, int offset);
std::string probe_override(Session& session);

// questions_ties.cpp: how operands are rounded
void ask_ties(Session& session);

// questions_lt.cpp: cublasLt
void ask_lt(Session& session);
std::string probe_lt_algorithm(Session& session, cublasComputeType_t found_for, cublasComputeType_t used_with);
std::string probe_lt_misaligned(Session& session);
std::string lt_format(Session& session, cublasComputeType_t compute_type);

// rows.cpp: the answers to rows of tests/cublas/stand_in/semantics.def
struct Answer {
    std::string row;
    std::string answer;  // "?" where this device cannot tell
    std::string because;
};
std::vector<Answer> answered_rows(const Session& session);

}  // namespace gpu
