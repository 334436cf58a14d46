// The table of sections, which are the measurements. Worker processes measure a section, one for each of its
// variants.
#pragma once

#include <span>
#include <string>
#include <vector>

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
    void (*measure)(Worker& worker);
    std::vector<Variant> variants = {};  // none: measured once, in the caller's environment. A variant may be listed
                                         // several times, to take turns
    bool faults_are_answers = false;     // otherwise a row that fails makes the whole section fail
};

/// Returns the sections in the order of measurement.
std::span<const Section> sections();
/// Returns the section called `name`. Throws std::invalid_argument if there is none.
const Section& section_called(const std::string& name);

inline constexpr std::size_t audited_products = 6;  ///< number of products that measure_audits() compares

// machine.cpp
void measure_machine(Worker& worker);
// formats.cpp
void measure_product(Worker& worker);
void measure_opt_ins(Worker& worker);
void measure_float64(Worker& worker);
void measure_functions(Worker& worker);
void measure_alignment(Worker& worker);
void measure_ties(Worker& worker);
// half_sums.cpp
void measure_half_sums(Worker& worker);
// lt.cpp
void measure_lt_formats(Worker& worker);
void measure_lt_algorithms(Worker& worker);
void measure_workspace(Worker& worker);
void measure_capability(Worker& worker);
// speed.cpp
void measure_equivalent_calls(Worker& worker);
void measure_gains(Worker& worker);
void measure_times(Worker& worker);
// host_time.cpp
void measure_cost(Worker& worker);
// graph.cpp, threads.cpp: behaviour that the shim must not change
void measure_graph(Worker& worker);
void measure_threads(Worker& worker);
// audits.cpp
void measure_audits(Worker& worker);

}  // namespace gpu
