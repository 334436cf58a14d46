#include "record/write/lost_pages.hpp"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>

#include "record/format/format.hpp"
#include "record/write/file.hpp"
#include "record/write/memory.hpp"
#include "system/fork_safe_lock.hpp"
#include "system/raw_syscall.hpp"
#include "system/this_process.hpp"

namespace fp32shim::record {

namespace {

namespace raw = system::raw;

/// A note about one mapped segment. Notes are never freed. A note whose `pages` are 0 is unused, and can be used for
/// another segment.
struct GuardedSegment {
    std::atomic<std::uintptr_t> pages;
    std::atomic<RecordingFile*> file;
    std::atomic<PagesInChild> in_child;
    std::atomic<bool> is_replaced;
    GuardedSegment* next;
};

// The list of the notes, and the process that made them. Forked children do not inherit the memory of the notes.
constinit std::atomic<GuardedSegment*> first{nullptr};
constinit std::atomic<std::uint32_t> owner{0};
constinit PrivateArena arena;
constinit system::ForkSafeLock lock;
// Address of the mapped header, which forked children inherit. A child needs the address until it has a note about
// its own header.
constinit std::atomic<std::uintptr_t> kept_pages{0};

GuardedSegment* first_of_this_process() {
    return owner.load(std::memory_order_acquire) == system::fork_generation() ? first.load(std::memory_order_acquire)
                                                                              : nullptr;
}

/// Returns the note about the segment that contains `address`, or nullptr if there is none.
GuardedSegment* find_guarded_segment(std::uintptr_t address) {
    for (GuardedSegment* note = first_of_this_process(); note != nullptr; note = note->next) {
        const std::uintptr_t pages = note->pages.load(std::memory_order_acquire);
        if (pages != 0 && address - pages < format::segment_size) return note;
    }
    return nullptr;
}

/// Returns an unused note, or nullptr if there is no memory for one. Precondition: `lock` is held.
GuardedSegment* unused_note() {
    for (GuardedSegment* note = first_of_this_process(); note != nullptr; note = note->next)
        if (note->pages.load(std::memory_order_relaxed) == 0) return note;
    auto* const fresh = static_cast<GuardedSegment*>(arena.allocate(sizeof(GuardedSegment)));
    if (fresh == nullptr) return nullptr;
    fresh->next = first.load(std::memory_order_relaxed);
    first.store(fresh, std::memory_order_release);
    return fresh;
}

bool map_zeros(std::uintptr_t pages) {
    return raw::syscall6(SYS_mmap, pages, format::segment_size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) >= 0;
}

/// Maps zeros over the segment that contains `address`. Returns false if `address` lies in no segment of a recording.
bool replace_segment(std::uintptr_t address) {
    GuardedSegment* const note = find_guarded_segment(address);
    if (note == nullptr) {
        // A child without a recording uses its parent's header until it makes a file of its own.
        const std::uintptr_t kept = kept_pages.load(std::memory_order_relaxed);
        return kept != 0 && address - kept < format::segment_size && map_zeros(kept);
    }
    if (note->is_replaced.exchange(true)) return true;  // another thread has replaced the segment or is replacing it
    const std::uintptr_t pages = note->pages.load(std::memory_order_relaxed);
    if (!map_zeros(pages)) return false;
    if (note->in_child.load(std::memory_order_relaxed) == PagesInChild::none)
        raw::syscall6(SYS_madvise, pages, format::segment_size, MADV_DONTFORK);
    note->file.load(std::memory_order_relaxed)->end_lost_recording();
    return true;
}

void on_bus_error(int number, siginfo_t* info, void*) {
    const int kept_errno = errno;
    // The signal may also have been sent by a process, or by the kernel because it found damaged memory that no
    // thread was accessing.
    const bool is_fault = info->si_code > 0 && info->si_code != BUS_MCEERR_AO;
    if (!is_fault || !replace_segment(reinterpret_cast<std::uintptr_t>(info->si_addr))) {
        struct sigaction usual {};
        usual.sa_handler = SIG_DFL;
        sigaction(number, &usual, nullptr);
        // A fault occurs again when this handler returns. A signal that was sent must be sent again.
        if (!is_fault) raw::syscall6(SYS_tgkill, raw::getpid(), raw::gettid(), number);
    }
    errno = kept_errno;
}

}  // namespace

void guard_pages(RecordingFile& file, void* pages, PagesInChild in_child) {
    const system::HeldLock held(lock);
    if (!held) return;
    if (owner.load(std::memory_order_relaxed) != system::fork_generation()) {
        first.store(nullptr, std::memory_order_relaxed);
        arena.forget();
        owner.store(system::fork_generation(), std::memory_order_release);
    }
    GuardedSegment* const note = unused_note();
    if (note == nullptr) return;
    note->file.store(&file, std::memory_order_relaxed);
    note->in_child.store(in_child, std::memory_order_relaxed);
    note->is_replaced.store(false, std::memory_order_relaxed);
    note->pages.store(reinterpret_cast<std::uintptr_t>(pages), std::memory_order_release);
    if (in_child == PagesInChild::inherited)
        kept_pages.store(reinterpret_cast<std::uintptr_t>(pages), std::memory_order_relaxed);
}

void unguard_pages(const void* pages) {
    auto kept = reinterpret_cast<std::uintptr_t>(pages);
    kept_pages.compare_exchange_strong(kept, 0);
    if (GuardedSegment* const note = find_guarded_segment(reinterpret_cast<std::uintptr_t>(pages)))
        note->pages.store(0, std::memory_order_release);
}

void unguard_pages_of(const RecordingFile& file) {
    for (GuardedSegment* note = first_of_this_process(); note != nullptr; note = note->next)
        if (note->file.load(std::memory_order_relaxed) == &file) note->pages.store(0, std::memory_order_release);
}

void install_lost_page_handler() {
    struct sigaction found {};
    if (sigaction(SIGBUS, nullptr, &found) != 0 || (found.sa_flags & SA_SIGINFO) != 0 || found.sa_handler != SIG_DFL)
        return;
    struct sigaction ours {};
    ours.sa_sigaction = on_bus_error;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigfillset(&ours.sa_mask);  // handlers of the program must not interrupt this handler, because they could
                                // multiply or leave by siglongjmp
    sigaction(SIGBUS, &ours, nullptr);
}

}  // namespace fp32shim::record
