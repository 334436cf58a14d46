// cublasLt. Descriptors and layouts describe a product, and an algorithm, which belongs to a compute type, runs
// it. So the search for an algorithm and the product have to be changed alike.
//
// Descriptors are the program's, and may be shared between threads, so the shim changes a copy on its stack.
#pragma once

#include "shim/entry/gate.hpp"
#include "shim/entry/site.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim::cublas {

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
