#include "shim/cublas/govern/gpu_timer.hpp"

#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <new>

#include "record/write/count_call.hpp"
#include "record/write/memory.hpp"
#include "shim/cublas/audit/stream.hpp"
#include "system/hash.hpp"
#include "system/kept_state.hpp"
#include "system/this_process.hpp"

namespace fp32shim::cublas {

struct EventPair {
    enum class State : std::uint8_t { unused, open, waiting };

    std::atomic<State> state;
    bool is_first;          ///< true if the measured call was the first call that this thread's part of the recording
                            ///< counted in its row
    std::uint32_t row;      ///< number of the recording's row that counts the measured call
    std::uint64_t context;  ///< id of the CUDA context to which the events belong
    Event begin;            ///< nullptr if the events have not been made
    Event end;
};

namespace {

constexpr std::size_t pair_count = 32;
/// The largest number of pairs that one EventPairPool makes for all contexts. The number is limited because pairs of
/// a context that is not current cannot be destroyed.
constexpr std::uint32_t most_made = 256;
/// After this many errors of the driver for one EventPairPool, no more calls are measured with this pool.
constexpr std::uint32_t most_errors = 8;
/// collect() stops after it has met this many events that are not done, since later events are probably not done
/// either.
constexpr int most_not_ready = 2;

}  // namespace

/// The pairs of events of one ThreadWriter (the part of a recording that one thread writes), in zeroed pages that a
/// forked child does not have.
struct EventPairPool : FirstCallCounter {
    std::atomic<std::uint32_t> in_use;  ///< 1 while a thread, or the call that a signal handler interrupted, uses the
                                        ///< pairs and the writer's times in the recording
    bool is_off;                        ///< true if nothing is measured with this pool
    std::uint32_t made;
    std::uint32_t errors;
    std::uint64_t turns;  ///< number of calls whose measurement was due
    record::Recording* recording;
    record::ThreadWriter* writer;
    EventPairPool* next;
    CudaDriver driver;
    std::array<EventPair, pair_count> pairs;
};

namespace {

using State = EventPair::State;

/// The result of fork_generation() in the process that made the first pairs of events; 0 if there are no pairs.
/// Forked children of that process cannot use CUDA.
constinit std::atomic<std::uint32_t> owner{0};
constinit std::atomic<EventPairPool*> all_pairs{nullptr};

/// Reads the times of pairs whose calls are done. Precondition: this thread has set `in_use`, and `context` is the
/// current context.
void collect(EventPairPool& pairs, std::uint64_t context) {
    int not_ready = 0;
    for (EventPair& pair : pairs.pairs) {
        if (pair.state.load(std::memory_order_acquire) != State::waiting || pair.context != context) continue;
        const std::int32_t result = pairs.driver.query_event.call_keeping_errno(pair.end);
        if (result == driver_not_ready) {
            if (++not_ready == most_not_ready) return;
            continue;
        }
        float milliseconds = -1;
        if (result == driver_success &&
            pairs.driver.elapsed_time.call_keeping_errno(&milliseconds, pair.begin, pair.end) == driver_success &&
            milliseconds >= 0) {
            constexpr double nanoseconds = 1e6;
            pairs.recording->add_gpu_time(*pairs.writer, pair.row,
                                          static_cast<std::uint64_t>(std::lround(milliseconds * nanoseconds)),
                                          pair.is_first);
        } else {
            ++pairs.errors;
        }
        pair.state.store(State::unused, std::memory_order_relaxed);
    }
}

/// Reads the times of pairs that are done when the program calls `exit`. The function runs before CUDA's own exit
/// handlers, which were registered earlier.
void collect_at_exit() {
    if (owner.load(std::memory_order_relaxed) != system::fork_generation()) return;
    for (EventPairPool* pairs = all_pairs.load(std::memory_order_acquire); pairs != nullptr; pairs = pairs->next) {
        if (pairs->in_use.exchange(1, std::memory_order_acquire) != 0) continue;
        const AuditStream relaxed(pairs->driver, nullptr);
        std::uint64_t context = 0;
        if (pairs->driver.context_id(nullptr, &context) == driver_success) collect(*pairs, context);
        pairs->in_use.store(0, std::memory_order_release);
    }
}

/// Returns the pairs of `writer`, and makes them on the first call. Returns nullptr if there is no memory, or in a
/// forked child of the process that made the first pairs.
EventPairPool* pairs_of(record::Recording& recording, record::ThreadWriter& writer) {
    if (writer.attached_memory() != nullptr)
        return static_cast<EventPairPool*>(static_cast<FirstCallCounter*>(writer.attached_memory()));
    std::uint32_t first = 0;
    const std::uint32_t self = system::fork_generation();
    const bool is_first = owner.compare_exchange_strong(first, self, std::memory_order_relaxed);
    if (!is_first && first != self) return nullptr;
    if (is_first) std::atexit(collect_at_exit);
    void* const pages = record::map_private_pages(sizeof(EventPairPool), record::PagesInChild::none);
    if (pages == nullptr) return nullptr;
    auto* const pairs = new (pages) EventPairPool;  // all pages are zero, and so are all members except the driver
    pairs->recording = &recording;
    pairs->writer = &writer;
    pairs->driver = find_cuda_driver();
    pairs->is_off = !pairs->driver.has_event_functions();
    writer.attached_memory() = static_cast<FirstCallCounter*>(pairs);
    if (pairs->is_off) return pairs;
    pairs->next = all_pairs.load(std::memory_order_relaxed);
    while (
        !all_pairs.compare_exchange_weak(pairs->next, pairs, std::memory_order_release, std::memory_order_relaxed)) {
    }
    return pairs;
}

/// Returns a pair with events of this context. Returns nullptr if all pairs are in use, if most_made pairs were made,
/// or if the driver makes no events. The precondition is the same as for collect().
EventPair* unused_pair(EventPairPool& pairs, std::uint64_t context) {
    EventPair* other = nullptr;
    for (EventPair& pair : pairs.pairs) {
        const State state = pair.state.load(std::memory_order_relaxed);
        if (state == State::unused && pair.begin != nullptr && pair.context == context) return &pair;
        // If no unused pair has events of this context, another pair gets new events. A pair that has no events yet
        // is preferred, then an unused pair, then a waiting pair of another context.
        const bool is_better =
            other == nullptr || (other->begin != nullptr && pair.begin == nullptr) ||
            (other->state.load(std::memory_order_relaxed) == State::waiting && state == State::unused);
        if (state == State::unused || (state == State::waiting && pair.context != context))
            other = is_better ? &pair : other;
    }
    if (other == nullptr || pairs.made == most_made) return nullptr;
    ++pairs.made;
    other->state.store(State::unused, std::memory_order_relaxed);
    other->begin = other->end = nullptr;
    other->context = context;
    const CudaDriver& driver = pairs.driver;
    constexpr std::uint32_t with_timing = 0;
    if (driver.create_event(&other->begin, with_timing) == driver_success &&
        driver.create_event(&other->end, with_timing) == driver_success)
        return other;
    ++pairs.errors;
    other->begin = nullptr;
    return nullptr;
}

}  // namespace

bool FirstCallCounter::count_if_first(std::uint64_t kind) {
    constexpr std::size_t longest_probe = 8;
    for (std::size_t i = 0; i < longest_probe; ++i) {
        std::uint32_t& entry = kinds_[(index_of(kind) + i) % kinds_.size()];
        if (entry == 0) entry = tag_of(kind);
        if ((entry & ~first_gpu_times) != tag_of(kind)) continue;
        if ((entry & first_gpu_times) == first_gpu_times) return false;
        ++entry;
        return true;
    }
    return false;
}

bool GpuTimedCall::is_due(const Site& site, const Settings& in_force, const policy::MatmulCall& call) {
    record::ThreadWriter* const writer = thread_writer_in(*in_force.recording);
    if (writer == nullptr) return false;
    ThreadContext& context = *existing_thread_context();
    std::uint32_t& calls_left = context.gpu_calls_left;
    pairs_ = pairs_of(*in_force.recording, *writer);
    if (pairs_ == nullptr || pairs_->is_off) {
        calls_left = UINT32_MAX;
        return false;
    }
    if (!pairs_->count_if_first(kind_of(site, in_force, call, context)) && calls_left > 0) {
        --calls_left;
        return false;
    }
    // The number of calls between two measured calls varies around the mean that the settings demand. If it were
    // fixed, always the same call of a loop might be measured.
    const std::uint64_t random = system::splitmix64(++pairs_->turns * system::golden_ratio);
    calls_left = static_cast<std::uint32_t>(random % (2 * std::uint64_t{in_force.gpu_times} - 1));
    return true;
}

void GpuTimedCall::begin_timing(Stream stream) {
    stream_ = stream;
    if (pairs_->in_use.exchange(1, std::memory_order_acquire) != 0) return;
    const system::ErrnoAndFloatGuard kept;
    const CudaDriver& driver = pairs_->driver;
    {
        const AuditStream on_stream(driver, stream_);
        std::uint64_t context = 0;
        if (driver.context_id.call_keeping_errno(nullptr, &context) == driver_success) {
            collect(*pairs_, context);
            if (on_stream.is_not_capturing())
                pair_ = unused_pair(*pairs_, context);
            else
                existing_thread_context()->gpu_calls_left = 0;  // the next call is measured instead
        }
        if (pair_ != nullptr && driver.record_event.call_keeping_errno(pair_->begin, stream_) != driver_success) {
            ++pairs_->errors;
            pair_ = nullptr;
        }
    }
    if (pair_ != nullptr) pair_->state.store(State::open, std::memory_order_relaxed);
    if (pairs_->errors >= most_errors) pairs_->is_off = true;
    pairs_->in_use.store(0, std::memory_order_release);
}

void GpuTimedCall::record_end_event(bool has_succeeded) {
    if (has_succeeded && pairs_->driver.record_event.call_keeping_errno(pair_->end, stream_) == driver_success)
        return;
    pair_->state.store(State::unused, std::memory_order_relaxed);
    pair_ = nullptr;
}

void GpuTimedCall::keep_events() {
    const record::Recording::CallsOfKey counted = counted_as == 0
                                                      ? record::Recording::CallsOfKey{}
                                                      : pairs_->recording->calls_of_key(*pairs_->writer, counted_as);
    const bool is_counted = counted.is_known && counted.row != record::format::overflow_row;
    pair_->row = counted.row;
    pair_->is_first = counted.calls == 1;
    pair_->state.store(is_counted ? State::waiting : State::unused, std::memory_order_release);
}

}  // namespace fp32shim::cublas
