// Compiled for AVX-512F (see CMakeLists.txt).
#include "shim/blas/multiply/tile_loops.hpp"

namespace fp32shim::blas {

constinit const LoopsOfInstructionSet avx512_loops{loops<2, 12>, loops<1, 8>, loops_in_place<8>};

}  // namespace fp32shim::blas
