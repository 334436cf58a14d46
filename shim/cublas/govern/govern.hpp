// The steps of one cuBLAS call: describe, decide and plan, run, record. lt.cpp and lt_search.cpp have the steps of a
// cublasLt call.
#pragma once

#include "shim/entry/gate.hpp"
#include "shim/entry/site.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim::cublas {

/// Fills in `site.cublas` of a new call site. Precondition: the call site's provider is set, and an elf::ReadGuard is
/// held.
void bind_site(Site& site);
/// Returns true if calls from this call site have to pass through govern_call() under these settings.
bool needs_gate(const Site& site, const Settings& in_force);
/// Returns true if the settings may change a float64 product.
bool governs_float64(const Settings& in_force);

/// Plans, runs and records a call. `change_count` is the value of settings_change_count() before `in_force` was read.
CallOutcome govern_call(Site& site, const Frame& frame, const Settings& in_force, std::uint32_t change_count);

// In cublasLt, descriptors and layouts describe a product, and an algorithm runs it. An algorithm belongs to a
// compute type, so the search for an algorithm and the product have to be changed in the same way. Descriptors belong
// to the program and may be shared between threads, so the shim changes a copy on the stack.

/// Handles a call of cublasLtMatmul: describes, decides, plans, runs and records it.
CallOutcome govern_lt_matmul(Site& site, const Frame& frame, const Settings& in_force, std::uint32_t change_count);

/// Returns true if the program may hold algorithms that a search found for another compute type than the program
/// requested.
bool has_changed_searches();

/// Handles cublasLtMatmulAlgoCheck and cublasLtMatmulAlgoCheckForStream. If the algorithm comes from a search whose
/// compute type the shim had changed, checks it with that compute type. Otherwise forwards the call.
CallOutcome govern_lt_algorithm_check(Site& site, const Frame& frame);

/// Handles cublasLtMatmulAlgoGetHeuristic and cublasLtMatmulAlgoGetHeuristicForStream. Searches algorithms for the
/// product in the form in which the shim will run it. The search is not recorded.
CallOutcome govern_lt_algorithm_search(Site& site, const Frame& frame, const Settings& in_force,
                                       std::uint32_t change_count);

}  // namespace fp32shim::cublas
