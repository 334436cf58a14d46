// Instruction sets of this x86-64 processor, and those that this project's own code may use. This does
// not use __builtin_cpu_supports, for which the compiler of the packages (zig) links a table that nobody fills, so
// that it says no to everything.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <atomic>
#include <cstdint>

namespace fp32shim::system {

/// A set of instructions that the processor has, and whose registers the kernel keeps. Values are bits.
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

/// A word of FP32_MATMUL_INSTRUCTIONS, and the features that it leaves in use where the processor has them.
struct InstructionLevel {
    const char* word;
    std::uint32_t features;
};
inline constexpr InstructionLevel instruction_levels[] = {
    {"sse2", 0}, {"avx2", feature_bits(CpuFeature::avx, CpuFeature::avx2, CpuFeature::fma)}};

/// The level that the environment named when this code was loaded; nullptr: none, so every feature is in use.
extern std::atomic<const InstructionLevel*> chosen_level;

#if defined(__x86_64__)

/// Returns the bits of all features that are there. Source: Intel SDM volume 2, CPUID and XGETBV; volume 1,
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
    std::uint32_t saved_state = 0;  // components of the state that the kernel saves
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

/// Returns true if this processor has a feature. Asks it once, since that is slow in virtual machines. Thread-safe.
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

/// Returns true if own code may use a feature: the processor has it, and FP32_MATMUL_INSTRUCTIONS leaves it.
/// Thread-safe.
inline bool may_use(CpuFeature feature) {
    const InstructionLevel* const level = chosen_level.load(std::memory_order_relaxed);
    return (level == nullptr || (level->features & feature_bits(feature)) != 0) && processor_has(feature);
}

#endif

}  // namespace fp32shim::system
