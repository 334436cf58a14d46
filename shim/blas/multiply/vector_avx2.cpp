// Compiled for AVX2 and FMA (see CMakeLists.txt).
#include "shim/blas/multiply/vector_sum_loops.hpp"

namespace fp32shim::blas {

constinit const LoopsOverVectors avx2_vector_loops = all_loops_over_vectors;

}  // namespace fp32shim::blas
