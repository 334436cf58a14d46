// A call site: one place in the program that calls one entry point, and everything that need not be found out per
// call. Data only: shim/sites/ makes sites and keeps them up to date. The entry points (entry/*.S) find the site by
// return address and jump to its target.
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

struct SiteRules;

/// The number of an entry point: a row of the table, or `function_count` + a slot handed out by dlsym.
using EntryIndex = std::int32_t;

/// The part of a site that only functions of CPU libraries use.
struct CpuSite {
    std::atomic<std::uint64_t> express;   ///< see blas/express.hpp; 0: calls take the long way
    std::atomic<IntegerWidth> width;      ///< probed at the first governed call
    std::atomic<std::uint64_t> decision;  ///< for all calls of the site, see blas/decide.hpp; 0: none is kept
    void* gemm;                           ///< the provider's plain gemm of the same name form; nullptr: it has none
};

/// The part of a site that only functions of cuBLAS use.
struct CublasSite {
    std::atomic<std::uint64_t> plan;  ///< for all calls of the site, see cublas/plan.hpp; 0: none is kept
    const cublas::Route* route;       ///< the ways to call the function
    const cublas::Library* library;   ///< the provider's other functions that the shim calls
    void* with_compute_type;          ///< the provider's function that does the same with a compute type
};

/// Never freed. A dead site may be made anew for the same entry point. One whose caller is outside every object may
/// go on with the return address of another such caller. The first two members are read by assembly without a lock;
/// a site whose caller or provider was unloaded gets return_address 0, which matches no call.
struct Site {
    std::atomic<std::uintptr_t> return_address;  ///< address that the call returns to; 0: dead
    std::atomic<void*> target;                   ///< the real function, or the gate of governed calls
    void* real;                                  ///< the provider's function, with the signature of `routine`
    const Function* function;                    ///< the function that the program called
    const Function* routine;                     ///< `function`, or a stand-in where no library has that
    LoadedObject* provider;
    LoadedObject* caller;        ///< nullptr: code outside every object
    LoadedObject* on_behalf_of;  ///< library that jumped on from its own call, if the shim itself is the caller

    // The express lane reads these and the line above: two cache lines.
    std::uint64_t number;                    ///< unique, also among sites made anew in the same memory
    std::atomic<std::uint64_t> bound_at;     ///< objects_stamp() when the site was bound
    KeyedArguments keyed;                    ///< the arguments that tell the calls of the site apart
    EntryIndex entry;                        ///< the entry point that was called
    bool is_blas;                            ///< false: a bare name of a library that is no BLAS; never governed
    bool ambiguous;                          ///< see Binding
    bool by_importers;                       ///< see Binding: to be bound again when objects were added
    std::atomic<bool> forwards_while_bound;  ///< not governed, gated only for `by_importers`
    bool was_rebound;                        ///< dead for good
    bool is_in_chain;                        ///< see sites/known_sites.hpp
    CpuSite cpu;
    CublasSite cublas;
    std::atomic<const SiteRules*> rules;      ///< see decision/site_rules.hpp; nullptr: no sizes were judged yet
    std::atomic<std::uintptr_t> called_from;  ///< the return address, also when dead
    Site* next;                               ///< see sites/known_sites.hpp

    /// Returns the base name of the calling object's file; empty for code outside every object.
    std::string_view caller_name() const { return caller == nullptr ? std::string_view{} : caller->name; }
    /// Returns true for a batch that no library provides: `real` is then called for each of its products.
    bool runs_one_by_one() const {
        return routine != function && routine->product().batching != function->product().batching;
    }
};

static_assert(offsetof(Site, return_address) == 0 && offsetof(Site, target) == 8, "read by entry/*.S");

/// The return address of a site that is being made anew; no code returns there.
constexpr std::uintptr_t taken = 1;

/// Returns true if a site with this return address is alive.
inline bool is_return_address(std::uintptr_t address) { return address > taken; }

/// Returns true if no object was loaded since that could bind the site to another function.
[[gnu::always_inline]] inline bool is_bound(const Site& site) {
    return !site.by_importers || site.bound_at.load(std::memory_order_relaxed) == quick_objects_stamp();
}

}  // namespace fp32shim
