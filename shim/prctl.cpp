// Handles requests to the kernel that would make the shim's own code kill the program. One request turns every read
// of the processor's time counter, by which the shim measures time, into a fault. Another request enters strict
// seccomp, where nearly every system call kills the thread.
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstdarg>

#include "record/format/clock.hpp"
#include "record/processor.hpp"
#include "shim/blas/emulate/emulate.hpp"
#include "shim/blas/emulate/scratch.hpp"
#include "shim/blas/multiply/multiply.hpp"
#include "shim/loader/next_definition.hpp"
#include "shim/settings/settings.hpp"
#include "system/signal_hold.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim {
namespace {

using Prctl = int(int, unsigned long, unsigned long, unsigned long, unsigned long);
constinit NextFunction<Prctl> real_prctl{"prctl"};

void leave_counter_for_clock() {
    constexpr std::uint64_t without_recording = 1'000'000'000;
    record::Recording* recording = own_recording();
    record::use_kernel_clock(recording == nullptr ? without_recording : recording->ticks_rate());
    settings_changed();  // makes calls leave the short path (express lane) that reads the counter for events
}

/// Takes this thread's scratch memory, because taking it later may kill the process.
void prepare_scratch(std::size_t bytes) {
    const Settings* const in_force = known_settings();
    if (in_force == nullptr || in_force->policy.cpu_mode == policy::CpuMode::off) return;
    blas::ProductScratch scratch{bytes};
    scratch.acquire(bytes);
    scratch.release();
}

/// Prepares for a filter of system calls, which may forbid new threads. The program may set the filter by a system
/// call of its own. But unless the program is privileged, it has to set `no_new_privs` first, usually by prctl.
void prepare_for_filter() {
    constexpr std::size_t enough_for_one_thread = std::size_t{16} << 20;
    record::stop_amx_queries();
    blas::start_no_more_threads();
    prepare_scratch(enough_for_one_thread);
}

/// Prepares everything that later products need, because the program's first product may still follow.
void prepare_for_strict_seccomp() {
    const Settings& before = settings();
    blas::start_no_more_threads();
    record::stop_amx_queries();
    if (before.forward_everything) return system::SignalHold::disable_signal_holding();
    // Products on a GPU need system calls, so only products on a CPU can follow.
    if (shim_computes_products(before.policy)) {
        prepare_scratch(blas::scratch_limit_of_a_product);
        if (before.policy.cpu_mode == policy::CpuMode::accelerate) blas::bf16_units();
        if (before.is_logging())
            system::stderr_line(
                "the program is entering strict seccomp, which allows almost no system calls; from now on its "
                "products "
                "are not recorded");
    } else if (before.is_logging() || before.policy.cpu_mode != policy::CpuMode::off) {
        system::stderr_line(
            "the program is entering strict seccomp, which allows almost no system calls; from now on its products "
            "run as if fp32shim were not loaded, and are not recorded");
    }
    stop_recording();
    system::SignalHold::disable_signal_holding();
}

}  // namespace
}  // namespace fp32shim

extern "C" __attribute__((visibility("default"))) int prctl(int option, ...) noexcept {
    using namespace fp32shim;
    std::va_list arguments;
    va_start(arguments, option);
    const auto a = va_arg(arguments, unsigned long), b = va_arg(arguments, unsigned long),
               c = va_arg(arguments, unsigned long), d = va_arg(arguments, unsigned long);
    va_end(arguments);
    if (option == PR_SET_TSC && a == PR_TSC_SIGSEGV) leave_counter_for_clock();
    if (option == PR_SET_SECCOMP && a == SECCOMP_MODE_STRICT)
        prepare_for_strict_seccomp();
    else if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS)
        prepare_for_filter();
    Prctl* const real = real_prctl.get();
    if (real != nullptr) return real(option, a, b, c, d);
    errno = ENOSYS;
    return -1;
}
