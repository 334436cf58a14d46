// The instruction sets that have loops over floats of their own. The shim chooses the best one once per call; tests
// run all of them.
#pragma once

#include <cstdint>

#include "system/cpu_features.hpp"

namespace fp32shim::blas {

/// `plain`: every processor of the architecture, with NEON on aarch64.
enum class InstructionSet : std::uint8_t { plain, avx2, avx512 };

/// All instruction sets, the best first.
inline constexpr InstructionSet instruction_sets[] = {InstructionSet::avx512, InstructionSet::avx2,
                                                      InstructionSet::plain};

#if defined(__x86_64__)

inline bool has_avx2() { return system::may_use(system::CpuFeature::avx2); }

inline bool has_avx512() { return system::may_use(system::CpuFeature::avx512f); }
inline bool has_fma() { return system::may_use(system::CpuFeature::fma); }

#endif

}  // namespace fp32shim::blas
