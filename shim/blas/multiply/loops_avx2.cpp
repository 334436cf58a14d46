// The loops for AVX2 and FMA. CMakeLists.txt sets the compiler's options for this file.
#include "shim/blas/multiply/tile_loops.hpp"
#include "shim/blas/multiply/vector_sum_loops.hpp"

namespace fp32shim::blas {

constinit const LoopsOfInstructionSet avx2_loops = all_loops<2, 6, 1, 8, 8>;

}  // namespace fp32shim::blas
