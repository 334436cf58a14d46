// Declares the functions of elfutils' libdw that the code in this folder uses. The library is loaded when it is first
// needed. Without the library, the command works but finds no source lines.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

namespace fp32shim::cli {

#define FP32SHIM_LIBDW_FUNCTIONS(ROW) \
    ROW(dwfl_begin)                   \
    ROW(dwfl_end)                     \
    ROW(dwfl_errmsg)                  \
    ROW(dwfl_report_begin)            \
    ROW(dwfl_report_elf)              \
    ROW(dwfl_report_end)              \
    ROW(dwfl_standard_find_debuginfo) \
    ROW(dwfl_offline_section_address) \
    ROW(dwfl_module_getdwarf)         \
    ROW(dwfl_module_getsymtab)        \
    ROW(dwfl_module_getsym_info)      \
    ROW(dwarf_get_units)              \
    ROW(dwarf_cu_info)                \
    ROW(dwarf_ranges)                 \
    ROW(dwarf_child)                  \
    ROW(dwarf_siblingof)              \
    ROW(dwarf_tag)                    \
    ROW(dwarf_attr)                   \
    ROW(dwarf_attr_integrate)         \
    ROW(dwarf_formstring)             \
    ROW(dwarf_formudata)              \
    ROW(dwarf_formref_die)            \
    ROW(dwarf_getscopes_die)          \
    ROW(dwarf_getsrc_die)             \
    ROW(dwarf_getsrcfiles)            \
    ROW(dwarf_filesrc)                \
    ROW(dwarf_lineno)                 \
    ROW(dwarf_linesrc)

/// Pointers to libdw's functions. The members have the names of the functions.
struct Libdw {
// NOLINTNEXTLINE(bugprone-macro-parentheses): `name` is declared here, so it cannot be in parentheses
#define FP32SHIM_LIBDW_MEMBER(name) decltype(&::name) name = nullptr;
    FP32SHIM_LIBDW_FUNCTIONS(FP32SHIM_LIBDW_MEMBER)
#undef FP32SHIM_LIBDW_MEMBER
};

/// Returns pointers to libdw's functions, or null if the library is not installed or is too old.
const Libdw* load_libdw();

}  // namespace fp32shim::cli
