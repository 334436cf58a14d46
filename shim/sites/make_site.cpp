#include "shim/sites/find_site.hpp"

#include <unistd.h>

#include "shim/blas/routine.hpp"
#include "shim/cublas/govern/govern.hpp"
#include "shim/cublas/routes.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/loader/provider.hpp"
#include "shim/sites/dlsym_entries.hpp"
#include "shim/sites/known_sites.hpp"
#include "system/line_writer.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim {
namespace {

void warn_ambiguous_provider(const Site& site, const LoadedObject& provider) {
    static constinit system::OncePerProcess said;
    if (!said.is_first_call()) return;
    char buffer[1024];
    system::LineWriter line(buffer);
    line.text("several libraries provide ").text(site.function->name).text(" and its caller ");
    line.escaped(site.caller == nullptr ? "(unknown code)" : site.caller_name(), 300);
    line.text(" imports it from none of them; using ").escaped(provider.name, 300);
    system::stderr_line(line.view());
}

bool any_library_multiplies() {
    for (const FunctionIndex gemm : {row_sgemm_, row_cblas_sgemm, row_scipy_sgemm_, row_scipy_sgemm_64_})
        if (find_binding(nullptr, gemm).address != nullptr) return true;
    return false;
}

[[noreturn]] void end_without_provider(const Function& function, std::string_view caller) {
    char buffer[1024];
    system::LineWriter line(buffer);
    line.text("no loaded library provides ").text(function.name).text(", called from ");
    line.escaped(caller.empty() ? "unknown code" : caller, 300);
    if (!any_library_multiplies())
        line.text(
            "; if the program was linked with -lfp32shim, link its BLAS behind it with -Wl,--no-as-needed "
            "(-lfp32shim -Wl,--no-as-needed -lopenblas)");
    system::stderr_line(line.view());
    _exit(127);
}

/// The function of a provider that is executed for the calls from one call site, and the row of this function in the
/// function table.
struct BoundRoutine {
    FunctionBinding binding;
    const Function* function = nullptr;
};

/// Finds a stand-in for a function that no library provides; the result is empty if there is none. A stand-in does
/// the same work or, for a batch, a single product of the batch, and it has the same NameForm (`cblas_sgemm` for
/// `cblas_sgemm_batch`). missing_names.cpp explains how a lazily linked program can call a missing function.
BoundRoutine find_stand_in(LoadedObject* caller, const Function& function) {
    for (const StandIn& known : stand_ins) {
        if (known.missing != function.family) continue;
        const FunctionIndex row = find_function(*known.stand_in, function.form);
        if (row < 0) continue;
        if (const FunctionBinding binding = find_binding(caller, row); binding.address != nullptr)
            return {binding, &functions[row]};
    }
    return {};
}

/// Returns false if the function has a bare name (`sgemm`) and its library has no `sgemm_`, because the library is
/// then no BLAS. Also returns false if the CUDA driver calls its own function.
bool is_blas(const Site& site) {
    if (site.routine->convention == CallingConvention::driver) return site.caller != site.provider;
    if (site.routine->convention != CallingConvention::bare) return true;
    const FunctionIndex known_name = find_function(*site.routine->family, NameForm::underscored);
    return known_name >= 0 && find_symbol_in(*site.provider, functions[known_name].name) != nullptr;
}

/// Finds the function that is executed when `site` calls its entry point. Ends the process if there is none.
/// `dlsym_address` is the address that dlsym found if the entry point was made for dlsym, and otherwise nullptr.
/// Site::caller_behind_shim explains `caller_behind_shim`. An elf::ReadGuard must be held.
BoundRoutine find_routine(const Site& site, void* dlsym_address, LoadedObject* caller_behind_shim) {
    if (site.entry >= function_count)
        return {{object_containing(reinterpret_cast<std::uintptr_t>(dlsym_address)), dlsym_address}, site.function};
    LoadedObject* const importer = caller_behind_shim != nullptr ? caller_behind_shim : site.caller;
    BoundRoutine found{find_binding(importer, site.entry), site.function};
    if (found.binding.address == nullptr) found = find_stand_in(importer, *site.function);
    if (found.binding.address == nullptr) end_without_provider(*site.function, site.caller_name());
    return found;
}

void bind_cpu_functions(Site& site) {
    if (const FunctionIndex gemm = blas::gemm_of_same_type(*site.function); gemm >= 0)
        site.cpu.gemm = find_symbol_in(*site.provider, functions[gemm].name);
    if (const FunctionIndex single = blas::float32_counterpart(*site.routine); single >= 0) {
        site.cpu.routine_of_float32 = find_symbol_in(*site.provider, functions[single].name);
        if (const FunctionIndex gemm = blas::gemm_of_same_type(functions[single]); gemm >= 0)
            site.cpu.gemm_of_float32 = find_symbol_in(*site.provider, functions[gemm].name);
    }
    // The shim reads the arguments of a call that it passes to a stand-in, so it has to know the width of integers.
    if (site.runs_batch_one_by_one() &&
        blas::probe_integer_width(*site.provider, *site.routine) == IntegerWidth::unknown)
        end_without_provider(*site.function, site.caller_name());
}

/// Clears those members of a call site that may still have data, if the memory was that of a dead call site.
void clear(Site& site) {
    site.cpu.express.store(0, std::memory_order_relaxed);
    site.cpu.width.store(IntegerWidth::not_probed, std::memory_order_relaxed);
    site.cpu.gemm = site.cpu.routine_of_float32 = site.cpu.gemm_of_float32 = nullptr;
    site.cublas.route = nullptr;
    site.cublas.library = nullptr;
    site.cublas.with_compute_type = nullptr;
    site.rules.store(nullptr, std::memory_order_relaxed);
    site.call_site.store(nullptr, std::memory_order_relaxed);
    site.is_blas = false;
    site.forwards_while_bound.store(false, std::memory_order_relaxed);
}

constinit std::atomic<std::uint64_t> next_number{site_number_step};

}  // namespace

Site* make_site(EntryIndex entry, std::uintptr_t return_address, LoadedObject* caller_behind_shim) {
    const elf::ReadGuard reading;
    const std::uint64_t stamp = load_generation();
    const DlsymBinding binding = entry >= function_count ? dlsym_binding(entry) : DlsymBinding{entry, nullptr};
    // return_address - 1 is inside the call instruction, even if this instruction ends a function.
    LoadedObject* caller = object_containing(return_address - 1);
    Site* site = allocate_site(entry, return_address, caller);
    if (site == nullptr) site = obtain_shared_site(entry, caller, caller_behind_shim);
    if (is_existing_shared_site(*site)) return site;
    clear(*site);
    site->entry = entry;
    site->kept_return_address.store(return_address, std::memory_order_relaxed);
    site->function = &functions[binding.function];
    site->caller = caller;
    site->number = next_number.fetch_add(site_number_step, std::memory_order_relaxed);
    site->keyed = argument_key_layout(*site->function);
    const BoundRoutine found = find_routine(*site, binding.address, caller_behind_shim);
    site->provider = found.binding.provider;
    site->real = found.binding.address;
    site->routine = found.function;
    site->ambiguous = found.binding.ambiguous;
    site->by_importers = found.binding.by_importers;
    site->caller_behind_shim = caller_behind_shim;
    site->binding_stamp.store(stamp, std::memory_order_relaxed);
    // If the library behind an entry point for dlsym was unloaded, there is no provider, and only an address is
    // known.
    if (site->provider != nullptr) {
        site->is_blas = is_blas(*site);
        if (is_of_cublas(site->function->convention))
            cublas::bind_site(*site);
        else if (site->function->convention == CallingConvention::driver)
            site->cublas.route = cublas::route_of(*site->function->family);
        else
            bind_cpu_functions(*site);
        if (site->ambiguous) warn_ambiguous_provider(*site, *site->provider);
    }
    return site;
}

}  // namespace fp32shim
