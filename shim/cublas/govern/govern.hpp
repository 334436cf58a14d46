// The steps of one cuBLAS call: describe, decide and plan, run, record. Those of cublasLt are in lt.cpp and
// lt_search.cpp.
#pragma once

#include "shim/entry/gate.hpp"
#include "shim/entry/site.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim::cublas {

/// Fills in `site.cublas` of a new call site. Precondition: its provider is set, and an elf::Reading is held.
void bind(Site& site);
bool needs_gate(const Site& site, const Settings& in_force);

/// Plans, runs and records a call. `change_count`: settings_change_count() from before `in_force` was read.
CallOutcome govern(Site& site, const Frame& frame, const Settings& in_force, std::uint32_t change_count);

// cublasLt. Descriptors and layouts describe a product, and an algorithm, which belongs to a compute type, runs it.
// So the search for an algorithm and the product have to be changed alike. Descriptors are the program's, and may be
// shared between threads: a copy on the stack is changed.

/// Handles a call of cublasLtMatmul: describes, decides, plans, runs and records it.
CallOutcome govern_lt_matmul(Site& site, const Frame& frame, const Settings& in_force);

/// Returns true if the program may hold algorithms that were found for another compute type than it asked for.
bool has_changed_searches();

/// Handles cublasLtMatmulAlgoCheck and …ForStream. If the algorithm was found by a search whose compute type the shim
/// had changed, checks it with that compute type; else forwards the call.
CallOutcome govern_lt_check(Site& site, const Frame& frame);

/// Handles cublasLtMatmulAlgoGetHeuristic and …ForStream: searches as the shim will run the product. Not recorded.
CallOutcome govern_lt_heuristic(Site& site, const Frame& frame, const Settings& in_force);

}  // namespace fp32shim::cublas
