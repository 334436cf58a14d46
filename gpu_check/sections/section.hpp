// The table of sections, which are the measurements. Worker processes measure a section, one for each of its
// variants.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gpu_check/products/functions.hpp"
#include "gpu_check/sections/worker.hpp"

namespace gpu {

/// An environment in which a section is measured.
struct Variant {
    const char* name;
    const char* variables;       // text "NAME=value ...", in which SHIM means the shim's path and FOLDER means the
                                 // variant's own folder
    const char* rule = nullptr;  // precision that a rule in the variant's own policy file sets for all products, or
                                 // for those of float64 if no other type has this precision; nullptr: no rule
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
std::span<const Section> verdict_sections();
/// Returns the section called `name`. Throws std::invalid_argument if there is none.
const Section& section_named(const std::string& name);

inline constexpr std::size_t audited_products = 6;  ///< number of products that measure_audit_errors() compares

// formats.cpp
void measure_default_product(Worker& worker);
void measure_lowering_requests(Worker& worker);
void measure_float64_formats(Worker& worker);
// speed.cpp
void measure_machine(Worker& worker);
void measure_product_times(Worker& worker);
/// Returns the median time of one call, in milliseconds.
double median_milliseconds(Worker& worker, const CublasFunction& function, const CallArguments& product,
                           cublasMath_t mode);
// host_time.cpp
void measure_recording_cost(Worker& worker);
// graph.cpp
/// Measures products that are captured into a graph, whose behaviour the shim must not change.
void measure_captured_products(Worker& worker);
/// Makes a stream that does not wait for others, and sets it as the handle's stream.
CUstream use_own_stream(const Cublas& cublas);
/// Captures the calls that `multiply` makes.
CUgraph capture_graph(const Device& device, CUstream stream, const std::function<void()>& multiply);
/// Plays a graph twice, and waits for the end.
void replay_graph_twice(const Device& device, CUgraph graph, CUstream stream);
// audits.cpp
void measure_audit_errors(Worker& worker);

}  // namespace gpu
