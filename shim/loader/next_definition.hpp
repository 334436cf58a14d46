// The functions of the C library that the shim stands before.
#pragma once

#include <link.h>

#include <string_view>

namespace fp32shim {

/// Returns the address of the next definition of a name after the shim's in load order: another preload's, else the C
/// library's; 0: there is none. Calls nothing outside this library.
ElfW(Addr) next_definition(std::string_view name);

}  // namespace fp32shim
