#include "system/this_process.hpp"

#include <sys/mman.h>

#include <atomic>

#include "system/raw_syscall.hpp"

namespace fp32shim::system {

namespace {

#if defined(__aarch64__)
constexpr std::size_t largest_page = 1 << 16;
#else
constexpr std::size_t largest_page = 1 << 12;
#endif

/// A page in the library's data, which exists even if the program may map no more memory.
struct alignas(largest_page) Page {
    std::atomic<std::uint32_t> process;
};
constinit Page page{};
constinit std::atomic<bool> is_emptied_by_fork{false};

// The number that fork_generation() most recently assigned, in this process or in one of its ancestors. Fork copies
// this variable, so the next number is greater than every number that a forked child finds in its memory.
constinit std::atomic<std::uint32_t> last_process{0};
constinit std::atomic<std::int32_t> first_pid{0};

// Asks the kernel to zero `page` in forked children, and returns true if the kernel agreed now or earlier. After the
// first success, madvise is not called again: children inherit the setting, and a sandbox that the process enters
// later may forbid the call.
bool page_emptied_by_fork() {
    if (is_emptied_by_fork.load(std::memory_order_acquire)) return true;
    if (raw::syscall6(SYS_madvise, &page, sizeof page, MADV_WIPEONFORK) < 0) return false;
    is_emptied_by_fork.store(true, std::memory_order_release);
    return true;
}

std::uint32_t begin_process() {
    if (!page_emptied_by_fork()) return static_cast<std::uint32_t>(raw::getpid());
    const std::uint32_t fresh = last_process.fetch_add(1, std::memory_order_relaxed) + 1;
    std::uint32_t known = 0;
    return page.process.compare_exchange_strong(known, fresh, std::memory_order_acq_rel) ? fresh : known;
}

__attribute__((constructor)) void remember_first_process() {
    if (fork_generation() != 1) first_pid.store(raw::getpid(), std::memory_order_relaxed);
}

}  // namespace

std::uint32_t fork_generation() {
    const std::uint32_t known = page.process.load(std::memory_order_acquire);
    return known != 0 ? known : begin_process();
}

bool can_detect_forks() { return page_emptied_by_fork(); }

bool is_forked_child() {
    if (page_emptied_by_fork()) return fork_generation() != 1;
    return raw::getpid() != first_pid.load(std::memory_order_relaxed);
}

}  // namespace fp32shim::system
