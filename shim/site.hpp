// A call site: one place in the program that calls one entry point. Everything that need not be found out per call
// hangs here. The entry points (entry_*.S) find the site by return address and jump to its target.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shim/argument_key.hpp"
#include "shim/loader/loaded_object.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim {

namespace cublas {
struct Route;
struct Library;
}  // namespace cublas

struct SiteRules;

/// The number of an entry point: a row of the table, or `function_count` + a slot handed out by dlsym.
using EntryIndex = std::int32_t;

/// Never freed; a dead one may be made anew for the same entry point, and one whose caller is outside every object
/// may go on with another such caller's return address. The first two members are read by assembly without a lock: a
/// site whose caller or provider was unloaded gets return_address 0, which matches no call.
struct Site {
    std::atomic<std::uintptr_t> return_address;  ///< where the call returns to; 0: dead
    std::atomic<void*> target;                   ///< the real function, or the gate of governed calls
    void* real;                                  ///< the provider's function, with the signature of `routine`
    const Function* function;                    ///< what the program called
    const Function* routine;                     ///< what `real` is: the same, or a stand-in for one that nobody has
    LoadedObject* provider;
    LoadedObject* caller;            ///< nullptr: code outside every object
    LoadedObject* on_behalf_of;      ///< the caller is ourselves: the library that jumped on from a call of ours
    void* gemm;                      ///< CPU: the provider's plain gemm of the same name form; nullptr: it has none
    const cublas::Route* route;      ///< cuBLAS: how this function is called and changed
    const cublas::Library* library;  ///< cuBLAS: what else of the provider the shim calls
    void* with_compute_type;         ///< cuBLAS: the provider's function that does the same with a compute type
    std::atomic<std::uintptr_t> called_from;  ///< the return address, also when dead
    EntryIndex entry;
    std::atomic<IntegerWidth> width;         ///< probed at the first governed call
    bool is_blas;                            ///< false: a bare name of a library that is no BLAS; never governed
    bool ambiguous;                          ///< see Binding
    bool by_importers;                       ///< see Binding: to be asked again when objects were added
    std::atomic<bool> forwards_while_bound;  ///< not governed, gated only for `by_importers`
    bool was_rebound;                        ///< dead for good
    bool is_in_chain;
    std::atomic<std::uint64_t> bound_at;  ///< the objects_stamp() that it was bound under
    std::atomic<std::uint64_t> verdict;   ///< CPU: decision for all calls of this site, see decision.hpp; 0: none
    std::atomic<std::uint64_t> plan;      ///< cuBLAS: the same, see cublas/plan.hpp
    std::atomic<const SiteRules*> rules;  ///< see site_rules.hpp; nullptr: no call was judged by its sizes
    std::uint64_t number;                 ///< no other site has it, nor one made anew of the same memory
    KeyedArguments keyed;                 ///< CPU
    std::atomic<std::uint64_t> express;   ///< CPU: see express_lane.hpp; 0: closed
    Site* next;

    std::string_view caller_name() const { return caller == nullptr ? std::string_view{} : caller->name; }
    /// A batch that no library provides is run product by product, with `real` for one.
    bool runs_one_by_one() const {
        return routine != function && routine->product().batching != function->product().batching;
    }
};

static_assert(offsetof(Site, return_address) == 0 && offsetof(Site, target) == 8, "read by entry_*.S");

/// What a site's return address is while it is made anew; no code returns there.
constexpr std::uintptr_t taken = 1;

/// Whether a site with this return address is alive.
inline bool is_return_address(std::uintptr_t address) { return address > taken; }

/// The site of a call that entered at `entry` and returns to `return_address`, made on first use: finds caller and
/// provider and decides whether its calls need the gate. Called by the entry points on a miss.
/// Does not return where no library provides the function.
Site* find_site(EntryIndex entry, std::uintptr_t return_address);

/// Whether nothing was loaded since that could bind the site to another function.
[[gnu::always_inline]] inline bool is_bound(const Site& site) {
    return !site.by_importers || site.bound_at.load(std::memory_order_relaxed) == quick_objects_stamp();
}

/// The site itself, or, where it has to be bound anew because objects were added, the one in its place.
Site* rebound_site(Site* site);

/// Sets every site's target anew: the settings changed.
void refresh_sites();

/// Kills the sites, and gives back the slots, of objects that are no longer loaded.
void forget_unloaded();

}  // namespace fp32shim
