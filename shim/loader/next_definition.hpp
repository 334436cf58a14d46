// The functions of the C library that we stand before.
#pragma once

#include <link.h>

#include <string_view>

namespace fp32shim {

/// The next definition of a name after ours in load order: another preload's where there is one, else the C
/// library's. 0: there is none. Calls nothing outside this library.
ElfW(Addr) next_definition(std::string_view name);

}  // namespace fp32shim
