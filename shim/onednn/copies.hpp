// Manages the copies of oneDNN in this process. A oneDNN that is linked into another library (torch, jaxlib) exports
// nothing. But if its verbose mode is on, it prints a line for each primitive that it executes.
//
// A copy asks for ONEDNN_VERBOSE at its first use. The shim then answers that the mode is on. In the object that
// contains the copy, the shim replaces printf and similar functions (printing.cpp) by functions that hide the lines
// from the program. No other object is changed, and neither is the environment.
#pragma once

#include <link.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shim/entry/site.hpp"
#include "shim/loader/loaded_object.hpp"

namespace fp32shim::onednn {

/// oneDNN's dnnl_set_verbose, or a function that calls it.
using SetVerbose = int(int level);

/// An object (library or program) that contains a oneDNN, and in which oneDNN has asked for its verbose mode. Never
/// freed.
struct OneDnnCopy {
    Site site;            ///< the call site to which products are recorded: the object counts as caller and provider
    std::uint32_t loads;  ///< value of LoadedObject::loads when oneDNN asked for its verbose mode
    /// Range of the object's addresses. They are stored because the object's tables are unmapped when it is unloaded.
    std::atomic<std::uintptr_t> begin, end;
    std::atomic<bool> is_set;        ///< the program has set the mode by a call
    std::atomic<bool> shows;         ///< the program itself wants to see the lines
    std::atomic<bool> shows_errors;  ///< without the shim, the program would see lines about errors
    /// The head of the log, which oneDNN prints before the first line. It is stored until a line is shown.
    std::atomic<std::size_t> head_size;
    char head[2048];

    LoadedObject& object() const { return *site.provider; }
};

/// Returns the copy in the object that contains this address, or nullptr.
OneDnnCopy* copy_at(std::uintptr_t address);

/// Notes in the object's record, and in the recording, what the shim found out about oneDNN or XLA in the object.
/// `findings` has bits such as record::format::object_tells. Bits are never removed. An elf::ReadGuard must be held.
void note_findings(LoadedObject& object, std::uint8_t findings);

/// Returns true if `name` is a variable that sets oneDNN's verbose mode.
bool is_verbose_variable(std::string_view name);

/// Returns the answer to the code at `caller`, which asks for the variable `name` of the verbose mode. `own` is the
/// value of this variable in the environment. `other` is the value of DNNL_VERBOSE. oneDNN reads DNNL_VERBOSE if
/// ONEDNN_VERBOSE is not set; versions before 2.5 read it also if MKLDNN_VERBOSE is set. `own` and `other` are
/// nullptr if their variable is not set. `has_log_file` is true if ONEDNN_VERBOSE_LOGFILE is set; some builds write
/// to this file instead of printing.
const char* answer_verbose(std::string_view name, const char* own, const char* other, bool has_log_file,
                           std::uintptr_t caller);

/// Calls `set` for a program that requests the verbose mode `level`: 0 for no lines, 1 for executions, 2 for
/// creations too. If the settings ask for executions, passes 1 instead of 0 and hides the lines. Returns the result
/// of `set`.
int set_verbose(SetVerbose* set, int level);

/// Returns the function that a program gets if it looks up dnnl_set_verbose in a library where the function is at
/// `found`. It is a function that calls set_verbose() for `found`, or `found` itself.
SetVerbose* wrap_setter(SetVerbose* found);

/// A function of the C library that oneDNN calls to print, and the function that replaces it in objects with oneDNN.
struct PrintReplacement {
    std::string_view name;
    void* function;
    bool prints;
};
constexpr std::size_t replacement_count = 4;
extern const PrintReplacement replacements[replacement_count];

}  // namespace fp32shim::onednn
