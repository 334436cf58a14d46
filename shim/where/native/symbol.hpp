// The function in which an address of this process lies, by name: for rules on call sites (`libphysics.so!solve*`).
//
// First asked is the table of exported names, which is in memory, then the table of all names in the object's file,
// which `strip` removes. Debug information and files that hold it apart are not read; `report` and `log` do that.
// No allocation, no lock, no libc function that sets errno. Descriptor and memory are given back
// before the return.
#pragma once

#include <link.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace fp32shim::where {

/// Name of the function that an address lies in.
struct NamedAddress {
    std::string_view name{};   ///< as function_name() returns it; empty: not known
    std::string_view clone{};  ///< addition of the compiler's to the name (clone_suffix()), or empty
    std::uint64_t offset = 0;  ///< bytes from the begin of the function, or of that part of it, to the address
    bool gave_up = false;      ///< the name is not known because the search took too long
};

/// Names the function that returns to an address of a loaded object. The texts lie in `buffer`, which has to have two
/// times symbol_limit + 1 bytes for the longest. Costs from 1 µs to some milliseconds, by the number of the object's
/// functions; gives up after 100 ms. Async-signal-safe. Precondition: an elf::Reading is held.
NamedAddress name_of_caller(const link_map* object, std::uintptr_t return_address, std::span<char> buffer);

}  // namespace fp32shim::where
