// Compiled for AVX-512F (see CMakeLists.txt).
#include "shim/blas/multiply/vector_sum_loops.hpp"

namespace fp32shim::blas {

constinit const LoopsOverVectors avx512_vector_loops = all_loops_over_vectors;

}  // namespace fp32shim::blas
