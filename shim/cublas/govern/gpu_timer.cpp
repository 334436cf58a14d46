#include "shim/cublas/govern/gpu_timer.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <new>

#include "record/write/count_call.hpp"
#include "record/write/memory.hpp"
#include "shim/cublas/audit/stream.hpp"
#include "shim/thread/thread_context.hpp"
#include "system/hash.hpp"
#include "system/kept_state.hpp"
#include "system/this_process.hpp"

namespace fp32shim::cublas {

struct EventPair {
    enum class State : std::uint8_t { unused, open, waiting };

    std::atomic<State> state;
    bool is_first;          ///< the measured call was its row's first on this slot
    std::uint32_t row;      ///< number of its row in the recording
    std::uint64_t context;  ///< id of the context that the events belong to
    Event begin;            ///< nullptr: the events have not been made
    Event end;
};

namespace {

constexpr std::size_t pair_count = 32;
/// Most pairs that one slot makes for all contexts, since pairs of a context that is not current cannot be destroyed.
constexpr std::uint32_t most_made = 256;
/// After so many errors of the driver, the slot's calls are no longer measured.
constexpr std::uint32_t most_errors = 8;
/// An event that is not done suggests that those after it are not done either.
constexpr int most_not_ready = 2;
constexpr unsigned kind_bits = 12;
constexpr std::size_t longest_probe = 8;

}  // namespace

/// The pairs of one slot of a recording, in zeroed pages that a forked child does not have.
struct EventPairs {
    std::atomic<std::uint32_t> in_use;  ///< 1: some thread, or the call that a signal handler interrupted, uses the
                                        ///< pairs and the slot's times in the recording
    bool is_off;                        ///< nothing is measured for this slot
    std::uint32_t made;
    std::uint32_t errors;
    std::uint64_t turns;  ///< number of calls whose turn it was
    record::Recording* recording;
    record::ThreadWriter* writer;
    EventPairs* next;
    Driver driver;
    std::array<EventPair, pair_count> pairs;
    /// Kinds of calls that were seen, to know the first ones: bits of a hash, and how often, up to `first_calls`. No
    /// entry is ever replaced, so a program with very many kinds of calls has some without first calls.
    std::array<std::uint32_t, std::size_t{1} << kind_bits> kinds;
};

namespace {

using State = EventPair::State;

/// Number of the process that made the first pairs; 0: none. Its forked children cannot use CUDA.
constinit std::atomic<std::uint32_t> owner{0};
constinit std::atomic<EventPairs*> all_pairs{nullptr};

/// Reads the pairs whose calls are done. Precondition: the pairs are in use by this thread, and `context` is current.
void collect(EventPairs& pairs, std::uint64_t context) {
    int not_ready = 0;
    for (EventPair& pair : pairs.pairs) {
        if (pair.state.load(std::memory_order_acquire) != State::waiting || pair.context != context) continue;
        const std::int32_t result = pairs.driver.query_event.keeping_errno(pair.end);
        if (result == driver_not_ready) {
            if (++not_ready == most_not_ready) return;
            continue;
        }
        float milliseconds = -1;
        if (result == driver_success &&
            pairs.driver.elapsed_time.keeping_errno(&milliseconds, pair.begin, pair.end) == driver_success &&
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

/// Reads what is done as the program calls `exit`, before CUDA's own handlers, which were registered earlier.
void collect_at_exit() {
    if (owner.load(std::memory_order_relaxed) != system::this_process()) return;
    for (EventPairs* pairs = all_pairs.load(std::memory_order_acquire); pairs != nullptr; pairs = pairs->next) {
        if (pairs->in_use.exchange(1, std::memory_order_acquire) != 0) continue;
        const AuditStream relaxed(pairs->driver, nullptr);
        std::uint64_t context = 0;
        if (pairs->driver.context_id(nullptr, &context) == driver_success) collect(*pairs, context);
        pairs->in_use.store(0, std::memory_order_release);
    }
}

/// Returns the pairs of this writer, made at the first call; nullptr: there are none.
EventPairs* pairs_of(record::Recording& recording, record::ThreadWriter& writer) {
    if (writer.attached_memory() != nullptr) return static_cast<EventPairs*>(writer.attached_memory());
    std::uint32_t first = 0;
    const std::uint32_t self = system::this_process();
    const bool is_first = owner.compare_exchange_strong(first, self, std::memory_order_relaxed);
    if (!is_first && first != self) return nullptr;
    if (is_first) std::atexit(collect_at_exit);
    void* const pages = record::map_private_pages(sizeof(EventPairs), record::InChild::nothing);
    if (pages == nullptr) return nullptr;
    auto* const pairs = new (pages) EventPairs;  // all zeros, but for the driver
    pairs->recording = &recording;
    pairs->writer = &writer;
    pairs->driver = find_driver();
    pairs->is_off = !pairs->driver.has_events();
    writer.attached_memory() = pairs;
    if (pairs->is_off) return pairs;
    pairs->next = all_pairs.load(std::memory_order_relaxed);
    while (
        !all_pairs.compare_exchange_weak(pairs->next, pairs, std::memory_order_release, std::memory_order_relaxed)) {
    }
    return pairs;
}

constexpr std::uint32_t count_mask = 3;
static_assert(first_gpu_times == count_mask);

std::uint32_t tag_of(std::uint64_t kind) { return static_cast<std::uint32_t>(kind) & ~count_mask; }

/// Returns true if the first calls of a kind are known to be over. Looks at one entry only.
bool has_had_first_calls(const EventPairs& pairs, std::uint64_t kind) {
    return pairs.kinds[system::table_index(kind, kind_bits)] == (tag_of(kind) | first_gpu_times);
}

/// Returns true for the first calls of a kind, and counts them. Calls of a kind mostly have one row.
bool is_one_of_the_first(EventPairs& pairs, std::uint64_t kind) {
    constexpr std::size_t last = (std::size_t{1} << kind_bits) - 1;
    const std::size_t index = system::table_index(kind, kind_bits);
    for (std::size_t i = 0; i < longest_probe; ++i) {
        std::uint32_t& entry = pairs.kinds[(index + i) & last];
        if (entry == 0) entry = tag_of(kind);
        if ((entry & ~count_mask) != tag_of(kind)) continue;
        if ((entry & count_mask) == first_gpu_times) return false;
        ++entry;
        return true;
    }
    return false;
}

/// Returns a hash of what distinguishes most rows, and is known before the call. Not of its line, since reading the
/// stack takes longer than all of this.
std::uint64_t kind_of(const Site& site, const Settings& in_force, const policy::MatmulCall& call) {
    const auto bits = [](std::int64_t word, int place) { return std::rotl(static_cast<std::uint64_t>(word), place); };
    const std::uint64_t sizes = static_cast<std::uint64_t>(call.m) + bits(call.n, 21) + bits(call.k, 42);
    const std::uint64_t others = site.number + bits(call.batch, 32) + bits(call.device_index, 56);
    return system::folded(sizes * 0x7a6f56d50c7a670d + others * 0x62bba1b9f2757641 + in_force.generation +
                          scope_key());
}

/// Returns a pair with events of this context; nullptr: all are in use, or the driver makes no more. Precondition: as
/// for collect().
EventPair* unused_pair(EventPairs& pairs, std::uint64_t context) {
    EventPair* other = nullptr;
    for (EventPair& pair : pairs.pairs) {
        const State state = pair.state.load(std::memory_order_relaxed);
        if (state == State::unused && pair.begin != nullptr && pair.context == context) return &pair;
        // Events of another context are forgotten, at the latest when there are no others.
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
    const Driver& driver = pairs.driver;
    constexpr std::uint32_t with_timing = 0;
    if (driver.create_event(&other->begin, with_timing) == driver_success &&
        driver.create_event(&other->end, with_timing) == driver_success)
        return other;
    ++pairs.errors;
    other->begin = nullptr;
    return nullptr;
}

}  // namespace

bool GpuTimer::is_due(const Site& site, const Settings& in_force, const policy::MatmulCall& call) {
    ThreadContext* const context = existing_thread_context();
    const std::uint64_t kind = kind_of(site, in_force, call);
    if (context != nullptr && context->gpu_calls_left != 0 && context->recording == in_force.recording &&
        context->writer != nullptr && context->writer->attached_memory() != nullptr &&
        has_had_first_calls(*static_cast<EventPairs*>(context->writer->attached_memory()), kind)) {
        --context->gpu_calls_left;
        return false;
    }
    return is_due_by_kind(in_force, kind);
}

bool GpuTimer::is_due_by_kind(const Settings& in_force, std::uint64_t kind) {
    if (in_force.recording == nullptr) return false;
    record::ThreadWriter* const writer = writer_in(*in_force.recording);
    if (writer == nullptr) return false;
    std::uint32_t& calls_left = existing_thread_context()->gpu_calls_left;
    pairs_ = pairs_of(*in_force.recording, *writer);
    if (pairs_ == nullptr || pairs_->is_off) {
        calls_left = UINT32_MAX;
        return false;
    }
    if (!is_one_of_the_first(*pairs_, kind) && calls_left > 0) {
        --calls_left;
        return false;
    }
    // The distance varies, with the mean that the settings say. With a fixed one, a loop could always have the same
    // one of its calls measured.
    const std::uint64_t random = system::random_number(++pairs_->turns * system::golden_ratio);
    calls_left = static_cast<std::uint32_t>(random % (2 * std::uint64_t{in_force.gpu_times} - 1));
    return true;
}

void GpuTimer::record_begin() {
    if (pairs_->in_use.exchange(1, std::memory_order_acquire) != 0) return;
    const system::KeptState kept;
    const Driver& driver = pairs_->driver;
    {
        const AuditStream on_stream(driver, stream_);
        std::uint64_t context = 0;
        if (driver.context_id.keeping_errno(nullptr, &context) == driver_success) {
            collect(*pairs_, context);
            if (on_stream.is_not_capturing())
                pair_ = unused_pair(*pairs_, context);
            else
                existing_thread_context()->gpu_calls_left = 0;  // it is the next call's turn
        }
        if (pair_ != nullptr && driver.record_event.keeping_errno(pair_->begin, stream_) != driver_success) {
            ++pairs_->errors;
            pair_ = nullptr;
        }
    }
    if (pair_ != nullptr) pair_->state.store(State::open, std::memory_order_relaxed);
    if (pairs_->errors >= most_errors) pairs_->is_off = true;
    pairs_->in_use.store(0, std::memory_order_release);
}

void GpuTimer::record_end(bool has_succeeded) {
    if (has_succeeded && pairs_->driver.record_event.keeping_errno(pair_->end, stream_) == driver_success) return;
    pair_->state.store(State::unused, std::memory_order_relaxed);
    pair_ = nullptr;
}

void GpuTimer::keep() {
    const record::Recording::CallsOfKey counted = counted_as == 0
                                                      ? record::Recording::CallsOfKey{}
                                                      : pairs_->recording->calls_of_key(*pairs_->writer, counted_as);
    const bool is_counted = counted.is_known && counted.row != record::format::overflow_row;
    pair_->row = counted.row;
    pair_->is_first = counted.calls == 1;
    pair_->state.store(is_counted ? State::waiting : State::unused, std::memory_order_release);
}

}  // namespace fp32shim::cublas
