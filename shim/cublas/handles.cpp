#include "shim/cublas/handles.hpp"

#include <linux/futex.h>

#include "record/write/memory.hpp"
#include "shim/memory/arena.hpp"
#include "shim/thread/running.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::cublas {
namespace {

void update_key(HandleRecord& record, std::int32_t math_mode) {
    const bool is_alive = !record.destroyed.load(std::memory_order_acquire);
    const std::int32_t compute_capability = record.device.load(std::memory_order_relaxed).compute_capability;
    const std::uint64_t key = is_alive ? handle_key(compute_capability, math_mode) : key_unknown;
    if (record.state_key.load(std::memory_order_relaxed) != key)
        record.state_key.store(key, std::memory_order_release);
}

/// Allocates a lock on a page that the kernel zeroes in a forked child, so that no thread holds the lock there. (CUDA
/// does not work in a forked child, but its functions must return their error there and not hang.)
HandleLock* allocate_lock() {
    void* const page = record::map_private_pages(sizeof(HandleLock), record::PagesInChild::zeroed);
    return static_cast<HandleLock*>(page != nullptr ? page : arena_allocate(sizeof(HandleLock)));
}

/// Returns the record of a handle. If there is none, makes one, and takes the handle to be live. If two threads make
/// a record at the same time, both get the same record.
HandleRecord* find_or_make_record(Handle handle) {
    std::atomic<HandleRecord*>& bucket = handle_buckets[handle_bucket(handle)];
    HandleRecord* fresh = nullptr;
    HandleRecord* head = bucket.load(std::memory_order_acquire);
    for (;;) {
        if (HandleRecord* known = known_record_of(handle)) return known;
        if (fresh == nullptr) {
            fresh = static_cast<HandleRecord*>(arena_allocate(sizeof(HandleRecord)));
            fresh->lock = allocate_lock();
            fresh->handle.store(handle, std::memory_order_relaxed);
            fresh->device.store(current_device(), std::memory_order_relaxed);
            fresh->state_key.store(key_unknown, std::memory_order_relaxed);
        }
        fresh->next = head;
        if (bucket.compare_exchange_strong(head, fresh, std::memory_order_acq_rel, std::memory_order_acquire))
            return fresh;
    }
}

}  // namespace

constinit std::atomic<HandleRecord*> handle_buckets[std::size_t{1} << handle_bucket_bits]{};

void HandleLock::acquire() {
    // The address of a thread-local object identifies a thread without a system call.
    const void* self = &running;
    if (owner_.load(std::memory_order_relaxed) == self) {
        ++depth_;
        return;
    }
    std::uint32_t seen = 0;
    if (!state_.compare_exchange_strong(seen, 1, std::memory_order_acquire, std::memory_order_relaxed))
        while (state_.exchange(2, std::memory_order_acquire) != 0)
            system::raw::syscall6(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, 2, 0);
    owner_.store(self, std::memory_order_relaxed);
    depth_ = 1;
}

void HandleLock::release() {
    if (--depth_ != 0) return;
    owner_.store(nullptr, std::memory_order_relaxed);
    if (state_.exchange(0, std::memory_order_release) == 2)
        system::raw::syscall6(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1);
}

HandleRecord* live_record_of(Handle handle) {
    if (handle == nullptr) return nullptr;
    HandleRecord* record = known_record_of(handle);
    if (record == nullptr) record = find_or_make_record(handle);
    return record->destroyed.load(std::memory_order_acquire) ? nullptr : record;
}

Device device_of(HandleRecord& record) {
    Device known = record.device.load(std::memory_order_relaxed);
    if (known.compute_capability != 0) return known;
    constexpr std::uint32_t always = 8;
    const std::uint32_t question = record.questions.fetch_add(1, std::memory_order_relaxed) + 1;
    if (question > always && (question & (question - 1)) != 0) return known;
    const Device device = current_device();
    // If two threads ask the driver at the same time, only one answer is stored.
    if (device.compute_capability == 0 ||
        !record.device.compare_exchange_strong(known, device, std::memory_order_relaxed))
        return known;
    return device;
}

void on_handle_created(Handle handle) {
    if (handle == nullptr) return;
    HandleRecord& record = *find_or_make_record(handle);
    record.device.store(current_device(), std::memory_order_relaxed);
    record.questions.store(0, std::memory_order_relaxed);
    record.destroyed.store(false, std::memory_order_release);
    update_key(record, math_default);
}

void on_handle_destroyed(Handle handle) {
    HandleRecord* record = known_record_of(handle);
    if (record == nullptr) return;
    record->destroyed.store(true, std::memory_order_release);
    record->state_key.store(key_unknown, std::memory_order_release);
}

void on_destroy_failed(Handle handle) {
    if (HandleRecord* record = known_record_of(handle)) record->destroyed.store(false, std::memory_order_release);
}

std::int32_t program_math_mode(HandleRecord& record, const Library& library) {
    std::int32_t math_mode = record.program_mode;
    if (!record.runs_under_other_mode &&
        (library.get_math_mode == nullptr || library.get_math_mode(record.address(), &math_mode) != status_success))
        return math_unknown;
    update_key(record, math_mode);
    return math_mode;
}

std::int32_t set_program_math_mode(HandleRecord& record, const Library& library, std::int32_t math_mode) {
    auto* const handle = record.address();
    std::int32_t in_force = math_unknown;
    const bool puts_back = record.runs_under_other_mode && library.get_math_mode(handle, &in_force) == status_success;
    const std::int32_t status = library.set_math_mode(handle, math_mode);
    if (status != status_success) return status;
    record.program_mode = math_mode;
    update_key(record, math_mode);
    if (puts_back) library.set_math_mode(handle, in_force);
    return status;
}

}  // namespace fp32shim::cublas
