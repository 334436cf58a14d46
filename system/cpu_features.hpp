// Detects the instruction sets of this x86-64 processor, and tells which of them the project's own code may use. This
// file does not use __builtin_cpu_supports: the packages are compiled with zig, which links a table for this builtin
// that nobody fills, so that the builtin always returns false.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <atomic>
#include <cstdint>

namespace fp32shim::system {

/// An instruction set. The processor counts as having it only if the kernel also saves the registers that it uses.
/// Each value is one bit.
enum class CpuFeature : std::uint32_t {
    avx = 1U << 0,
    avx2 = 1U << 1,
    fma = 1U << 2,
    avx512f = 1U << 3,
    avx512bw = 1U << 4,
    avx512_bf16 = 1U << 5,
    amx_bf16 = 1U << 6,  ///< also needs the kernel's permission, like all of AMX
    amx_fp16 = 1U << 7,
    amx_tf32 = 1U << 8,
    avx512_fp16 = 1U << 9,
    avx_ne_convert = 1U << 10,
    avx10_2 = 1U << 11,  ///< AVX10 of version 2 or newer
};

constexpr std::uint32_t feature_bits(auto... features) { return (0U | ... | static_cast<std::uint32_t>(features)); }

/// A word that FP32_MATMUL_INSTRUCTIONS may hold, and the bits of the features that the word allows.
struct InstructionLevel {
    const char* word;
    std::uint32_t features;
};
inline constexpr InstructionLevel instruction_levels[] = {
    {"sse2", 0}, {"avx2", feature_bits(CpuFeature::avx, CpuFeature::avx2, CpuFeature::fma)}};

/// The level that the environment named when this code was loaded, or nullptr if it named none and every feature may
/// be used.
extern std::atomic<const InstructionLevel*> chosen_level;

#if defined(__x86_64__)

/// Returns the bits of all features that this processor has. Sources: Intel SDM volume 2, CPUID and XGETBV; volume 1,
/// chapter 13; for amx_tf32 and avx10_2, Intel's Architecture Instruction Set Extensions Programming Reference.
inline std::uint32_t detect_cpu_features() {
    struct Registers {
        unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    };
    const auto leaf = [](unsigned number, unsigned sub) {
        Registers r;
        if (__get_cpuid_count(number, sub, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) r = {};
        return r;
    };
    const Registers basic = leaf(1, 0);
    const Registers extended = leaf(7, 0);
    const Registers more = extended.eax >= 1 ? leaf(7, 1) : Registers{};
    const auto bit = [](unsigned word, int number) { return (word >> number & 1) != 0; };
    std::uint32_t saved_state = 0;  // one bit for each set of registers that the kernel saves
    if (bit(basic.ecx, 27)) {
        std::uint32_t high = 0;
        __asm__ volatile("xgetbv" : "=a"(saved_state), "=d"(high) : "c"(0));
    }
    constexpr std::uint32_t ymm = 0x6;
    constexpr std::uint32_t zmm = 0xe6;
    constexpr std::uint32_t tiles = 0x60000;
    const bool has_ymm = (saved_state & ymm) == ymm;
    const bool has_zmm = (saved_state & zmm) == zmm;
    std::uint32_t found = 0;
    const auto add = [&found](CpuFeature feature, bool is_there) {
        if (is_there) found |= feature_bits(feature);
    };
    add(CpuFeature::avx, has_ymm && bit(basic.ecx, 28));
    add(CpuFeature::fma, has_ymm && bit(basic.ecx, 12));
    add(CpuFeature::avx2, has_ymm && bit(extended.ebx, 5));
    add(CpuFeature::avx512f, has_zmm && bit(extended.ebx, 16));
    add(CpuFeature::avx512bw, has_zmm && bit(extended.ebx, 30));
    add(CpuFeature::avx512_bf16, has_zmm && bit(more.eax, 5));
    const bool has_tiles = (saved_state & tiles) == tiles && bit(extended.edx, 24);
    add(CpuFeature::amx_bf16, has_tiles && bit(extended.edx, 22));
    add(CpuFeature::amx_fp16, has_tiles && bit(more.eax, 21));
    add(CpuFeature::amx_tf32, has_tiles && leaf(0x1e, 0).eax >= 1 && bit(leaf(0x1e, 1).eax, 6));
    add(CpuFeature::avx512_fp16, has_zmm && bit(extended.edx, 23));
    add(CpuFeature::avx_ne_convert, has_ymm && bit(more.edx, 5));
    add(CpuFeature::avx10_2, has_zmm && bit(more.edx, 19) && (leaf(0x24, 0).ebx & 0xff) >= 2);
    return found;
}

/// Returns true if this processor has `feature`. Detects all features only once, because CPUID is slow in virtual
/// machines. Thread-safe.
inline bool processor_has(CpuFeature feature) {
    constexpr std::uint32_t is_known = 1U << 31;
    constinit static std::atomic<std::uint32_t> known{0};
    std::uint32_t features = known.load(std::memory_order_relaxed);
    if (features == 0) {
        features = detect_cpu_features() | is_known;
        known.store(features, std::memory_order_relaxed);
    }
    return (features & feature_bits(feature)) != 0;
}

/// Returns true if the project's own code may use `feature`: the processor has it, and FP32_MATMUL_INSTRUCTIONS does
/// not forbid it. Thread-safe.
inline bool may_use(CpuFeature feature) {
    const InstructionLevel* const level = chosen_level.load(std::memory_order_relaxed);
    return (level == nullptr || (level->features & feature_bits(feature)) != 0) && processor_has(feature);
}

#endif

}  // namespace fp32shim::system
