// Finds the exported function that contains an address of this process, for rules on call sites
// (`libphysics.so!solve`). Only the loaded table of exported names is read. The commands `report` and `log` also find
// functions that are not exported, and show names of C++ and Fortran in readable form.
#pragma once

#include <link.h>

#include <cstdint>
#include <string_view>

namespace fp32shim::where {

/// An exported function that contains an address.
struct ExportedFunction {
    /// The name in the object's table. It is valid while the object is loaded, and empty if no function was found.
    std::string_view name{};
    std::uint64_t offset = 0;  ///< bytes from the beginning of the function to the address
};

/// Returns the function that contains the call before `return_address`, an address in `object`. Returns an empty name
/// if no exported function contains this call, or if the search takes longer than 15 ms. Costs from 1 µs to some
/// milliseconds, depending on the number of functions in the object. Async-signal-safe. Precondition: an
/// elf::ReadGuard is held.
ExportedFunction exported_caller(const link_map* object, std::uintptr_t return_address);

}  // namespace fp32shim::where
