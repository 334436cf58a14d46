// A call site: a place in the program that calls one entry point, with all facts that are the same for each of its
// calls. This file has only data: shim/sites/ makes sites and keeps them up to date. The entry points (entry/*.S)
// find the site by the return address and jump to its target.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shim/entry/argument_key.hpp"
#include "shim/loader/loaded_object.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim {

namespace cublas {
struct Route;
struct Library;
}  // namespace cublas

struct SiteRuleList;
namespace policy {
struct CallSite;
}

/// Index of an entry point: a row of the function table or, for an entry point handed out by dlsym, `function_count`
/// plus its number.
using EntryIndex = std::int32_t;

/// The part of a call site that only functions of CPU libraries use.
struct CpuSite {
    std::atomic<std::uint64_t>
        express;  ///< lets calls be counted without a decision, see blas/govern/express.hpp; 0: none
    std::atomic<IntegerWidth> width;      ///< integer width of the provider; probed at the first governed call
    std::atomic<std::uint64_t> decision;  ///< a KeptDecision for all calls of the site; 0: none
    void* gemm;                           ///< the provider's gemm in the function's NameForm; nullptr: it has none
    // The next two are set for a function of float64; nullptr: another function, or the provider has no such routine.
    void* routine_of_float32;  ///< the provider's routine for float32
    void* gemm_of_float32;     ///< the provider's gemm for float32
};

/// The part of a call site that only functions of cuBLAS use.
struct CublasSite {
    std::atomic<std::uint64_t> plan;  ///< key and number of the plan for its calls, see plan_key.hpp; 0: none
    const cublas::Route* route;       ///< the ways to call the function
    const cublas::Library* library;   ///< the provider's other functions that the shim calls
    void* with_compute_type;          ///< the provider's equivalent function that takes a compute type, or nullptr
};

/// One call site. Never freed, but the memory of a dead site may be reused for the same entry point. A site whose
/// caller is outside every object may be given to another such caller. Assembly reads the first two members without a
/// lock. If a site's caller or provider was unloaded, its return_address becomes 0, which matches no call.
struct Site {
    std::atomic<std::uintptr_t> return_address;  ///< address that the site's calls return to; 0: the site is dead
    std::atomic<void*> target;                   ///< jump target of the entry point: `real`, or a gate of the shim
    void* real;                                  ///< the provider's function, with the signature of `routine`
    const Function* function;                    ///< the function that the program called
    const Function* routine;                     ///< `function`, or its stand-in if no library has `function`
    LoadedObject* provider;
    LoadedObject* caller;              ///< nullptr: code outside every object
    LoadedObject* caller_behind_shim;  ///< if the caller is the shim: the library, called by it, that called `entry`

    // The express lane reads the members above and those from here on: two cache lines.
    std::uint64_t number;  ///< a multiple of site_number_step; unique, also where memory is reused
    std::atomic<std::uint64_t> binding_stamp;  ///< load_generation() when the site was bound
    ArgumentKeyLayout keyed;                   ///< tells which arguments distinguish the calls of the site
    EntryIndex entry;                          ///< the entry point that was called
    bool is_blas;       ///< false: calls are left alone, since this is no BLAS, or cuBLAS or the driver calls itself
    bool ambiguous;     ///< importers of the function bind to several libraries, see FunctionBinding
    bool by_importers;  ///< the caller does not import the function: the site is bound again when objects are added
    std::atomic<bool> forwards_while_bound;  ///< calls are forwarded by a gate that only checks the binding
    bool was_rebound;                        ///< another site has replaced this one, which stays dead
    bool is_in_chain;                        ///< linked into its chain by `next`, see sites/known_sites.hpp
    CpuSite cpu;
    CublasSite cublas;
    std::atomic<const SiteRuleList*> rules;  ///< rules that may match (decide_call.cpp); nullptr: not selected yet
    std::atomic<const policy::CallSiteText*> call_site;  ///< call site as text; nullptr: not needed yet
    std::atomic<std::uintptr_t> kept_return_address;     ///< `return_address`, kept when the site is dead
    Site* next;                                          ///< next site of the same chain, see sites/known_sites.hpp

    /// Returns the base name of the calling object's file; empty for code outside every object.
    std::string_view caller_name() const { return caller == nullptr ? std::string_view{} : caller->name; }
    /// Returns true for a batch function that no library provides: the shim then calls `real` for each of its
    /// products.
    bool runs_batch_one_by_one() const {
        return routine != function && routine->product().batching != function->product().batching;
    }
};

static_assert(offsetof(Site, return_address) == 0 && offsetof(Site, target) == 8, "read by entry/*.S");

/// A random odd number. Its multiples look random, and the first 2^64 of them differ. The express lanes use the
/// numbers of sites in their keys without hashing them.
constexpr std::uint64_t site_number_step = 0xd1342543de82ef95;

/// The return_address of a site that is being made. No code returns to this address.
constexpr std::uintptr_t return_address_of_unfinished_site = 1;

/// The return_address of a site that several calls from one object share, because there was no memory for a site for
/// each. No code returns to this address. Entry points search the chains for such a site at each call.
constexpr std::uintptr_t return_address_of_shared_site = 2;

inline bool is_shared_site(const Site& site) {
    return site.return_address.load(std::memory_order_relaxed) == return_address_of_shared_site;
}

/// Returns true for a shared site that an earlier call made.
inline bool is_existing_shared_site(const Site& site) { return is_shared_site(site) && site.is_in_chain; }

/// Returns true if a site with this return address is alive.
inline bool is_live_return_address(std::uintptr_t address) { return address > return_address_of_unfinished_site; }

/// Returns true if no object loaded since the site was bound could change the binding.
[[gnu::always_inline]] inline bool is_binding_current(const Site& site) {
    return !site.by_importers || site.binding_stamp.load(std::memory_order_relaxed) == quick_load_generation();
}

}  // namespace fp32shim
