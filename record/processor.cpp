#include "record/processor.hpp"

#include <sys/auxv.h>

#include <atomic>
#include <span>
#include <string_view>

#include "system/cpu_features.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::record {
namespace {

/// A feature of a processor. The index of a feature in its array is the number of its bit in the word of
/// processor_feature_word(). New features go to the end of an array; the word has space for 12.
struct ProcessorFeature {
    std::string_view name;
    unsigned long source;  ///< type of the entry in the auxiliary vector that has the feature's bit; not used on
                           ///< x86-64
    std::uint64_t mask;    ///< mask of the feature's bit in the entry; on x86-64, the bits of a system::CpuFeature
};
constexpr ProcessorFeature x86_64_features[] = {
    {"avx512bw", 0, feature_bits(system::CpuFeature::avx512bw)},
    {"avx512_bf16", 0, feature_bits(system::CpuFeature::avx512_bf16)},
    {"avx512_fp16", 0, feature_bits(system::CpuFeature::avx512_fp16)},
    {"avx10_2", 0, feature_bits(system::CpuFeature::avx10_2)},
    {"avx_ne_convert", 0, feature_bits(system::CpuFeature::avx_ne_convert)},
    {"amx_bf16", 0, feature_bits(system::CpuFeature::amx_bf16)},
    {"amx_fp16", 0, feature_bits(system::CpuFeature::amx_fp16)},
    {"amx_tf32", 0, feature_bits(system::CpuFeature::amx_tf32)}};
/// The bits are documented in Linux, Documentation/arch/arm64/elf_hwcaps.rst and arch/arm64/include/uapi/asm/hwcap.h.
constexpr ProcessorFeature aarch64_features[] = {
    {"asimdhp", AT_HWCAP, 1U << 10},     {"asimdfhm", AT_HWCAP, 1U << 23},   {"bf16", AT_HWCAP2, 1U << 14},
    {"i8mm", AT_HWCAP2, 1U << 13},       {"svebf16", AT_HWCAP2, 1U << 12},   {"sveb16b16", AT_HWCAP2, 1UL << 45},
    {"sme", AT_HWCAP2, 1U << 23},        {"smef16f32", AT_HWCAP2, 1U << 27}, {"smeb16f32", AT_HWCAP2, 1U << 28},
    {"smef16f16", AT_HWCAP2, 1UL << 42}, {"smeb16b16", AT_HWCAP2, 1UL << 41}};
static_assert(x86_64_features[0].name == "avx512bw" && x86_64_features[4].name == "avx_ne_convert");

constinit std::atomic<bool> may_ask{true};

}  // namespace

std::uint16_t processor_feature_word() {
#if defined(__x86_64__)
    constexpr std::span<const ProcessorFeature> features = x86_64_features;
    std::uint16_t word = processor_is_x86_64;
    const auto has = [](const ProcessorFeature& feature) {
        return system::processor_has(static_cast<system::CpuFeature>(feature.mask));
    };
#else
    constexpr std::span<const ProcessorFeature> features = aarch64_features;
    std::uint16_t word = processor_is_aarch64;
    const auto has = [](const ProcessorFeature& feature) { return (getauxval(feature.source) & feature.mask) != 0; };
#endif
    for (std::size_t i = 0; i < features.size(); ++i)
        if (has(features[i])) word |= static_cast<std::uint16_t>(1U << i);
    return word;
}

std::uint16_t query_amx_permission() {
#if defined(__x86_64__)
    using system::CpuFeature;
    const bool has_amx = system::processor_has(CpuFeature::amx_bf16) || system::processor_has(CpuFeature::amx_fp16) ||
                         system::processor_has(CpuFeature::amx_tf32);
    if (!has_amx || !may_ask.load(std::memory_order_relaxed)) return 0;
    constexpr int get_permitted_state = 0x1022;  // ARCH_GET_XCOMP_PERM
    constexpr int tile_data = 18;
    std::uint64_t permitted = 0;
    if (system::raw::syscall6(SYS_arch_prctl, get_permitted_state, &permitted) != 0) return 0;
    return (permitted >> tile_data & 1) != 0 ? amx_was_asked | amx_is_permitted : amx_was_asked;
#else
    return 0;
#endif
}

void stop_amx_queries() { may_ask.store(false, std::memory_order_relaxed); }

std::string feature_names(std::uint16_t word) {
    std::span<const ProcessorFeature> features;
    if ((word & processor_is_x86_64) != 0) features = x86_64_features;
    if ((word & processor_is_aarch64) != 0) features = aarch64_features;
    if (features.empty()) return {};
    std::string names;
    for (std::size_t i = 0; i < features.size(); ++i)
        if ((word >> i & 1) != 0) names.append(names.empty() ? "" : " ").append(features[i].name);
    return names.empty() ? "none" : names;
}

}  // namespace fp32shim::record
