// The instruction sets that have loops over floats of their own. The shim chooses the best one once per call; tests
// run all of them.
#pragma once

#include <cstdint>

namespace fp32shim::blas {

enum class InstructionSet : std::uint8_t { plain, avx2, avx512, neon };

/// All instruction sets, the best of each architecture first.
inline constexpr InstructionSet instruction_sets[] = {InstructionSet::avx512, InstructionSet::avx2,
                                                      InstructionSet::neon, InstructionSet::plain};

#if defined(__x86_64__)

inline bool has_avx2() {
    __builtin_cpu_init();  // BLAS may be called before libgcc's constructor has run
    return __builtin_cpu_supports("avx2") != 0;
}

inline bool has_avx512() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") != 0;
}

#endif

}  // namespace fp32shim::blas
