// The copies of oneDNN in this process. oneDNN exports nothing where it is linked into another library (torch,
// jaxlib), but if its verbose mode is on, it prints a line for each primitive that it executes.
//
// A copy asks for ONEDNN_VERBOSE at its first use. It is then told that the mode is on, and the object that it lies
// in gets other functions in place of printf and its kin (printing.cpp), which keep the lines from the program. No
// other object is changed, and neither is the environment.
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

/// An object with a oneDNN that has asked for its verbose mode. Never freed.
struct OneDnnCopy {
    Site site;            ///< stands for the object, as caller and provider of its products
    std::uint32_t loads;  ///< LoadedObject::loads when the copy asked
    /// Addresses of the object: its tables may be unmapped by now, if it was unloaded.
    std::atomic<std::uintptr_t> begin, end;
    std::atomic<bool> is_set;        ///< the program has set the mode by a call
    std::atomic<bool> shows;         ///< the program itself wants to see the lines
    std::atomic<bool> shows_errors;  ///< the program would see lines about errors without the shim
    /// Head of the log. Without the shim, it comes before the first line that is shown.
    std::atomic<std::size_t> head_size;
    char head[2048];

    LoadedObject& object() const { return *site.provider; }
};

/// Returns the copy in the object that contains this address, or nullptr.
OneDnnCopy* copy_at(std::uintptr_t address);

/// Notes what is known of oneDNN or XLA in an object (bits record::format::object_tells …), also in the recording.
/// Never removes a finding. Precondition: an elf::Reading is held.
void note_findings(LoadedObject& object, std::uint8_t findings);

/// Returns true for the names of the variable by which oneDNN's verbose mode is set.
bool is_verbose_variable(std::string_view name);

/// Returns the answer to the code at `caller`, which asks for such a variable. `own` is the variable's value in the
/// environment, and `other` that of DNNL_VERBOSE, which oneDNN reads if the first is not set (before 2.5, also if
/// MKLDNN_VERBOSE is); nullptr: not set. `has_log_file`: ONEDNN_VERBOSE_LOGFILE is set, to which some builds
/// write instead of printing.
const char* answer_verbose(std::string_view name, const char* own, const char* other, bool has_log_file,
                           std::uintptr_t caller);

/// Sets the verbose mode that the program requests by `set`: 0 nothing, 1 executions, 2 also creations. Executions
/// come to the shim in every mode. Returns the result of `set`.
int set_verbose(SetVerbose* set, int level);

/// Returns the function that a program gets if it looks up dnnl_set_verbose in a library and `found` is there: one
/// that calls set_verbose() for `found`, or `found` itself.
SetVerbose* wrap_setter(SetVerbose* found);

/// Functions of the C library that oneDNN calls to print, and those that take their place in an object with oneDNN.
struct PrintReplacement {
    std::string_view name;
    void* function;
    bool prints;
};
constexpr std::size_t replacement_count = 4;
extern const PrintReplacement replacements[replacement_count];

}  // namespace fp32shim::onednn
