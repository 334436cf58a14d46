// Declares the table of sections. A section is a measurement, which is made by worker processes: one for each variant
// of the section.
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
    /// Text "NAME=value ...", where SHIM means the shim's path and FOLDER the variant's own folder.
    const char* variables;
    /// Precision that a rule in the variant's own policy file gives to products; nullptr if there is no rule. The
    /// rule is for all products, or only for float64 products if no other type has this precision.
    const char* rule = nullptr;
};

/// A measurement and the way to make it.
struct Section {
    const char* name;
    const char* title;
    void (*measure)(Worker& worker);
    std::vector<Variant> variants = {};  // a section without variants is measured once, in the caller's environment;
                                         // a variant may be listed several times, to take turns
    bool faults_are_answers = false;     // if false, a row that fails makes the whole section fail
};

/// Returns all sections. gpu-check measures them in the order of checks/gpu_check.cpp instead.
std::span<const Section> verdict_sections();
/// Returns the section called `name`. Throws std::invalid_argument if there is none.
const Section& section_named(const std::string& name);

inline constexpr std::size_t audited_products = 6;  ///< number of products that measure_audit_errors() compares

// Functions in formats.cpp:
void measure_default_product(Worker& worker);
void measure_lowering_requests(Worker& worker);
void measure_float64_formats(Worker& worker);
// Functions in speed.cpp:
void measure_machine(Worker& worker);
void measure_product_times(Worker& worker);
/// Returns the median time of one call, in milliseconds.
double median_milliseconds(Worker& worker, const CublasFunction& function, const CallArguments& product,
                           cublasMath_t mode);
// Functions in host_time.cpp:
void measure_recording_cost(Worker& worker);
// Functions in graph.cpp:
void measure_captured_products(Worker& worker);
/// Makes a stream that does not wait for other streams, and sets it as the stream of the handle.
CUstream use_own_stream(const Cublas& cublas);
/// Captures the calls that `multiply` makes on `stream` into a graph.
CUgraph capture_graph(const Device& device, CUstream stream, const std::function<void()>& multiply);
/// Replays a graph twice, and waits for the end of the second replay.
void replay_graph_twice(const Device& device, CUgraph graph, CUstream stream);
// Functions in audits.cpp:
void measure_audit_errors(Worker& worker);

}  // namespace gpu
