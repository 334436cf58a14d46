// Compiled for AVX2 and FMA (see CMakeLists.txt).
#include "shim/blas/multiply/tile_loops.hpp"

namespace fp32shim::blas {

constinit const LoopsOfInstructionSet avx2_loops{loops<2, 6>, loops<1, 8>, loops_in_place<8>};

}  // namespace fp32shim::blas
