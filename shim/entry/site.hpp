// A call site: a place in the program that calls an entry point, with the facts that all of its calls have in common.
// This file has only data; shim/sites/ creates call sites and keeps them up to date. The entry points (entry/*.S)
// find the call site by the return address, and jump to its target.
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

/// The index of an entry point. It is the index of the function in the table or, for an entry point that dlsym handed
/// out, `function_count` plus the number of this entry point.
using EntryIndex = std::int32_t;

/// The part of a call site that only functions of CPU libraries use.
struct CpuSite {
    std::atomic<std::uint64_t>
        express;  ///< by this word, calls are counted without a decision (blas/govern/express.hpp); 0: they are not
    /// The integer width of the provider, which is probed at the first call that passes through blas::govern_call().
    std::atomic<IntegerWidth> width;
    std::atomic<std::uint64_t> decision;  ///< a KeptDecision for all calls of the call site; 0 if there is none
    void* gemm;  ///< the provider's gemm whose name has the same form (NameForm) as the function's; nullptr: none
    // `routine_of_float32` and `gemm_of_float32` are set for a function of float64. They are nullptr for other
    // functions, and if the provider lacks the routine.
    void* routine_of_float32;  ///< the provider's routine for float32
    void* gemm_of_float32;     ///< the provider's gemm for float32
};

/// The part of a call site that only functions of cuBLAS use.
struct CublasSite {
    std::atomic<std::uint64_t> plan;  ///< the key and number of the plan by which calls are carried out, see
                                      ///< plan_key.hpp; 0 if there is none
    const cublas::Route* route;       ///< the ways to call the function
    const cublas::Library* library;   ///< the provider's other functions that the shim calls
    void* with_compute_type;          ///< the provider's equivalent function that takes a compute type, or nullptr
};

/// One call site. If the caller or provider of a call site is unloaded, its return_address becomes 0, which matches
/// no call: the call site is dead. Its memory is never freed, but may be reused for the same entry point. A call site
/// whose caller is in no loaded object (generated code) may be given to another caller of this kind. Assembly reads
/// `return_address` and `target` without a lock.
struct Site {
    /// The address to which the calls return; 0 if the call site is dead.
    std::atomic<std::uintptr_t> return_address;
    std::atomic<void*> target;  ///< the jump target of the entry point: `real`, or a gate of the shim
    void* real;                 ///< the provider's function, with the signature of `routine`
    const Function* function;   ///< the function that the program called
    const Function* routine;    ///< `function`, or its stand-in if no library has `function`
    LoadedObject* provider;
    LoadedObject* caller;              ///< the calling object; nullptr for code in no loaded object
    LoadedObject* caller_behind_shim;  ///< if the caller is the shim, the library that the shim called and that then
                                       ///< called `entry`; otherwise nullptr

    // The express lane of CPU libraries reads the members above, and members from `number` to `cpu.width`. These lie
    // in two cache lines.
    std::uint64_t number;  ///< a multiple of site_number_step that no other call site has, even if memory is reused
    std::atomic<std::uint64_t> binding_stamp;  ///< load_generation() when the call site was bound to its provider
    ArgumentKeyLayout keyed;                   ///< tells which arguments distinguish the calls of the call site
    EntryIndex entry;                          ///< the entry point that was called
    bool is_blas;  ///< false if the shim leaves the calls alone, because the provider is no BLAS library, or because
                   ///< cuBLAS or the CUDA driver calls one of its own functions
    bool ambiguous;     ///< true if importers of the function bind to several libraries, see FunctionBinding
    bool by_importers;  ///< true if the caller does not import the function; the call site is then bound again when
                        ///< objects are added
    std::atomic<bool> forwards_while_bound;  ///< true if calls are forwarded by a gate that only checks the binding
    bool was_rebound;                        ///< true if another call site has replaced this one, which stays dead
    bool is_in_chain;  ///< true if the call site is linked into its chain by `next`, see sites/known_sites.hpp
    CpuSite cpu;
    CublasSite cublas;
    /// The rules that may match (decide_call.cpp); nullptr if they were not selected yet.
    std::atomic<const SiteRuleList*> rules;
    std::atomic<const policy::CallSiteText*> call_site;  ///< the call site as text; nullptr if it was not needed yet
    /// A copy of `return_address` that is kept when the call site is dead.
    std::atomic<std::uintptr_t> kept_return_address;
    Site* next;  ///< the next call site of the chain, see sites/known_sites.hpp

    /// Returns the base name of the calling object's file, or an empty text for code in no loaded object.
    std::string_view caller_name() const { return caller == nullptr ? std::string_view{} : caller->name; }
    /// Returns true if `function` is a batch function that no loaded library has. Then `real` is the function for a
    /// single product, `routine`, which the shim calls for each product of the batch.
    bool runs_batch_one_by_one() const {
        return routine != function && routine->product().batching != function->product().batching;
    }
};

static_assert(offsetof(Site, return_address) == 0 && offsetof(Site, target) == 8, "read by entry/*.S");

/// A random odd number. Its multiples look random, and the first 2^64 of them differ. So the express lanes
/// (blas/govern/express.hpp) can use the numbers of call sites in keys without hashing them.
constexpr std::uint64_t site_number_step = 0xd1342543de82ef95;

/// The return_address of a call site that is being created. No code returns to this address.
constexpr std::uintptr_t return_address_of_unfinished_site = 1;

/// The return_address of a call site that several callers from one object share, because there was no memory for a
/// call site of each. No code returns to this address. So entry points do not find the call site in their tables, and
/// each call searches the chains for it.
constexpr std::uintptr_t return_address_of_shared_site = 2;

inline bool is_shared_site(const Site& site) {
    return site.return_address.load(std::memory_order_relaxed) == return_address_of_shared_site;
}

/// Returns true for a shared call site that an earlier call created.
inline bool is_existing_shared_site(const Site& site) { return is_shared_site(site) && site.is_in_chain; }

/// Returns true if a call site with this return address is alive.
inline bool is_live_return_address(std::uintptr_t address) { return address > return_address_of_unfinished_site; }

/// Returns true if the call site's binding to its provider still holds, because no object was loaded since that could
/// change it.
[[gnu::always_inline]] inline bool is_binding_current(const Site& site) {
    return !site.by_importers || site.binding_stamp.load(std::memory_order_relaxed) == quick_load_generation();
}

}  // namespace fp32shim
