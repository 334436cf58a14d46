// The loops for AVX-512F. CMakeLists.txt sets the compiler's options for this file.
#include "shim/blas/multiply/tile_loops.hpp"
#include "shim/blas/multiply/vector_sum_loops.hpp"

namespace fp32shim::blas {

constinit const LoopsOfInstructionSet avx512_loops = all_loops<2, 12, 1, 8, 8>;

}  // namespace fp32shim::blas
