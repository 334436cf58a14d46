// Measures how long some products take on their GPU. Two events of the CUDA driver on the product's stream mark the
// beginning and the end of the product. The events are read without waiting, at a later call or when the program
// ends. docs/worth.md says what the measured time contains.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "policy/matmul_call.hpp"
#include "shim/cublas/api.hpp"
#include "shim/decision/record_call.hpp"
#include "shim/entry/site.hpp"
#include "shim/settings/settings.hpp"
#include "shim/thread/thread_context.hpp"

namespace fp32shim::cublas {

struct EventPair;
struct EventPairPool;

/// Counts the first calls of each kind that one ThreadWriter records; kind_of() gives the kind of a call. An entry
/// has bits of the kind's hash, and the number of the kind's calls up to first_gpu_times. No entry is ever replaced,
/// so some kinds have no first calls in a program with very many kinds of calls.
class FirstCallCounter {
  public:
    /// Returns true if the first calls of a kind are known to be over. Looks at only one entry.
    bool has_had_first_calls(std::uint64_t kind) const {
        return kinds_[index_of(kind)] == (tag_of(kind) | first_gpu_times);
    }
    /// Returns true for the first calls of a kind, and counts them. Most kinds correspond to one row of the
    /// recording.
    bool count_if_first(std::uint64_t kind);

  private:
    static constexpr unsigned index_bits = 12;
    static_assert((first_gpu_times & (first_gpu_times + 1)) == 0, "a mask of the bits that count");
    static std::size_t index_of(std::uint64_t kind) { return kind >> (64 - index_bits); }
    static std::uint32_t tag_of(std::uint64_t kind) { return static_cast<std::uint32_t>(kind) & ~first_gpu_times; }

    std::array<std::uint32_t, std::size_t{1} << index_bits> kinds_;
};

/// The times of one call, on the host and on the GPU. If anything fails, the call is not measured on the GPU, and no
/// message is written.
class GpuTimedCall : public CallTime {
  public:
    GpuTimedCall() = default;
    /// If the call was measured and counted, keeps the events so that a later call can read them.
    ~GpuTimedCall() {
        if (pair_ != nullptr) keep_events();
    }
    GpuTimedCall(const GpuTimedCall&) = delete;
    GpuTimedCall& operator=(const GpuTimedCall&) = delete;

    /// Returns true if this call is not to be measured. If it returns false, is_due() decides, and may return false
    /// as well. Takes only a few instructions. Must be called once for each recorded call that multiplies something.
    [[gnu::always_inline]] static bool is_passed_over(const Site& site, const Settings& in_force,
                                                      const policy::MatmulCall& call) {
        if (in_force.gpu_times == 0) return true;
        ThreadContext* const context = existing_thread_context();
        // If gpu_calls_left is not 0, the thread has a writer, so `writer` is not nullptr. The writer may be from
        // earlier settings; that does no harm, since calls under other settings are of other kinds.
        if (context == nullptr || context->gpu_calls_left == 0 || context->writer->attached_memory() == nullptr ||
            !static_cast<const FirstCallCounter*>(context->writer->attached_memory())
                 ->has_had_first_calls(kind_of(site, in_force, call, *context)))
            return false;
        --context->gpu_calls_left;
        return true;
    }
    /// Returns true if this call is to be measured: the first calls of each kind on this thread are, and later one
    /// call in Settings::gpu_times. Precondition: is_passed_over() has returned false.
    bool is_due(const Site& site, const Settings& in_force, const policy::MatmulCall& call);
    /// Records the first event of the call, which is about to run on `stream`. Precondition: is_due() has returned
    /// true.
    void begin_timing(Stream stream);
    void end_timing(bool has_succeeded) {
        if (pair_ != nullptr) record_end_event(has_succeeded);
    }

  private:
    /// Returns a hash of facts that distinguish most rows of the recording and are known before the call. The line of
    /// Python is not among these facts, since reading the stack takes longer than the whole measurement. One
    /// multiplication to 128 bits mixes all bits, since the numbers of call sites look random.
    static std::uint64_t kind_of(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                                 const ThreadContext& context) {
        __extension__ using Wide = unsigned __int128;
        const auto bits = [](std::int64_t word, int place) {
            return std::rotl(static_cast<std::uint64_t>(word), place);
        };
        const std::uint64_t sizes = static_cast<std::uint64_t>(call.m) + bits(call.n, 21) + bits(call.k, 42);
        const std::uint64_t others = site.number + bits(call.batch, 32) + bits(call.device_index, 56) +
                                     in_force.generation + context.scopes.key();
        const Wide product = static_cast<Wide>(sizes) * others;
        return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    }
    void record_end_event(bool has_succeeded);
    void keep_events();

    EventPair* pair_ = nullptr;  ///< nullptr if the call is not measured
    EventPairPool* pairs_;       ///< valid if is_due() has returned true
    Stream stream_;              ///< valid if `pair_` is not nullptr
};

}  // namespace fp32shim::cublas
