// Compiled for AVX2 and FMA (see CMakeLists.txt).
#include "shim/blas/multiply/tile_loops.hpp"
#include "shim/blas/multiply/vector_sum_loops.hpp"

namespace fp32shim::blas {

constinit const LoopsOfInstructionSet avx2_loops = all_loops<2, 6, 1, 8, 8>;

}  // namespace fp32shim::blas
