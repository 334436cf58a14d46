// NVTX ranges. A program's copy of NVTX initialises the library that NVTX_INJECTION64_PATH names, once per copy. The
// shim registers callbacks for ranges on threads, domains and strings, and for nothing else.
#include "shim/ranges/nvtx.hpp"

#include <dlfcn.h>

#include "shim/ranges/ranges.hpp"
#include "shim/ranges/texts.hpp"

namespace fp32shim::nvtx {
namespace {

int push_ex(const void* domain, const EventAttributes* attributes) {
    LabelBuffer buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled as needed
    std::string_view label;
    if (attributes != nullptr && attributes->size >= sizeof(EventAttributes)) {
        const void* const message = attributes->message;
        if (attributes->message_type == MessageType::ascii) label = label_view(static_cast<const char*>(message));
        if (attributes->message_type == MessageType::unicode)
            label = label_view(static_cast<const wchar_t*>(message), buffer);
        if (attributes->message_type == MessageType::registered) label = registered_text(message);
    }
    return open_range(domain_of_handle(domain), label);
}

int default_push_ex(const EventAttributes* attributes) { return push_ex(nullptr, attributes); }
int push_a(const char* message) { return open_range(nvtx_default_domain, label_view(message)); }
int push_w(const wchar_t* message) {
    LabelBuffer buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled as needed
    return open_range(nvtx_default_domain, label_view(message, buffer));
}
int pop() { return close_range(nvtx_default_domain); }
int domain_pop(const void* domain) { return close_range(domain_of_handle(domain)); }

const void* create_a(const char* name) { return handle_of(range_domain(RangeSource::nvtx, label_view(name))); }
const void* create_w(const wchar_t* name) {
    LabelBuffer buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled as needed
    return handle_of(range_domain(RangeSource::nvtx, label_view(name, buffer)));
}
const void* register_a(const void*, const char* text) { return &register_text(label_view(text)); }
const void* register_w(const void*, const wchar_t* text) {
    LabelBuffer buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled as needed
    return &register_text(label_view(text, buffer));
}

struct Callback {
    unsigned id;
    FunctionPointer function;
};

template <class Function>
FunctionPointer to_function_pointer(Function* function) {
    return reinterpret_cast<FunctionPointer>(function);
}

/// Makes a copy of NVTX call `callbacks`. If the copy does not have one of them, changes nothing and returns false.
template <std::size_t count>
bool install_callbacks(const ExportedCallbacks& exported, Module module, const Callback (&callbacks)[count]) {
    FunctionPointer** table = nullptr;
    unsigned size = 0;
    if (exported.module_functions(module, &table, &size) == 0 || table == nullptr) return false;
    for (const Callback& callback : callbacks)
        if (callback.id >= size || table[callback.id] == nullptr) return false;
    for (const Callback& callback : callbacks) *table[callback.id] = callback.function;
    return true;
}

/// Registers the shim's functions with a copy of NVTX. Returns 1. Returns 0 if no ranges are wanted; NVTX then does
/// nothing.
int initialize(GetExportTable get_export_table) {
    if (get_export_table == nullptr || !ranges_wanted(RangeSource::nvtx)) return 0;
    const auto* const exported = static_cast<const ExportedCallbacks*>(get_export_table(callbacks_table));
    if (exported == nullptr || exported->struct_size < sizeof(ExportedCallbacks)) return 0;
    const Callback of_core[] = {{core::range_push_ex, to_function_pointer(default_push_ex)},
                                {core::range_push_a, to_function_pointer(push_a)},
                                {core::range_push_w, to_function_pointer(push_w)},
                                {core::range_pop, to_function_pointer(pop)}};
    const Callback of_core2[] = {{core2::range_push_ex, to_function_pointer(push_ex)},
                                 {core2::range_pop, to_function_pointer(domain_pop)},
                                 {core2::register_string_a, to_function_pointer(register_a)},
                                 {core2::register_string_w, to_function_pointer(register_w)},
                                 {core2::domain_create_a, to_function_pointer(create_a)},
                                 {core2::domain_create_w, to_function_pointer(create_w)}};
    const bool has_core = install_callbacks(*exported, Module::core, of_core);
    return install_callbacks(*exported, Module::core2, of_core2) || has_core ? 1 : 0;
}

}  // namespace
}  // namespace fp32shim::nvtx

using namespace fp32shim::nvtx;

// NOLINTBEGIN(readability-identifier-naming): the names are NVTX's

/// Called by NVTX in the library that NVTX_INJECTION64_PATH names.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(GetExportTable get_export_table) {
    return initialize(get_export_table);
}

/// Called by copies of NVTX that search for a preloaded library because no variable names one. They call only the
/// first one that they find. So another preloaded tool after the shim, or one linked into the program, takes
/// precedence.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2Preinject(
    GetExportTable get_export_table) {
    using Initialize = int (*)(GetExportTable);
    const auto other = reinterpret_cast<Initialize>(dlsym(RTLD_NEXT, "InitializeInjectionNvtx2Preinject"));
    if (other != nullptr && other(get_export_table) != 0) return 1;
    const auto* linked = static_cast<const Initialize*>(dlsym(RTLD_DEFAULT, "InitializeInjectionNvtx2_fnptr"));
    if (linked != nullptr && *linked != nullptr && (*linked)(get_export_table) != 0) return 1;
    return initialize(get_export_table);
}

// NOLINTEND(readability-identifier-naming)
