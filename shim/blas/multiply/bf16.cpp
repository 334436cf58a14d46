#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "shim/blas/multiply/multiply.hpp"

namespace fp32shim::blas {
namespace {

#if defined(__x86_64__)

bool kernel_grants_amx() {
    constexpr long request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM of asm/prctl.h, since Linux 5.16
    constexpr long tile_data = 18;               // component of the processor's state
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

Bf16Units find_units() {
    __builtin_cpu_init();
    if (!has_avx512() || !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512bf16"))
        return Bf16Units::none;
    if (__builtin_cpu_supports("amx-bf16") && kernel_grants_amx()) return Bf16Units::amx;
    return Bf16Units::avx512;
}

#else

Bf16Units find_units() { return Bf16Units::none; }

#endif

}  // namespace

Bf16Units bf16_units() {
    constinit static std::atomic<int> known{-1};
    int units = known.load(std::memory_order_relaxed);
    if (units < 0) {
        units = static_cast<int>(find_units());
        known.store(units, std::memory_order_relaxed);
    }
    return static_cast<Bf16Units>(units);
}

}  // namespace fp32shim::blas
