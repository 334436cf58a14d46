// The calling thread's stack of compiled functions, by the tables that compilers write for exceptions. The C
// library's unwinder is not used: it ends the process where a table is wrong and, before glibc 2.35, takes the
// loader's lock.
//
// Nothing here allocates, waits or calls the loader. Memory is read only where it is a part of the stack: a page is
// asked for by a system call, and known until the walk leaves its run of pages. So a wrong table gives a wrong or a
// short stack; only one that leads into a coroutine's stack, freed after it was asked for, could crash. What a table
// says of an address is kept for the thread; objects that are loaded or unloaded end that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "policy/policy.hpp"
#include "shim/where/native/unwind_rules.hpp"
#include "system/hash.hpp"

namespace fp32shim::where {

/// The innermost callers of a product, innermost first.
struct NativeStack {
    /// Reasons why a stack has no further callers.
    enum class End : std::uint8_t {
        outermost,  ///< it is whole: the last function has no caller
        cut,        ///< as many were read as were asked for
        made_code,  ///< the next caller is code that was made at run time, or lies in no object that the loader lists
        unknown     ///< no table tells the caller of the last function
    };

    std::uintptr_t addresses[policy::most_native_frames];  ///< return addresses; of an interrupted function, 1 beyond
    std::size_t count = 0;
    End end = End::unknown;
    std::uint64_t key = 0;  ///< equal for stacks of equal addresses, if no object was loaded again; never 0
};

/// Rules of addresses that a thread has met, and the pages of its stack that it may read. All zeros is an empty
/// object.
class UnwindCache {
  public:
    /// Rule of an address, and the object that it lies in.
    struct alignas(64) Entry {
        std::uintptr_t instruction;  ///< 0: the entry is free
        std::uint64_t stamp;         ///< objects_list_stamp() when the rule was found
        std::uint64_t
            object;  ///< number that differs between objects, also if loaded at one address; or one of these
        FrameRule rule;

        static constexpr std::uint64_t no_object = 0;
        static constexpr std::uint64_t own_object = 1;  ///< the shim, or what the kernel put there
    };
    /// The pages of a stack that are known to be readable.
    struct Pages {
        std::uintptr_t begin, end;

        bool operator==(const Pages&) const = default;
    };

    /// Returns the entry of an address: a kept one, or `spare`. If a signal handler that multiplies replaces a kept
    /// entry while it is in use, its `instruction` differs afterwards.
    const Entry& entry_of(std::uintptr_t instruction, std::uint64_t stamp, Entry& spare) {
        const std::size_t index = index_of(instruction);
        if (is_of(entries_[index], instruction, stamp)) [[likely]]
            return entries_[index];
        // Two addresses of one stack may have one index: to find a rule again takes a microsecond.
        if (is_of(entries_[index ^ 1], instruction, stamp)) return entries_[index ^ 1];
        return find(instruction, stamp, spare);
    }

    /// Keeps the pages for the next stack.
    void keep_pages(Pages found) {
        if (found != pages) replace_pages(found);
    }

    Pages pages;

  private:
    static constexpr unsigned entry_bits = 9;

    static std::size_t index_of(std::uintptr_t instruction) { return system::table_index(instruction, entry_bits); }
    static bool is_of(const Entry& entry, std::uintptr_t instruction, std::uint64_t stamp) {
        return entry.instruction == instruction && entry.stamp == stamp;
    }
    const Entry& find(std::uintptr_t instruction, std::uint64_t stamp, Entry& spare);
    void replace_pages(Pages found);

    std::array<Entry, std::size_t{1} << entry_bits> entries_;
};

/// Reads the stack of the calling thread, up to `most` callers, from the program's call on: functions of the shim are
/// left out. `cache`: nullptr works too, but takes microseconds for each function. Async-signal-safe.
void read_native_stack(std::size_t most, UnwindCache* cache, NativeStack& stack);

}  // namespace fp32shim::where
