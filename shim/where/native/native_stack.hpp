// Reads the calling thread's stack of compiled functions, by the tables that compilers write for exceptions. It does
// not use the C library's unwinder, which aborts the process if a table is wrong and, before glibc 2.35, takes the
// loader's lock.
//
// Nothing here allocates, waits or calls the loader. A wrong table gives a wrong or short stack but no crash, because
// a system call checks that each page is readable. The pages that were found readable are remembered as one range,
// and are not checked again until the walk leaves this range. A crash is possible only if a wrong table leads into
// the stack of a coroutine and this stack is freed after the check. Each thread keeps the unwind rules that it has
// found until objects are loaded or unloaded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "policy/policy.hpp"
#include "shim/where/native/unwind_rules.hpp"
#include "system/hash.hpp"

namespace fp32shim::where {

/// The callers of a matrix product, innermost first.
struct NativeStack {
    /// Reasons why a stack has no further callers.
    enum class StackEnd : std::uint8_t {
        outermost,       ///< the stack is whole: the last function has no caller
        cut,             ///< the requested number of callers was read
        generated_code,  ///< the next caller is code generated at run time, or in no object that the loader lists
        unknown          ///< no table leads to the caller of the last function
    };

    /// Return addresses of the callers. For a function that a signal interrupted, this is the address of its next
    /// instruction, plus 1.
    std::uintptr_t addresses[policy::max_native_frames];
    std::size_t count = 0;
    StackEnd end = StackEnd::unknown;
    /// A key that is equal for stacks with equal addresses, if no object was loaded again; never 0.
    std::uint64_t key = 0;
};

/// Keeps the unwind rules that a thread has found, by address, and the pages of its stack that are known to be
/// readable. An object in zeroed memory is empty.
class UnwindCache {
  public:
    /// The rule for an address, and the object that contains the address.
    struct alignas(64) CachedRule {
        std::uintptr_t instruction;  ///< the instruction's address; 0 if the entry is free
        std::uint64_t stamp;         ///< load_unload_generation() when the rule was found
        /// A number that identifies the object that contains the address, or one of the two constants below. The
        /// number differs even between objects that were loaded one after the other at one address.
        std::uint64_t object;
        FrameRule rule;

        static constexpr std::uint64_t no_object = 0;
        static constexpr std::uint64_t own_object = 1;  ///< the shim, or code of the kernel
    };
    /// The pages of a stack that are known to be readable.
    struct PageRange {
        std::uintptr_t begin, end;

        bool operator==(const PageRange&) const = default;
    };

    /// Returns the entry for `instruction`: one in the cache, or `spare`. A signal handler that calls BLAS may
    /// replace an entry in the cache while it is being used; the entry's `instruction` has then changed.
    const CachedRule& rule_at(std::uintptr_t instruction, std::uint64_t stamp, CachedRule& spare) {
        const std::size_t index = index_of(instruction);
        if (entry_is_for(entries_[index], instruction, stamp)) [[likely]]
            return entries_[index];
        // Each index has two entries, since two addresses of one stack may share an index and finding a rule takes a
        // microsecond.
        if (entry_is_for(entries_[index ^ 1], instruction, stamp)) return entries_[index ^ 1];
        return find_and_keep(instruction, stamp, spare);
    }

    /// Keeps the readable pages for the next walk.
    void keep_pages(PageRange found) {
        if (found != pages) replace_pages(found);
    }

    PageRange pages;

  private:
    static constexpr unsigned entry_bits = 9;

    static std::size_t index_of(std::uintptr_t instruction) { return system::table_index(instruction, entry_bits); }
    static bool entry_is_for(const CachedRule& entry, std::uintptr_t instruction, std::uint64_t stamp) {
        return entry.instruction == instruction && entry.stamp == stamp;
    }
    const CachedRule& find_and_keep(std::uintptr_t instruction, std::uint64_t stamp, CachedRule& spare);
    void replace_pages(PageRange found);

    std::array<CachedRule, std::size_t{1} << entry_bits> entries_;
};

/// Reads the stack of the calling thread, at most `max_callers` callers, beginning with the program's call. Leaves
/// out functions of the shim. `cache` may be nullptr, but then each function takes microseconds. Async-signal-safe.
void read_native_stack(std::size_t max_callers, UnwindCache* cache, NativeStack& stack);

}  // namespace fp32shim::where
