#include "shim/cublas/handles.hpp"

#include <linux/futex.h>
#include <sys/mman.h>

#include "record/raw_syscall.hpp"
#include "shim/arena.hpp"
#include "shim/running.hpp"

namespace fp32shim::cublas {
namespace {

constexpr std::int32_t math_unknown = -1;

std::uint64_t key_of(const HandleRecord& record) {
    const auto math_mode = static_cast<std::uint32_t>(record.math_mode.load(std::memory_order_relaxed));
    const auto capability = static_cast<std::uint32_t>(record.compute_capability);
    if (record.destroyed.load(std::memory_order_relaxed) || math_mode > 31 || capability > 255) return key_unknown;
    return std::uint64_t{capability} << 16 | std::uint64_t{math_mode} << 24;
}

void update_key(HandleRecord& record) { record.key.store(key_of(record), std::memory_order_release); }

/// Locks lie on pages that a forked child sees zeroed: there nobody holds them. (CUDA does not work in a forked
/// child, but its functions say so, and must not hang instead.)
HandleLock* allocate_lock() {
    constexpr std::size_t page_size = 4096;
    constexpr std::size_t stride = 64;
    static constinit std::atomic<char*> page{nullptr};
    static constinit std::atomic<std::size_t> used{0};
    char* current = page.load(std::memory_order_acquire);
    const std::size_t offset = current == nullptr ? page_size : used.fetch_add(stride, std::memory_order_acq_rel);
    if (offset < page_size) return reinterpret_cast<HandleLock*>(current + offset);
    // Threads that come here together each get a page; all but the last are used for one lock.
    void* fresh = mmap(nullptr, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED) return static_cast<HandleLock*>(arena_allocate(stride));
    madvise(fresh, page_size, MADV_WIPEONFORK);
    page.store(static_cast<char*>(fresh), std::memory_order_release);
    used.store(stride, std::memory_order_release);
    return static_cast<HandleLock*>(fresh);
}

/// Makes the handle known. Two threads that do so at once for one handle may make two records of the same content;
/// the one that was published last is found.
HandleRecord* remember(Handle handle, Device device, std::int32_t math_mode) {
    HandleRecord* record = record_of(handle);
    const bool is_fresh = record == nullptr;
    if (is_fresh) {
        record = static_cast<HandleRecord*>(arena_allocate(sizeof(HandleRecord)));
        record->lock = allocate_lock();
    }
    record->device_index = device.index;
    record->compute_capability = device.compute_capability;
    record->math_mode.store(math_mode, std::memory_order_relaxed);
    record->handle.store(handle, std::memory_order_relaxed);
    record->destroyed.store(false, std::memory_order_release);
    update_key(*record);
    if (is_fresh) {
        std::atomic<HandleRecord*>& bucket = handle_buckets[handle_bucket(handle)];
        record->next = bucket.load(std::memory_order_relaxed);
        while (!bucket.compare_exchange_weak(record->next, record, std::memory_order_release,
                                             std::memory_order_relaxed)) {
        }
    }
    return record;
}

}  // namespace

constinit std::atomic<HandleRecord*> handle_buckets[handle_bucket_count]{};

void HandleLock::acquire() {
    // The address of a thread-local object tells threads apart without a system call.
    const void* self = &running;
    if (owner_.load(std::memory_order_relaxed) == self) {
        ++depth_;
        return;
    }
    std::uint32_t seen = 0;
    if (!state_.compare_exchange_strong(seen, 1, std::memory_order_acquire, std::memory_order_relaxed)) {
        while (state_.exchange(2, std::memory_order_acquire) != 0)
            record::raw::syscall6(SYS_futex, record::raw::address(&state_), FUTEX_WAIT_PRIVATE, 2, 0);
    }
    owner_.store(self, std::memory_order_relaxed);
    depth_ = 1;
}

void HandleLock::release() {
    if (--depth_ != 0) return;
    owner_.store(nullptr, std::memory_order_relaxed);
    if (state_.exchange(0, std::memory_order_release) == 2)
        record::raw::syscall6(SYS_futex, record::raw::address(&state_), FUTEX_WAKE_PRIVATE, 1);
}

bool HandleLock::is_held_by_this_thread() const { return owner_.load(std::memory_order_relaxed) == &running; }

HandleRecord* find_handle(Handle handle, const Library& library) {
    HandleRecord* record = record_of(handle);
    if (handle == nullptr || (record != nullptr && record->destroyed.load(std::memory_order_acquire))) return nullptr;
    const bool lacks_math_mode =
        record == nullptr || record->math_mode.load(std::memory_order_relaxed) == math_unknown;
    if (!lacks_math_mode || (record != nullptr && library.get_math_mode == nullptr)) return record;
    std::int32_t math_mode = math_unknown;  // as long as only cublasLt has seen it, which has none
    if (library.get_math_mode != nullptr && library.get_math_mode(handle, &math_mode) != status_success)
        return nullptr;
    if (record == nullptr) return remember(handle, current_device(), math_mode);
    note_math_mode(*record, math_mode);
    return record;
}

void note_math_mode(HandleRecord& record, std::int32_t math_mode) {
    record.math_mode.store(math_mode, std::memory_order_relaxed);
    update_key(record);
}

void note_handle_created(Handle handle) {
    if (handle != nullptr) remember(handle, current_device(), math_default);
}

void note_handle_destroyed(Handle handle) {
    HandleRecord* record = record_of(handle);
    if (record == nullptr) return;
    record->destroyed.store(true, std::memory_order_release);
    update_key(*record);
}

void note_handle_kept(Handle handle) {
    HandleRecord* record = record_of(handle);
    if (record == nullptr) return;
    record->destroyed.store(false, std::memory_order_release);
    update_key(*record);
}

}  // namespace fp32shim::cublas
