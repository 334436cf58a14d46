// Defines dlsym, dlvsym and dlclose. A program that looks up `cblas_sgemm` in a library by dlsym bypasses preloaded
// libraries. These hooks answer with an entry point of the shim that stands for that library's function. For all
// other names, the hooks jump to the real functions (entry/*.S), because the real functions depend on their caller's
// address.
//
// The path to the real functions uses only the shim's own reader of ELF tables and calls no other library, because
// sanitizer runtimes look up their own strcmp through these hooks before their strcmp works.
#include <dlfcn.h>

#include "shim/kernels/driver_calls.hpp"
#include "shim/loader/elf/objects.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/loader/elf/slots.hpp"
#include "shim/loader/loaded_files.hpp"
#include "shim/loader/loaded_object.hpp"
#include "shim/loader/next_definition.hpp"
#include "shim/loader/provider.hpp"
#include "shim/onednn/copies.hpp"
#include "shim/settings/read_settings.hpp"
#include "shim/settings/settings.hpp"
#include "shim/sites/dlsym_entries.hpp"
#include "shim/sites/find_site.hpp"
#include "shim/table/functions.hpp"
#include "shim/where/python/interpreter.hpp"
#include "system/inline_text.hpp"
#include "system/line_writer.hpp"
#include "system/stderr_line.hpp"

extern "C" {

using DlsymFunction = void* (*)(void* handle, const char* name);
using DlvsymFunction = void* (*)(void* handle, const char* name, const char* version);

// The code in entry/*.S jumps to the functions at these addresses.
__attribute__((visibility("hidden"))) constinit DlsymFunction fp32shim_real_dlsym = nullptr;
__attribute__((visibility("hidden"))) constinit DlvsymFunction fp32shim_real_dlvsym = nullptr;

int fp32shim_wants_lookup(void* handle, const char* name, std::uintptr_t return_address);
void* fp32shim_answer_dlsym(void* handle, const char* name, void* unused, std::uintptr_t return_address);
void* fp32shim_answer_dlvsym(void* handle, const char* name, const char* version, std::uintptr_t return_address);
}

namespace fp32shim {

namespace {

void find_real_lookups() {
    // A thread that sees the address of dlsym must also see that of dlvsym. aarch64 may make one store visible before
    // another.
    if (__atomic_load_n(&fp32shim_real_dlsym, __ATOMIC_ACQUIRE) != nullptr) return;
    const auto real_dlvsym = reinterpret_cast<DlvsymFunction>(next_definition("dlvsym"));
    const auto real_dlsym = reinterpret_cast<DlsymFunction>(next_definition("dlsym"));
    __atomic_store_n(&fp32shim_real_dlvsym, real_dlvsym, __ATOMIC_RELAXED);
    __atomic_store_n(&fp32shim_real_dlsym, real_dlsym, __ATOMIC_RELEASE);
}

/// Returns the list of objects in this process's recording, or nullptr if there is no recording.
record::LoadedFileList* recorded_objects() {
    record::Recording* const recording = own_recording();
    return recording != nullptr ? recording->objects() : nullptr;
}

void warn_no_entry_left(const char* name) {
    static constinit system::OncePerProcess said;
    if (!said.is_first_call()) return;
    char buffer[256];
    system::LineWriter line(buffer);
    line.text("dlsym was asked for more functions than there are entry points; not seen: ");
    line.text(system::view(name)).text(" and later ones");
    system::stderr_line(line.view());
}

/// Returns the answer to a lookup of `name` that found the address `found`. The answer is an entry point of the shim
/// that stands for `found`. It is `found` itself if no entry point is left, or if `found` is not code of a known
/// object (data, another linker namespace, code of a hook).
void* entry_point_for(const char* name, void* found) {
    // Some programs look up a function before each call. If the function is known, the loaded objects need not be
    // examined.
    if (void* known = known_dlsym_entry(find_function(name), found)) return known;
    const elf::ReadGuard reading;
    if (elf::object_with_code_at(reinterpret_cast<ElfW(Addr)>(found)) == nullptr) {
        note_bypassing_lookup(recorded_objects());
        return found;
    }
    if (void* entry = dlsym_entry_for(find_function(name), found)) return entry;
    warn_no_entry_left(name);
    note_bypassing_lookup(recorded_objects());
    return found;
}

/// Returns true if a lookup with RTLD_NEXT from this caller finds an exported entry point of the shim. The caller is
/// then another preloaded library that wraps the function. The exported entry point would call this wrapper, so the
/// caller has to get an entry point that calls the next definition after the shim's.
bool next_is_entry_point(const char* name, std::uintptr_t return_address) {
    const elf::ReadGuard reading;
    return find_by_rtld_next(object_containing(return_address - 1), system::view(name), {}).is_ours;
}

/// Returns the address that a lookup from `return_address` would find if the shim were not loaded; nullptr if there
/// is none.
void* find_past_shim(void* handle, const char* name, std::string_view version, std::uintptr_t return_address) {
    const elf::ReadGuard reading;
    const LoadedObject* caller = object_containing(return_address - 1);
    if (handle == RTLD_NEXT) return find_by_rtld_next(caller, system::view(name), version).address;
    if (handle == RTLD_DEFAULT) return find_by_rtld_default(caller, system::view(name), version).address;
    return find_by_handle(handle, system::view(name), version).address;
}

/// Returns true if the loader searches the shim for a lookup in `handle`, which dlopen returned.
bool includes_shim(const void* handle) {
    const elf::ReadGuard reading;
    return handle_scope_contains(handle, elf::own_object());
}

/// Returns true if Python imports an extension module by this lookup, in a process whose settings ask for lines of
/// Python.
bool is_import_by_python(const char* name) {
    if (!system::view(name).starts_with("PyInit_")) return false;
    const Settings* const in_force = known_settings();
    if (in_force != nullptr) return in_force->reads_python_lines;
    const std::string_view where = value_at_start("FP32_MATMUL_WHERE");
    const auto has = [&](std::string_view word) { return where.find(word) != std::string_view::npos; };
    return (has("python") || has("auto")) && value_at_start("FP32_MATMUL_DISABLE").empty();
}

/// Returns true if a lookup from `return_address` has to find a function as it would without the shim. This applies
/// to functions of the CUDA driver, unless the settings ask for kernels.
bool must_find_real_function(FunctionIndex function, std::uintptr_t return_address) {
    return functions[function].convention == CallingConvention::driver &&
           !kernels::intercepts_lookups_of(return_address - 1);
}

/// If the object that looks up a function of the CUDA driver has a variable of this name, binds the object to its own
/// variable.
void rebind_own_variables(std::uintptr_t return_address, const char* name) {
    const elf::ReadGuard reading;
    if (const link_map* const caller = elf::object_at(return_address - 1))
        elf::rebind_own_variables(caller, system::view(name));
}

bool is_set_verbose(const char* name) { return system::equal(system::view(name), "dnnl_set_verbose"); }

void* real_lookup(void* handle, const char* name, const char* version) {
    return version == nullptr ? fp32shim_real_dlsym(handle, name) : fp32shim_real_dlvsym(handle, name, version);
}

/// Returns the answer to a call of dlsym or dlvsym for `name`, an intercepted function or dnnl_set_verbose: an entry
/// point for the function that would be found without the shim, or that function itself if must_find_real_function()
/// says so. If no object except the shim has the name, returns nullptr, and dlerror has the loader's message.
/// `version` is nullptr for dlsym.
void* answer_lookup(void* handle, const char* name, const char* version, std::uintptr_t return_address) {
    void* found = nullptr;
    if (handle != RTLD_NEXT && handle != RTLD_DEFAULT) {
        found = real_lookup(handle, name, version);
        // If the loader found the name in the shim, and no library has the function, the loader has not set dlerror.
        // The result nullptr is therefore final only if the lookup did not search the shim.
        if (found == nullptr && !includes_shim(handle)) return nullptr;
    }
    // With RTLD_NEXT and RTLD_DEFAULT, the result of the real function depends on its caller, which would be the
    // shim. So the shim makes the search instead.
    if (found == nullptr || elf::is_own_code(reinterpret_cast<ElfW(Addr)>(found))) {
        const std::string_view wanted = version == nullptr ? std::string_view{} : system::view(version);
        found = find_past_shim(handle, name, wanted, return_address);
    }
    if (found != nullptr && is_set_verbose(name))
        return reinterpret_cast<void*>(onednn::wrap_setter(reinterpret_cast<onednn::SetVerbose*>(found)));
    if (found != nullptr)
        return must_find_real_function(find_function(name), return_address) ? found : entry_point_for(name, found);
    // No other object has the name, so the lookup has to fail as it does in the loader. The real function fails and
    // sets dlerror, which then names this library as the place that was searched. RTLD_NEXT depends on the return
    // address, so the compiler must not make this a tail call.
    void* nothing = real_lookup(RTLD_NEXT, name, version);
    asm volatile("" : "+r"(nothing));
    return handle == RTLD_NEXT || handle == RTLD_DEFAULT ? nothing : nullptr;
}

}  // namespace
}  // namespace fp32shim

int fp32shim_wants_lookup(void* handle, const char* name, std::uintptr_t return_address) {
    using namespace fp32shim;
    find_real_lookups();
    if (name != nullptr && is_import_by_python(name)) where::check_stack_reader_against_python();
    if (name != nullptr && is_set_verbose(name)) return 1;
    const FunctionIndex function = name == nullptr ? -1 : find_function(name);
    if (function < 0) return 0;
    if (functions[function].convention == CallingConvention::driver) rebind_own_variables(return_address, name);
    if (handle == RTLD_NEXT) return next_is_entry_point(name, return_address) ? 1 : 0;
    return handle == RTLD_DEFAULT || !must_find_real_function(function, return_address) || includes_shim(handle) ? 1
                                                                                                                 : 0;
}

void* fp32shim_answer_dlsym(void* handle, const char* name, void*, std::uintptr_t return_address) {
    return fp32shim::answer_lookup(handle, name, nullptr, return_address);
}

void* fp32shim_answer_dlvsym(void* handle, const char* name, const char* version, std::uintptr_t return_address) {
    return fp32shim::answer_lookup(handle, name, version, return_address);
}

extern "C" __attribute__((visibility("default"))) int dlclose(void* handle) noexcept {
    using namespace fp32shim;
    static constinit NextFunction<int(void*)> real{"dlclose"};
    auto* const real_dlclose = real.get();
    if (real_dlclose == nullptr) return -1;  // impossible, because there would be no C library
    record_files_before_closing(recorded_objects(), handle);
    int result = 0;
    {
        const elf::CloseGuard closing;
        result = real_dlclose(handle);
    }
    forget_unloaded_objects();  // another object may be loaded at the same address
    return result;
}
