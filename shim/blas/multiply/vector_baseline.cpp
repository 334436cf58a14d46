// Compiled for every processor of the architecture.
#include "shim/blas/multiply/vector_sum_loops.hpp"

namespace fp32shim::blas {

constinit const LoopsOverVectors baseline_vector_loops = all_loops_over_vectors;

}  // namespace fp32shim::blas
