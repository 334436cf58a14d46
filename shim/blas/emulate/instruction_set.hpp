// The instruction sets for which loops over floats are compiled separately. The shim chooses the best one once per
// call; tests run all of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "system/cpu_features.hpp"

namespace fp32shim::blas {

/// `plain` stands for every processor of the architecture, with NEON on aarch64. `avx2` and `avx512` include FMA.
enum class InstructionSet : std::uint8_t { plain, avx2, avx512 };

/// All instruction sets, the best first.
inline constexpr InstructionSet instruction_sets[] = {InstructionSet::avx512, InstructionSet::avx2,
                                                      InstructionSet::plain};

/// Returns true if this processor has the instructions of `set`.
inline bool is_available(InstructionSet set) {
#if defined(__x86_64__)
    using system::CpuFeature;
    if (set != InstructionSet::plain)
        return system::may_use(CpuFeature::fma) &&
               system::may_use(set == InstructionSet::avx512 ? CpuFeature::avx512f : CpuFeature::avx2);
#endif
    return set == InstructionSet::plain;
}

inline InstructionSet best_instruction_set() { return *std::ranges::find_if(instruction_sets, is_available); }

}  // namespace fp32shim::blas
