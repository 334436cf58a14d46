// What is measured: a table of sections. A section is measured by worker processes, one for each of its variants.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu_check/products/problem.hpp"
#include "gpu_check/sections/worker.hpp"

namespace gpu {

/// An environment in which a section is measured.
struct Variant {
    const char* name;
    const char*
        variables;  // "NAME=value ..."; SHIM stands for the shim's path, FOLDER for a folder of this variant's
    const char* rule = nullptr;  // precision of a rule for every product, in a policy of this variant's
};

/// One table, and how it is measured.
struct Section {
    const char* name;
    const char* title;
    std::vector<const char*> columns;  // with several variants a first one names the variant
    void (*measure)(Worker& worker);
    std::vector<Variant> variants = {};  // none: once, as called. One may stand there several times: it takes turns
    bool faults_are_answers = false;     // else a row that failed is a failure of the whole
};

/// Returns the sections, in the order in which they are asked.
std::span<const Section> sections();
/// Throws std::invalid_argument where there is none of this name.
const Section& section_called(const std::string& name);

/// The format of a product, or how it was refused: a cublasStatus_t's name, or "absent" from this library.
std::string answer_of(const std::optional<cublasStatus_t>& status, const Measured& measured);

// Each is in the file of its name.
void ask_machine(Worker& worker);        // machine.cpp: what there is, and that a product runs
void ask_math_modes(Worker& worker);     // math_mode.cpp: which functions a handle's math mode reaches
void ask_compute_types(Worker& worker);  // compute_type.cpp: compute types, algorithms and math modes of Ex functions
void ask_ex_functions(Worker& worker);
void ask_alignment(Worker& worker);
void ask_override(Worker& worker);
void ask_ties(Worker& worker);        // ties.cpp: how operands are rounded
void ask_lt_formats(Worker& worker);  // lt.cpp: cublasLt
void ask_lt_algorithms(Worker& worker);
void ask_lt_alignment(Worker& worker);
void ask_workspace(Worker& worker);
void ask_capability(Worker& worker);
void ask_shapes(Worker& worker);  // speed.cpp: bits and times of what should be the same
void ask_gains(Worker& worker);
void ask_times(Worker& worker);    // times.cpp: FP32, TF32 and forced TF32
void ask_latency(Worker& worker);  // latency.cpp: what a call costs the host
void ask_cost(Worker& worker);
void ask_graph(Worker& worker);  // graph.cpp, threads.cpp: what the shim must not change
void ask_threads(Worker& worker);
void ask_product(Worker& worker);  // product.cpp: the format of one product, and its bits
void ask_opt_ins(Worker& worker);  // opt_ins.cpp: every way for a program to ask for less than FP32
void ask_audits(Worker& worker);   // audits.cpp: audited errors against those that the host computes

}  // namespace gpu
