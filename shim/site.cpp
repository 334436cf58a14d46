#include "shim/site.hpp"

#include <unistd.h>

#include <cerrno>

#include "shim/arena.hpp"
#include "shim/call.hpp"
#include "shim/cublas/govern.hpp"
#include "shim/entry/gate.hpp"
#include "shim/express_lane.hpp"
#include "shim/loader/elf/objects.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/loader/provider.hpp"
#include "shim/loader/slots.hpp"
#include "shim/running.hpp"
#include "shim/settings.hpp"
#include "shim/site_table.hpp"
#include "system/line_writer.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim {
namespace {

// All sites, by (entry, return address). Chains grow at the head and are never cut, so readers need no lock.
constexpr std::size_t bucket_count = 4096;
constinit std::atomic<Site*> buckets[bucket_count]{};

std::atomic<Site*>& bucket_of(EntryIndex entry, std::uintptr_t return_address) {
    const std::uint64_t key = return_address * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(entry);
    return buckets[(key >> 40) % bucket_count];
}

/// Sites of code outside every object have one chain per entry point: their return addresses can change.
std::atomic<Site*>& bucket_of_outside(EntryIndex entry) { return bucket_of(entry, 0); }

Site* site_in(const std::atomic<Site*>& bucket, EntryIndex entry, std::uintptr_t return_address,
              const LoadedObject* on_behalf_of) {
    for (Site* site = bucket.load(std::memory_order_acquire); site != nullptr; site = site->next) {
        if (site->entry == entry && site->on_behalf_of == on_behalf_of &&
            site->return_address.load(std::memory_order_acquire) == return_address)
            return site;
    }
    return nullptr;
}

Site* known_site(EntryIndex entry, std::uintptr_t return_address, const LoadedObject* on_behalf_of) {
    Site* site = site_in(bucket_of(entry, return_address), entry, return_address, on_behalf_of);
    return site != nullptr ? site : site_in(bucket_of_outside(entry), entry, return_address, on_behalf_of);
}

/// Makes a complete site alive and known; one that was made anew is in its chain already.
void remember(Site* site, std::uintptr_t return_address) {
    site->return_address.store(return_address, std::memory_order_release);
    if (site->is_in_chain) return;
    site->is_in_chain = true;
    std::atomic<Site*>& bucket =
        site->caller == nullptr ? bucket_of_outside(site->entry) : bucket_of(site->entry, return_address);
    site->next = bucket.load(std::memory_order_relaxed);
    while (!bucket.compare_exchange_weak(site->next, site, std::memory_order_release, std::memory_order_relaxed)) {
    }
}

// Code that is made at run time may call from ever new places. Sites of one entry point whose callers are outside
// every object differ in nothing but the return address. So beyond this many, a new place takes over the site of an
// older one: a thread that is using it meanwhile finds in it what it would find in its own.
constexpr std::size_t outside_limit = 256;
constinit std::atomic<std::size_t> next_to_take_over{0};

bool can_be_taken_over(const Site& site, EntryIndex entry) {
    return is_return_address(site.return_address.load(std::memory_order_acquire)) && site.entry == entry &&
           site.caller == nullptr && site.provider != nullptr;
}

/// A site of the same entry point, taken over from a caller outside every object; nullptr: there are not too many
/// yet, or this caller is in an object.
Site* take_over_site(EntryIndex entry, std::uintptr_t return_address) {
    Site* const newest = bucket_of_outside(entry).load(std::memory_order_acquire);
    std::size_t count = 0;
    for (Site* site = newest; site != nullptr; site = site->next) count += can_be_taken_over(*site, entry);
    if (count < outside_limit) return nullptr;
    {
        const elf::Reading reading;
        if (object_containing(return_address - 1) != nullptr) return nullptr;
    }
    std::size_t to_skip = next_to_take_over.fetch_add(1, std::memory_order_relaxed) % count;
    for (Site* site = newest; site != nullptr; site = site->next) {
        if (!can_be_taken_over(*site, entry)) continue;
        if (to_skip > 0) {
            --to_skip;
            continue;
        }
        std::uintptr_t old = site->return_address.load(std::memory_order_relaxed);
        if (!is_return_address(old) ||
            !site->return_address.compare_exchange_strong(old, return_address, std::memory_order_acq_rel))
            continue;  // another thread was first
        site->called_from.store(return_address, std::memory_order_relaxed);
        return site;
    }
    return nullptr;
}

void say_ambiguous(const Site& site, const LoadedObject& provider) {
    static constinit system::OncePerProcess said;
    if (!said.first()) return;
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

/// Without the shim the loader would have refused to start the program or to resolve the call, or the program would
/// have found its weak reference NULL.
[[noreturn]] void end_without_provider(const Function& function, std::string_view caller) {
    char buffer[1024];
    system::LineWriter line(buffer);
    line.text("no loaded library provides ").text(function.name).text(", called from ");
    line.escaped(caller.empty() ? "unknown code" : caller, 300);
    line.text(any_library_multiplies()
                  ? "; if that is a weak reference, which is never NULL under fp32shim, run this "
                    "program without it"
                  : "; if the program was linked with -lfp32shim, link its BLAS behind it with "
                    "-Wl,--no-as-needed (-lfp32shim -Wl,--no-as-needed -lopenblas)");
    system::stderr_line(line.view());
    _exit(127);
}

struct Routine {
    Binding binding;
    const Function* function = nullptr;
};

/// A function that no library provides, called through a weak reference that became non-NULL because we export it:
/// another of the same name form that does the same, or a batch's single one.
Routine find_stand_in(LoadedObject* caller, const Function& function) {
    for (const StandIn& known : stand_ins) {
        if (known.missing != function.family) continue;
        const FunctionIndex row = find_function(*known.stand_in, function.form);
        if (row < 0) continue;
        if (const Binding binding = find_binding(caller, row); binding.address != nullptr)
            return {binding, &functions[row]};
    }
    return {};
}

/// Bare names can be anybody's: `sgemm` of a library that is no BLAS. Governed only if it has `sgemm_` too.
bool is_blas(const Site& site) {
    if (site.routine->convention != Convention::bare) return true;
    const FunctionIndex known_name = find_function(*site.routine->family, NameForm::underscored);
    return known_name >= 0 && find_in(*site.provider, functions[known_name].name) != nullptr;
}

void* find_gemm(const Site& site) {
    const bool is_complex = site.function->product().dtype == policy::Dtype::complex64;
    const FunctionIndex row = find_function(is_complex ? families::cgemm : families::sgemm, site.function->form);
    return row < 0 ? nullptr : find_in(*site.provider, functions[row].name);
}

/// Memory for a site: a dead one of the same place that nobody can be in the middle of using, else fresh. Its caller
/// is gone; or its provider is, which the caller itself imported, and whoever still calls that has lost anyway. A
/// program that loads and unloads a plugin for ever does not grow.
Site* allocate_site(EntryIndex entry, std::uintptr_t return_address, const LoadedObject* caller) {
    for (Site* site = bucket_of(entry, return_address).load(std::memory_order_acquire); site != nullptr;
         site = site->next) {
        if (site->entry != entry || site->was_rebound || site->caller == nullptr) continue;
        const bool has_same_caller = site->caller == caller && !site->by_importers;
        if (!has_same_caller && site->caller->loaded.load(std::memory_order_acquire)) continue;
        std::uintptr_t dead = 0;
        if (site->return_address.compare_exchange_strong(dead, taken, std::memory_order_acq_rel)) return site;
    }
    auto* site = static_cast<Site*>(arena_allocate(sizeof(Site)));
    site->return_address.store(taken, std::memory_order_relaxed);
    return site;
}

void* gate_of(const Site& site, const Settings& in_force) {
    if (site.function->convention == Convention::cublas) return reinterpret_cast<void*>(&fp32shim_cublas_gate);
    const bool is_worth_a_look =
        may_take_express_lane(site, in_force) || site.forwards_while_bound.load(std::memory_order_relaxed);
    return reinterpret_cast<void*>(is_worth_a_look ? &fp32shim_express_gate : &fp32shim_govern_gate);
}

constinit std::atomic<std::uint64_t> next_number{1};

/// Complete, but for its return address, which makes it alive.
Site* make_site(EntryIndex entry, std::uintptr_t return_address, LoadedObject* on_behalf_of) {
    const elf::Reading reading;
    const std::uint64_t stamp = objects_stamp();
    const bool is_slot = entry >= function_count;
    const SlotBinding slot = is_slot ? slot_binding(entry) : SlotBinding{entry, nullptr};
    const Function& function = functions[slot.function];

    LoadedObject* caller = object_containing(return_address - 1);  // inside the call, also where it ends a function
    Site* site = allocate_site(entry, return_address, caller);
    site->entry = entry;
    site->called_from.store(return_address, std::memory_order_relaxed);
    site->function = &function;
    site->caller = caller;
    site->gemm = nullptr;
    site->route = nullptr;
    site->library = nullptr;
    site->with_compute_type = nullptr;
    site->is_blas = false;
    site->number = next_number.fetch_add(1, std::memory_order_relaxed);
    site->keyed = keyed_arguments(function);
    site->express.store(0, std::memory_order_relaxed);
    site->rules.store(nullptr, std::memory_order_relaxed);
    site->forwards_while_bound.store(false, std::memory_order_relaxed);
    site->width.store(IntegerWidth::not_probed, std::memory_order_relaxed);
    Routine found{{}, &function};
    if (is_slot) {
        found.binding.provider = object_containing(reinterpret_cast<std::uintptr_t>(slot.address));
        found.binding.address = slot.address;
    } else {
        LoadedObject* importer = on_behalf_of != nullptr ? on_behalf_of : site->caller;
        found.binding = find_binding(importer, slot.function);
        if (found.binding.address == nullptr) found = find_stand_in(importer, function);
        if (found.binding.address == nullptr) end_without_provider(function, site->caller_name());
    }
    site->provider = found.binding.provider;
    site->real = found.binding.address;
    site->routine = found.function;
    site->ambiguous = found.binding.ambiguous;
    site->by_importers = found.binding.by_importers;
    site->on_behalf_of = on_behalf_of;
    site->bound_at.store(stamp, std::memory_order_relaxed);
    if (site->provider != nullptr) {  // else: a slot of a library that is gone; its address is all there is
        site->is_blas = is_blas(*site);
        if (is_of_cublas(function.convention)) {
            cublas::bind(*site);
        } else {
            site->gemm = find_gemm(*site);
        }
        if (site->ambiguous) say_ambiguous(*site, *site->provider);
        // A stand-in is called with arguments that we read: without the width there is no stand-in.
        if (site->runs_one_by_one() && integer_width(*site->provider, *site->routine) == IntegerWidth::unknown)
            end_without_provider(function, site->caller_name());
    }
    site->target.store(gate_of(*site, settings()), std::memory_order_relaxed);
    return site;
}

/// Sets the target by the settings in force. Two threads that do so at once may store in the wrong order, so whoever
/// finds that the settings changed meanwhile does it again.
void refresh(Site& site) {
    std::uint32_t count = 0;
    do {
        count = settings_change_count();
        site.verdict.store(0, std::memory_order_relaxed);
        site.express.store(0, std::memory_order_relaxed);
        site.plan.store(0, std::memory_order_relaxed);
        const bool is_governed = needs_gate(site);
        site.forwards_while_bound.store(!is_governed && site.by_importers, std::memory_order_relaxed);
        const bool is_gated = is_governed || site.by_importers;
        site.target.store(is_gated ? gate_of(site, settings()) : site.real, std::memory_order_release);
    } while (count != settings_change_count());
}

bool is_alive(const Site& site) { return is_return_address(site.return_address.load(std::memory_order_acquire)); }

template <class Visit>
void for_each_site(Visit visit) {
    for (std::atomic<Site*>& bucket : buckets)
        for (Site* site = bucket.load(std::memory_order_acquire); site != nullptr; site = site->next) visit(*site);
}

}  // namespace

Site* find_site(EntryIndex entry, std::uintptr_t return_address) {
    const int saved_errno = errno;
    // A library that we called and that jumps on to another entry point returns into us, at one place for all of
    // them.
    const bool from_ourselves = elf::is_own_code(return_address);
    LoadedObject* on_behalf_of = from_ourselves ? running_library() : nullptr;
    Site* site = known_site(entry, return_address, on_behalf_of);
    if (site == nullptr) {
        // Also catches what was unloaded past our dlclose: by the C library, or by a library that binds its own.
        forget_unloaded();
        site = from_ourselves ? nullptr : take_over_site(entry, return_address);
    }
    if (site == nullptr) {
        site = make_site(entry, return_address, on_behalf_of);
        // Complete before others can see it; then once more, for settings that changed before they could see it.
        refresh(*site);
        remember(site, return_address);
        refresh(*site);
    }
    if (!from_ourselves) cache(*site);
    errno = saved_errno;
    return site;
}

namespace {

/// Whether a site that was bound under other objects may stay as it is.
bool stays_bound(Site& site) {
    const elf::Reading reading;
    const std::uint64_t stamp = objects_stamp();
    if (site.bound_at.load(std::memory_order_relaxed) == stamp) return true;
    const Binding binding = find_binding(site.caller, static_cast<FunctionIndex>(site.routine - functions));
    // Where no importer is left that would tell, it stays with the library that it was called in so far.
    const bool stays = binding.by_importers ? binding.address == site.real && binding.ambiguous == site.ambiguous
                                            : elf::is_in_list(site.provider->map) &&
                                                  loaded_object(site.provider->map) == site.provider;
    if (stays) site.bound_at.store(stamp, std::memory_order_relaxed);
    return stays;
}

}  // namespace

Site* rebound_site(Site* site) {
    // More than once where two threads had each made a site of this place.
    while (!is_bound(*site) && !stays_bound(*site)) {
        site->was_rebound = true;  // other threads may be in the middle of using it
        site->return_address.store(0, std::memory_order_release);
        site = find_site(site->entry, site->called_from.load(std::memory_order_relaxed));
    }
    return site;
}

void refresh_sites() {
    for_each_site([](Site& site) {
        if (is_alive(site)) refresh(site);
    });
}

void forget_unloaded() {
    {
        const elf::Reading reading;
        if (!notice_unloaded_objects()) return;
    }
    // Sites first: a slot that is given back may be taken at once, and called from the same place.
    for_each_site([](Site& site) {
        const bool caller_gone = site.caller != nullptr && !site.caller->loaded.load(std::memory_order_acquire);
        const bool provider_gone = site.provider != nullptr && !site.provider->loaded.load(std::memory_order_acquire);
        const bool jumper_gone =
            site.on_behalf_of != nullptr && !site.on_behalf_of->loaded.load(std::memory_order_acquire);
        if (is_alive(site) && (caller_gone || provider_gone || jumper_gone))
            site.return_address.store(0, std::memory_order_release);
    });
    forget_unloaded_slots();
}

}  // namespace fp32shim

extern "C" fp32shim::Site* fp32shim_find_site(fp32shim::EntryIndex entry, std::uintptr_t return_address) {
    return fp32shim::find_site(entry, return_address);
}

#if defined(__x86_64__)
extern "C" int fp32shim_vector_bytes() {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) return 64;
    return __builtin_cpu_supports("avx") ? 32 : 16;
}
#endif
