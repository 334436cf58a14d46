#include "shim/kernels/record_launch.hpp"

#include <atomic>

#include "shim/cublas/driver.hpp"
#include "shim/decision/record_observed.hpp"
#include "shim/thread/running.hpp"
#include "system/line_writer.hpp"

namespace fp32shim::kernels {
namespace {

constexpr record::KernelJudgement unknown =
    record::unknown_kernel("is not known: nobody saw how its handle was found, or its code was unloaded");

/// True if launches may be missed. Later recordings and forked children inherit it, as they have the addresses that
/// the program looked up.
constinit std::atomic<bool> misses_kernels{false};

/// The recording that was in force at the first launch. Graphs that are replayed under a later one, after a reload,
/// may have been made before.
constinit std::atomic<const record::Recording*> first_recording{nullptr};

/// Returns true if the thread runs a product of cuBLAS that the shim governs. Then the product's own library
/// launches. If the program does, a signal handler may have left a product by siglongjmp.
bool is_inside_product(const Site& site, const Frame& frame) {
    return running.provider != nullptr && &frame < running.frame &&
           (site.caller == running.provider || site.caller_name().starts_with("libcublas"));
}

bool is_lower(policy::Applied format, policy::Applied permitted) {
    const auto floor = policy::floor_met_by(format), least = policy::floor_met_by(permitted);
    return floor && least && *floor < *least;
}

void count(const Site& site, const Settings& in_force, std::string_view name, std::uint64_t number,
           const record::KernelJudgement& judgement) {
    const CallTime now{record::Recording::not_timed, record::ticks()};
    // Kernels that multiply nothing would fill the recording with their lines.
    char text[512];
    record_observed_product(site, in_force, number, now, judgement.multiplies, [&](record::DecisionEvent& event) {
        system::LineWriter function(text);
        function.text(record::kernel_prefix).escaped(name, 480);
        event.call.function = function.view();
        event.call.caller = site.caller_name();
        event.provider = site.provider->name;
        event.call.device = policy::Device::cuda;
        const cublas::Device device = cublas::current_device();
        event.call.device_index = device.index;
        event.call.compute_capability = device.compute_capability;
        event.call.dtype = judgement.dtype;
        event.applied = judgement.applied;
        if (judgement.doubt.empty() && judgement.applied != policy::Applied::unchanged)
            event.actual = judgement.applied;
        const bool is_governed = policy::is_single(judgement.dtype) || policy::is_double(judgement.dtype);
        event.reason = is_governed ? policy::Reason::not_governable : policy::Reason::observed;
        if (!judgement.multiplies) {
            event.call.k = 0;
            event.reason = policy::Reason::no_product;
        }
        event.detail = judgement.doubt;
    });
}

}  // namespace

void record_launch(const Site& site, const Frame& frame, Handle handle, const Settings& in_force) {
    if (in_force.recording == nullptr) return;
    if (const record::Recording* none = nullptr; first_recording.load(std::memory_order_relaxed) == none)
        first_recording.compare_exchange_strong(none, in_force.recording, std::memory_order_relaxed);
    Kernel* const kernel = find_kernel(handle);
    const record::KernelJudgement& judgement = kernel == nullptr ? unknown : judgement_of(*kernel);
    if (is_inside_product(site, frame) && !is_lower(judgement.applied, permitted_format(*running.frame))) return;
    count(site, in_force, kernel == nullptr ? "unknown" : kernel->name, kernel == nullptr ? 0 : kernel->number,
          judgement);
    if (has_lost_handles() || misses_kernels.load(std::memory_order_relaxed)) miss_kernels(in_force);
}

void record_replay(const Site& site, const Settings& in_force) {
    if (in_force.recording == nullptr) return;
    record::KernelJudgement replay;
    replay.multiplies = false;
    count(site, in_force, record::graph_replay, ~std::uint64_t{0}, replay);
    const record::Recording* const first = first_recording.load(std::memory_order_relaxed);
    if (first != nullptr && first != in_force.recording) miss_kernels(in_force);
}

void miss_kernels(const Settings& in_force) {
    misses_kernels.store(true, std::memory_order_relaxed);
    if (in_force.recording != nullptr) in_force.recording->mark_kernels_missed();
}

}  // namespace fp32shim::kernels
