// The table of sections, which are the measurements. Worker processes measure a section, one for each of its
// variants.
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
    const char* variables;       // text "NAME=value ...", in which SHIM means the shim's path and FOLDER means the
                                 // variant's own folder
    const char* rule = nullptr;  // precision of a rule for every product of float32, or of float64 if only that has
                                 // the precision, in a policy file that the variant has for itself
};

/// One table of results, and the way to measure it.
struct Section {
    const char* name;
    const char* title;
    std::vector<const char*> columns;  // if there are several variants, a further first column names the variant
    void (*measure)(Worker& worker);
    std::vector<Variant> variants = {};  // none: measured once, in the caller's environment. A variant may be listed
                                         // several times, to take turns
    bool faults_are_answers = false;     // otherwise a row that fails makes the whole section fail
};

/// Returns the sections in the order of measurement.
std::span<const Section> sections();
/// Returns the section called `name`. Throws std::invalid_argument if there is none.
const Section& section_called(const std::string& name);

/// Returns the format of a product; if it was refused, the name of its cublasStatus_t; "absent" if the library does
/// not have the function.
std::string answer_of(const std::optional<cublasStatus_t>& status, const Measured& measured);

// Each function is defined in the file that its comment names.
void ask_machine(Worker& worker);        // machine.cpp: devices and versions, and a first product
void ask_math_modes(Worker& worker);     // math_mode.cpp: functions that a handle's math mode affects
void ask_compute_types(Worker& worker);  // compute_type.cpp: compute types, algorithms and math modes of Ex functions
void ask_ex_functions(Worker& worker);
void ask_alignment(Worker& worker);
void ask_override(Worker& worker);
void ask_ties(Worker& worker);        // ties.cpp: rounding of operands
void ask_lt_formats(Worker& worker);  // lt.cpp: formats of cublasLt
void ask_lt_algorithms(Worker& worker);
void ask_lt_alignment(Worker& worker);
void ask_workspace(Worker& worker);
void ask_capability(Worker& worker);
void ask_shapes(Worker& worker);  // speed.cpp: bits and times of calls that should be equivalent
void ask_gains(Worker& worker);
void ask_times(Worker& worker);    // times.cpp: times at FP32, at TF32, and at forced TF32
void ask_latency(Worker& worker);  // latency.cpp: costs of several calls on the host
void ask_cost(Worker& worker);     // cost.cpp: costs of one call on the host, by turns in one process
void ask_graph(Worker& worker);    // graph.cpp, threads.cpp: behaviour that the shim must not change
void ask_threads(Worker& worker);
void ask_product(Worker& worker);  // product.cpp: the format of one product, and its bits
void ask_opt_ins(Worker& worker);  // opt_ins.cpp: every way for a program to ask for less than FP32
void ask_float64(Worker& worker);  // float64.cpp: which products of float64 cuBLAS emulates
void ask_audits(Worker& worker);   // audits.cpp: audited errors against those that the host computes

}  // namespace gpu
