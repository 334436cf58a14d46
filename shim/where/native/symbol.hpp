// Names the function that contains an address of this process, for rules on call sites (`libphysics.so!solve*`).
//
// The table of exported names, which is in memory, is searched first. The table of all names in the object's file,
// which `strip` removes, is searched second. Debug information is not read; `report` and `log` do that. No
// allocation, no lock, no libc function that sets errno. Descriptors and memory are released before the return.
#pragma once

#include <link.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace fp32shim::where {

/// The name of the function that contains an address.
struct NamedAddress {
    std::string_view name{};   ///< result of function_name(); empty: unknown
    std::string_view clone{};  ///< suffix that the compiler added to the name (clone_suffix()), or empty
    std::uint64_t offset = 0;  ///< bytes from the beginning of the function, or of its split-off part, to the address
    bool gave_up = false;      ///< the name is unknown because the search took too long
};

/// Names the function that calls and then continues at `return_address`, an address of a loaded object. The texts lie
/// in `buffer`, which needs 2 * (symbol_limit + 1) bytes for the longest. Costs from 1 µs to some milliseconds,
/// depending on the number of functions in the object. Gives up after 100 ms. Async-signal-safe. Precondition: an
/// elf::Reading is held.
NamedAddress name_of_caller(const link_map* object, std::uintptr_t return_address, std::span<char> buffer);

}  // namespace fp32shim::where
