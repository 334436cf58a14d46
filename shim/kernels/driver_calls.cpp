#include "shim/kernels/driver_calls.hpp"

#include <atomic>

#include "shim/cublas/driver.hpp"
#include "shim/cublas/routes.hpp"
#include "shim/decision/record_observed.hpp"
#include "shim/kernels/kernels.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/loader/loaded_files.hpp"
#include "shim/loader/provider.hpp"
#include "shim/settings/read_settings.hpp"
#include "shim/sites/dlsym_entries.hpp"
#include "shim/thread/running.hpp"
#include "system/inline_text.hpp"
#include "system/kept_state.hpp"
#include "system/line_writer.hpp"

namespace fp32shim::kernels {
namespace {

// ---- Launches of kernels

constexpr record::KernelJudgement unknown =
    record::unknown_kernel("is not known: nobody saw how its handle was found, or its code was unloaded");

/// True if launches may be missed. It stays true for later recordings and in forked children, because the program
/// keeps the addresses of driver functions that it looked up past the shim.
constinit std::atomic<bool> misses_kernels{false};

/// The recording that was in force at the first launch. If the settings are read again, another recording may begin.
/// It lacks the kernels of graphs that were made before it began, even if these graphs are replayed later.
constinit std::atomic<const record::Recording*> first_recording{nullptr};

/// Returns true if this thread runs a product of cuBLAS that the shim governs, and the library of the product makes
/// the launch. A launch by another library does not count, because the program may have left the product by
/// siglongjmp, so that `running` is out of date.
bool is_inside_product(const Site& site, const Frame& frame) {
    return running.provider != nullptr && &frame < running.frame &&
           (site.caller == running.provider || site.caller_name().starts_with("libcublas"));
}

bool is_lower(policy::AppliedFormat format, policy::AppliedFormat permitted) {
    const auto floor = policy::floor_met_by(format), least = policy::floor_met_by(permitted);
    return floor && least && *floor < *least;
}

void count_launch(const Site& site, const Settings& in_force, std::string_view name, std::uint64_t number,
                  const record::KernelJudgement& judgement) {
    const CallTime now{record::Recording::not_timed, record::ticks()};
    // The lines of the program that launch a kernel are not recorded if the kernel multiplies nothing, because they
    // would fill the recording.
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
        if (judgement.doubt.empty() && judgement.applied != policy::AppliedFormat::unchanged)
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

/// Notes in the recording that some kernels may not be in it.
void mark_kernels_missed(const Settings& in_force) {
    misses_kernels.store(true, std::memory_order_relaxed);
    if (in_force.recording != nullptr) in_force.recording->mark_kernels_missed();
}

/// Counts a launch of a kernel, or its insertion into a graph. A launch inside a product of cuBLAS that the shim
/// governs belongs to that product. It is counted only if the kernel multiplies in a format that is lower than the
/// product's permitted format.
void record_kernel_launch(const Site& site, const Frame& frame, Handle handle, const Settings& in_force) {
    if (in_force.recording == nullptr) return;
    if (const record::Recording* none = nullptr; first_recording.load(std::memory_order_relaxed) == none)
        first_recording.compare_exchange_strong(none, in_force.recording, std::memory_order_relaxed);
    Kernel* const kernel = find_kernel(handle);
    const record::KernelJudgement& judgement = kernel == nullptr ? unknown : judgement_of(*kernel);
    if (is_inside_product(site, frame) && !is_lower(judgement.applied, permitted_format(*running.frame))) return;
    count_launch(site, in_force, kernel == nullptr ? "unknown" : kernel->name, kernel == nullptr ? 0 : kernel->number,
                 judgement);
    if (has_lost_handle() || misses_kernels.load(std::memory_order_relaxed)) mark_kernels_missed(in_force);
}

/// Counts a replay of a graph. The graph's kernels were counted when they were put into the graph.
void record_graph_replay(const Site& site, const Settings& in_force) {
    if (in_force.recording == nullptr) return;
    record::KernelJudgement replay;
    replay.multiplies = false;
    count_launch(site, in_force, record::graph_replay, ~std::uint64_t{0}, replay);
    const record::Recording* const first = first_recording.load(std::memory_order_relaxed);
    if (first != nullptr && first != in_force.recording) mark_kernels_missed(in_force);
}

// ---- The program's calls to functions of the driver

template <class T>
T argument(const Frame& frame, int word) {
    return reinterpret_cast<T>(frame.word(word));
}

/// The type CUDA_KERNEL_NODE_PARAMS_v2 of cuda.h. Version 1 of it ends before `kernel`, and always has a `function`.
struct GraphKernelNode {
    Handle function;
    std::uint32_t sizes[7];
    void* arguments[2];
    Handle kernel;
};

/// The type CUgraphNodeParams of cuda.h.
struct GraphNode {
    static constexpr std::int32_t is_kernel = 0;  ///< the value of CU_GRAPH_NODE_TYPE_KERNEL
    std::int32_t type;
    std::int32_t reserved[3];
    GraphKernelNode kernel;
};

/// Notes the handles of kernels that a call has stored in an array. The driver is asked for their names.
void note_listed(const Site& site, const Frame& frame) {
    const bool is_library = site.function->name == "cuLibraryEnumerateKernels";
    ForeignFunction<std::int32_t(std::uint32_t * count, Handle module)> count_of;
    ForeignFunction<std::int32_t(const char** name, Handle kernel)> name_of;
    {
        const elf::ReadGuard reading;
        find_symbol_in(*site.provider, is_library ? "cuLibraryGetKernelCount" : "cuModuleGetFunctionCount", count_of);
        find_symbol_in(*site.provider, is_library ? "cuKernelGetName" : "cuFuncGetName", name_of);
    }
    const auto* const handles = argument<const Handle*>(frame, 0);
    const auto module = argument<Handle>(frame, 2);
    std::uint32_t count = 0;
    if (count_of == nullptr || name_of == nullptr || count_of(&count, module) != 0) return;
    for (std::uint32_t i = 0; i < count && i < static_cast<std::uint32_t>(frame.word(1)); ++i)
        if (const char* name = nullptr; name_of(&name, handles[i]) == 0) note_kernel(handles[i], module, name);
}

/// Is called when the program has asked the driver for the address of a driver function. Replaces the driver's
/// answer by the address of the shim's entry point for that function.
void replace_address(const Site& site, const Frame& frame, const Settings& in_force) {
    void*& address = *argument<void**>(frame, 1);
    const std::string_view wanted = system::view(argument<const char*>(frame, 0));
    if (address == nullptr) return;
    bool is_seen = false;
    for (FunctionIndex row = 0; row < function_count; ++row) {
        const std::string_view name = functions[row].name;
        // Versions of a function have names such as cuGraphAddNode_v2 and cuLaunchKernel_ptsz, which begin with the
        // name `wanted`.
        if (functions[row].convention != CallingConvention::driver || !name.starts_with(wanted) ||
            (name.size() > wanted.size() && name[wanted.size()] != '_'))
            continue;
        is_seen = true;
        const elf::ReadGuard reading;
        if (find_symbol_in(*site.provider, name) != address) continue;
        void* const entry = dlsym_entry_for(row, address);
        if (entry == nullptr) break;
        address = entry;
        return;
    }
    // The table `functions` has only other versions of this function, or no entry point is left.
    if (is_seen) mark_kernels_missed(in_force);
}

void note_effect(const Site& site, const Frame& frame, const Settings& in_force) {
    const StateFamily& family = site.function->state();
    const auto subject = argument<const void*>(frame, family.at);
    const auto result = [&] { return *argument<const Handle*>(frame, 0); };
    switch (family.effect) {
        case StateEffect::image_loaded:
            return note_image(result(), subject, nullptr, site.caller_name());
        case StateEffect::file_loaded:
            return note_image(result(), nullptr, static_cast<const char*>(subject), site.caller_name());
        case StateEffect::kernel_found:
            return note_kernel(result(), argument<Handle>(frame, 1), static_cast<const char*>(subject));
        case StateEffect::kernels_listed:
            return note_listed(site, frame);
        case StateEffect::module_found:
            return note_library_module(result(), subject);
        case StateEffect::function_found:
            return note_function(result(), subject);
        case StateEffect::many_launched:
            return mark_kernels_missed(in_force);
        case StateEffect::graph_launched:
            return record_graph_replay(site, in_force);
        case StateEffect::node_in_graph:
        case StateEffect::kernel_in_graph: {
            const auto* node = static_cast<const GraphKernelNode*>(subject);
            if (family.effect == StateEffect::node_in_graph) {
                const auto* const any = static_cast<const GraphNode*>(subject);
                if (any->type != GraphNode::is_kernel) return;
                node = &any->kernel;
            }
            return record_kernel_launch(site, frame, node->function != nullptr ? node->function : node->kernel,
                                        in_force);
        }
        case StateEffect::address_found:
            return replace_address(site, frame, in_force);
        default:
            return;
    }
}

}  // namespace

bool intercepts_lookups_of(std::uintptr_t caller) {
    const system::ErrnoAndFloatGuard kept;
    const Settings* const in_force = settings_if_wanted("FP32_MATMUL_KERNELS");
    if (in_force == nullptr || !in_force->asks_kernels) {
        note_bypassing_driver_lookup();
        return false;
    }
    const elf::ReadGuard reading;
    const link_map* const map = elf::object_at(caller);
    return map == nullptr || !elf::name_of(map).starts_with("libcuda.so");
}

CallOutcome run_driver_call(const Site& site, const Frame& frame, const Settings& in_force) {
    const StateFamily& family = site.function->state();
    // An image is forgotten before it is unloaded, because another thread may get the same handle as soon as the
    // driver has it back. The driver refuses to unload the module of a library, so its image is then noted as loaded
    // again.
    const bool unloads = family.effect == StateEffect::image_unloaded;
    const bool was_loaded = unloads && set_loaded(argument<Handle>(frame, family.at), false);
    const auto status = static_cast<std::int32_t>(site.cublas.route->as_called(site.real, frame));
    if (was_loaded && status != 0) set_loaded(argument<Handle>(frame, family.at), true);
    if (unloads || status != 0) return {status, nullptr};
    if (family.effect == StateEffect::kernel_launched) {
        record_kernel_launch(site, frame, argument<Handle>(frame, family.at), in_force);
    } else {
        const system::ErrnoAndFloatGuard kept;
        note_effect(site, frame, in_force);
    }
    return {status, nullptr};
}

}  // namespace fp32shim::kernels
