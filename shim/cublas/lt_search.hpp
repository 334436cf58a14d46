// cublasLtMatmulAlgoGetHeuristic and …ForStream: which algorithms a program gets to choose from.
//
// Programs keep the place of an algorithm in the list instead of the algorithm. XLA does, in what it compiles, which
// JAX keeps on disk: later it searches again and looks at that place, without asking how long the list is this time.
// So the list has the length that it has without us.
#pragma once

#include "shim/cublas/library.hpp"
#include "shim/gate.hpp"

namespace fp32shim::cublas {

/// The arguments of the search, by place.
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

/// A search as the program asked for it.
class Search {
  public:
    Search(const Site& site, const Frame& frame) : site_(site), frame_(frame) {}

    /// Whether the library is told to begin from an algorithm in the array of results, instead of to find the best.
    bool begins_from_an_algorithm() const;

    /// Such a search, for the compute type that this algorithm was made for: the program's own, but where it is one
    /// that a changed search gave it.
    std::int32_t from_algorithm(const void* desc, std::int32_t own_compute_type) const;

    /// As the program asked. What is found is remembered as for this compute type.
    std::int32_t as_asked(const void* desc, std::int32_t compute_type) const;

    /// For the changed product, with as many results as the program's own search has: what the changed one lacks is
    /// filled up with the best of the other. False: nothing of that kind was found, or nothing can be said.
    bool changed(const void* own_desc, std::int32_t own_compute_type, const void* changed_desc,
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
