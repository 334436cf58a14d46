// The fourth step of a cuBLAS call: runs the call, changed or as the program made it.
#pragma once

#include <string_view>

#include "shim/cublas/govern/gpu_timer.hpp"
#include "shim/cublas/routes.hpp"
#include "shim/cublas/site_plan.hpp"
#include "shim/thread/running.hpp"

namespace fp32shim::cublas {

/// Returns true if cuBLAS returns this status only before it launches anything, so that the call can be repeated as
/// the program made it. status_alloc_failed is among these statuses: it concerns the workspace of a kernel, and fast
/// formats need more workspace.
inline bool is_refusal(std::int32_t status) {
    return status == status_alloc_failed || status == status_invalid_value || status == status_arch_mismatch ||
           status == status_not_supported;
}

/// The detail that is recorded for a call that lacked memory both in the decided format and as the program made it.
inline constexpr std::string_view no_memory_as_called =
    "nor was there memory for the call as made; a stream that was being captured can no longer be captured";

inline std::int32_t call_as_called(const Site& site, const Frame& frame) {
    return static_cast<std::int32_t>(site.cublas.route->as_called(site.real, frame));
}

inline std::int32_t call_with_compute_type(const Site& site, const Frame& frame, const CallChange& change) {
    return static_cast<std::int32_t>(site.cublas.route->with_compute_type(
        site.cublas.with_compute_type, frame, {change.compute_type, change.replaces_algorithm}));
}

/// Runs a call as planned. If the library refuses, repeats the call as the program made it, and corrects `done`.
/// Precondition: the handle's lock is held.
std::int32_t run_as_planned(const Site& site, const Frame& frame, const Product& product, const Plan& plan,
                            ExecutionOutcome& done);

/// Runs a cublasLt product as the program made it. `own_desc` is the program's descriptor, and `compute_type` is the
/// compute type in it. `kept_bits` becomes EmulationRequest::kept_bits.
std::int32_t run_lt_as_called(const Site& site, const Frame& frame, const void* own_desc, std::int32_t compute_type,
                              std::int32_t* kept_bits);

/// Calls `run()`, which runs a call as planned, and returns the library's status. Measures the time if calls are
/// logged.
template <class Run>
[[gnu::always_inline]] inline std::int32_t run_timed(const Site& site, const Frame& frame, const Settings& in_force,
                                                     const ExecutionOutcome& done, GpuTimedCall& time,
                                                     const Run& run) {
    const bool logs = in_force.is_logging();
    const RunningProduct outer = running;
    running = {site.provider, nullptr, &frame};
    if (in_force.asks_kernels) note_permitted_format(frame, done.applied);
    if (logs) time.begin = current_call_time(in_force);
    const std::int32_t status = run();
    if (logs) time.end = current_call_time(in_force);
    running = outer;
    time.end_timing(status == status_success);
    return status;
}

}  // namespace fp32shim::cublas
