// Measures how long some products take on their GPU: by two events of the CUDA driver on the product's stream, which
// are read without waiting at a later call, or when the program ends. docs/worth.md says what such a time contains.
#pragma once

#include <cstdint>

#include "policy/matmul_call.hpp"
#include "shim/cublas/api.hpp"
#include "shim/decision/record_call.hpp"
#include "shim/entry/site.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim::cublas {

struct EventPair;
struct EventPairs;

/// One call that may be measured. Whatever fails, the call is not measured, and nothing is said.
class GpuTimer {
  public:
    GpuTimer() = default;
    /// Hands the events over to be read later, if the call was measured and counted.
    ~GpuTimer() {
        if (pair_ != nullptr) keep();
    }
    GpuTimer(const GpuTimer&) = delete;
    GpuTimer& operator=(const GpuTimer&) = delete;

    /// Returns true if it is the turn of this call: one of the first calls of its kind on this thread, or one in
    /// Settings::gpu_times. Called once for each recorded call. Precondition: in_force.gpu_times != 0.
    bool is_due(const Site& site, const Settings& in_force, const policy::MatmulCall& call);
    /// Has the call measured that now runs on this stream. Precondition: is_due().
    void measure_on(Stream stream) {
        stream_ = stream;
        is_wanted_ = true;
    }
    void begin() {
        if (is_wanted_) record_begin();
    }
    void end(bool has_succeeded) {
        if (pair_ != nullptr) record_end(has_succeeded);
    }
    std::uint64_t counted_as = 0;  ///< key under which the recording has counted the call; 0: none

  private:
    [[gnu::noinline]] bool is_due_by_kind(const Settings& in_force, std::uint64_t kind);
    void record_begin();
    void record_end(bool has_succeeded);
    void keep();

    EventPairs* pairs_ = nullptr;
    EventPair* pair_ = nullptr;  ///< nullptr: the call is not measured
    Stream stream_ = nullptr;
    bool is_wanted_ = false;
};

/// The times of one call, on the host and on the GPU.
struct TimedCall : CallTime {
    GpuTimer gpu;

    TimedCall() { counted_as = &gpu.counted_as; }
};

}  // namespace fp32shim::cublas
