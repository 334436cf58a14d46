// Asks the processor if the upper halves of vector registers are in use. While they are, each SSE instruction may
// have to preserve them, which makes code without AVX slower. vzeroupper ends that state.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>

static inline int upper_halves_in_use(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return (low & (1U << 2 | 1U << 6)) != 0;  // bits for the upper halves of ymm and of zmm registers
}

static inline void clear_upper_halves(void) { __asm__ volatile("vzeroupper"); }

/// Returns true if this processor can tell, even for registers that were completely overwritten with zeros.
static inline int upper_halves_can_be_seen(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_AVX)) return 0;
    if (!__get_cpuid_count(13, 1, &a, &b, &c, &d) || !(a & 4)) return 0;
    static const char zeros[32];
    clear_upper_halves();
    const int before = upper_halves_in_use();
    __asm__ volatile("vmovups (%0), %%ymm0" : : "r"(zeros) : "xmm0", "memory");
    const int during = upper_halves_in_use();
    clear_upper_halves();
    return !before && during && !upper_halves_in_use();
}
#else
static inline int upper_halves_in_use(void) { return 0; }
static inline void clear_upper_halves(void) {}
static inline int upper_halves_can_be_seen(void) { return 0; }
#endif
