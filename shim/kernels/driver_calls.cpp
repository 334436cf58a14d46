#include "shim/kernels/driver_calls.hpp"

#include "shim/cublas/routes.hpp"
#include "shim/kernels/kernels.hpp"
#include "shim/kernels/record_launch.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/loader/loaded_files.hpp"
#include "shim/loader/provider.hpp"
#include "shim/settings/read_settings.hpp"
#include "shim/sites/dlsym_entries.hpp"
#include "system/inline_text.hpp"
#include "system/kept_state.hpp"

namespace fp32shim::kernels {
namespace {

template <class T>
T argument(const Frame& frame, int word) {
    return reinterpret_cast<T>(frame.word(word));
}

/// CUDA_KERNEL_NODE_PARAMS_v2 of cuda.h. Version 1 ends before `kernel`, and always has a function.
struct KernelNode {
    Handle function;
    std::uint32_t sizes[7];
    void* arguments[2];
    Handle kernel;
};

/// CUgraphNodeParams of cuda.h.
struct GraphNode {
    static constexpr std::int32_t is_kernel = 0;  ///< CU_GRAPH_NODE_TYPE_KERNEL
    std::int32_t type;
    std::int32_t reserved[3];
    KernelNode kernel;
};

/// Notes the handles that a call has stored in an array. The driver tells their names.
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

/// Replaces the address of a function of the driver that the program looked up by that of an entry point.
void replace_address(const Site& site, const Frame& frame, const Settings& in_force) {
    void*& address = *argument<void**>(frame, 1);
    const std::string_view wanted = system::view(argument<const char*>(frame, 0));
    if (address == nullptr) return;
    bool is_seen = false;
    for (FunctionIndex row = 0; row < function_count; ++row) {
        const std::string_view name = functions[row].name;
        // Versions of a function have names such as cuGraphAddNode_v2 and cuLaunchKernel_ptsz.
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
    // The table does not know this version of the function, or no entry point is left.
    if (is_seen) miss_kernels(in_force);
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
            return note_module(result(), subject);
        case StateEffect::function_found:
            return note_function(result(), subject);
        case StateEffect::many_launched:
            return miss_kernels(in_force);
        case StateEffect::graph_launched:
            return record_replay(site, in_force);
        case StateEffect::node_in_graph:
        case StateEffect::kernel_in_graph: {
            const auto* node = static_cast<const KernelNode*>(subject);
            if (family.effect == StateEffect::node_in_graph) {
                const auto* const any = static_cast<const GraphNode*>(subject);
                if (any->type != GraphNode::is_kernel) return;
                node = &any->kernel;
            }
            return record_launch(site, frame, node->function != nullptr ? node->function : node->kernel, in_force);
        }
        case StateEffect::address_found:
            return replace_address(site, frame, in_force);
        default:
            return;
    }
}

}  // namespace

bool sees_lookups_of(std::uintptr_t caller) {
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
    // An image is forgotten before it is unloaded: another thread may get the same handle once the driver has it
    // back. The driver refuses to unload the module of a library.
    const bool unloads = family.effect == StateEffect::image_unloaded;
    const bool was_loaded = unloads && note_loaded(argument<Handle>(frame, family.at), false);
    const auto status = static_cast<std::int32_t>(site.cublas.route->as_called(site.real, frame));
    if (was_loaded && status != 0) note_loaded(argument<Handle>(frame, family.at), true);
    if (unloads || status != 0) return {status, nullptr};
    if (family.effect == StateEffect::kernel_launched) {
        record_launch(site, frame, argument<Handle>(frame, family.at), in_force);
    } else {
        const system::ErrnoAndFloatGuard kept;
        note_effect(site, frame, in_force);
    }
    return {status, nullptr};
}

}  // namespace fp32shim::kernels
