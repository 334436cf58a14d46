// The search for algorithms by cublasLtMatmulAlgoGetHeuristic and cublasLtMatmulAlgoGetHeuristicForStream, whose
// results a program can choose from.
//
// Some programs store an algorithm's index in the list of results instead of the algorithm. XLA does so in compiled
// programs that JAX stores on disk: later it searches again and reads the list at that index, without checking how
// long the new list is. So a changed search returns as many algorithms as the program's own search would.
#pragma once

#include "shim/cublas/library.hpp"
#include "shim/entry/frame.hpp"
#include "shim/entry/site.hpp"

namespace fp32shim::cublas {

/// Indices, from 0, of the arguments of cublasLtMatmulAlgoGetHeuristic.
enum HeuristicArgument {
    heuristic_a_layout = 2,
    heuristic_b_layout = 3,
    heuristic_c_layout = 4,
    heuristic_d_layout = 5,
    heuristic_preference = 6,
    heuristic_wanted = 7,
    heuristic_results = 8,
    heuristic_found = 9,
};

class AlgorithmSearch {
  public:
    AlgorithmSearch(const Site& site, const Frame& frame) : site_(site), frame_(frame) {}

    /// Returns true if the search begins from an algorithm in the array of results
    /// (CUBLASLT_SEARCH_LIMITED_BY_ALGO_ID and similar modes), and false if it looks for the best algorithm.
    bool begins_from_an_algorithm() const;

    /// Runs a search that begins from the algorithm in the array of results. Uses the compute type for which that
    /// algorithm was found, which is the program's own type or the shim's replacement. Returns the library's status.
    std::int32_t search_from_algorithm(const void* desc, std::int32_t own_compute_type) const;

    /// Searches as the program asked. Remembers that the results were found for `compute_type`.
    std::int32_t search_as_called(const void* desc, std::int32_t compute_type) const;

    /// A descriptor, and the compute type in it.
    struct TypedDescriptor {
        const void* desc;
        std::int32_t compute_type;
    };
    /// Fills the array with as many results as the program's own search (`own`) would give. First come results for
    /// the descriptor `changed` that are within the limits. If they are too few, results of the program's own search
    /// follow. Returns false if no result is within the limits, or if the library refuses. The caller then has to
    /// call search_as_called().
    bool search_changed(const TypedDescriptor& own, const TypedDescriptor& changed,
                        const policy::AlgorithmLimits& limits) const;

  private:
    const void* preference() const { return reinterpret_cast<const void*>(frame_.word(heuristic_preference)); }
    std::int32_t max_results() const { return static_cast<std::int32_t>(frame_.word(heuristic_wanted)); }
    HeuristicResult* results() const { return reinterpret_cast<HeuristicResult*>(frame_.word(heuristic_results)); }
    std::int32_t* found_count() const { return reinterpret_cast<std::int32_t*>(frame_.word(heuristic_found)); }

    std::int32_t run_search(const void* desc, const void* preference, std::int32_t wanted, HeuristicResult* results,
                            std::int32_t* found) const;
    void remember_results(const HeuristicResult* results, std::int32_t count, std::int32_t compute_type) const;

    const Site& site_;
    const Frame& frame_;
};

}  // namespace fp32shim::cublas
