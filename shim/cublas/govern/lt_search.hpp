// The search of cublasLtMatmulAlgoGetHeuristic and …ForStream for algorithms that a program can choose from.
//
// Some programs store the index of an algorithm in the list instead of the algorithm. XLA does, in compiled programs
// that JAX stores on disk: later it searches again and reads the list at that index, without checking how long the
// list is this time. A changed search therefore returns as many algorithms as the program's own.
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

class Search {
  public:
    Search(const Site& site, const Frame& frame) : site_(site), frame_(frame) {}

    /// Returns true if the search begins from an algorithm in the array of results instead of finding the best one
    /// (CUBLASLT_SEARCH_LIMITED_BY_ALGO_ID and the like).
    bool begins_from_an_algorithm() const;

    /// Runs a search that begins from the algorithm in the array of results, with the compute type of the search that
    /// found that algorithm: the program's own type, or the shim's replacement. Returns the library's status.
    std::int32_t search_from_algorithm(const void* desc, std::int32_t own_compute_type) const;

    /// Searches as the program asked, and remembers the results as found for this compute type.
    std::int32_t search_as_called(const void* desc, std::int32_t compute_type) const;

    /// Fills the array with results for the changed descriptor, as many as a search with the program's own descriptor
    /// would give; if there are fewer, results for the program's descriptor follow. Returns false if the changed one
    /// has no results, or the library refuses; the caller then has to fill the array by search_as_called().
    bool search_changed(const void* own_desc, std::int32_t own_compute_type, const void* changed_desc,
                        std::int32_t compute_type) const;

  private:
    const void* preference() const { return reinterpret_cast<const void*>(frame_.word(heuristic_preference)); }
    std::int32_t wanted() const { return static_cast<std::int32_t>(frame_.word(heuristic_wanted)); }
    HeuristicResult* results() const { return reinterpret_cast<HeuristicResult*>(frame_.word(heuristic_results)); }
    std::int32_t* found() const { return reinterpret_cast<std::int32_t*>(frame_.word(heuristic_found)); }

    std::int32_t ask(const void* desc, std::int32_t wanted, HeuristicResult* results, std::int32_t* found) const;
    void remember(const HeuristicResult* results, std::int32_t count, std::int32_t compute_type) const;

    const Site& site_;
    const Frame& frame_;
};

}  // namespace fp32shim::cublas
