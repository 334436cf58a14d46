// The list, in a process's recording, of the recordings of its covered children, so that `fp32shim verify` notices if
// one is missing. A new recording enters itself into the list, since most children never record.
#pragma once

#include <cstdint>
#include <string_view>

#include "record/format/format.hpp"
#include "record/process_facts.hpp"
#include "record/write/children.hpp"

namespace fp32shim::record {

/// Facts about a process by which its recording finds the list to enter.
struct FamilyFacts {
    std::uint64_t program = 0;  ///< number of the program that the process runs, equal in forked children; 0: unknown
    bool is_first = false;      ///< `fp32shim run` started the process itself
    ChildrenFile children{};    ///< file for the children of the run; path nullptr: no run
};

/// A new recording that is to enter a list.
struct NewRecording {
    format::Header& header;     ///< header of the recording, which nobody else changes yet
    std::string_view path;      ///< path of the recording, with a number if the name was taken; followed by a NUL
    std::string_view expanded;  ///< path of the recording without such a number
    std::string_view name;      ///< name of the recording with placeholders
    ProcessFacts& facts;        ///< facts about the process; its id is changed for a while
};

/// Enters a new recording into a list: that of `parent` (nullptr: not forked from a process with a recording), of the
/// first recording of the same run or program, of the nearest ancestor with a recording, or of the run's file for
/// children. Without any of these, the recording is the first of its family. Returns 0; or an errno if there is a
/// list, but the recording could not enter it. Allocates nothing.
int enter_list(const NewRecording& recording, format::Header* parent, const FamilyFacts& family);

/// Counts a new recording in the file for the children of its run, which `fp32shim run` has made. Returns 0, also
/// without a run or on another machine than that command's; or an errno. Allocates nothing.
int count_run_recording(const FamilyFacts& family);

/// Counts a process that is to multiply and could not make a recording, in the file for the children of its run. Does
/// nothing without a run, or if that file cannot be written. Allocates nothing.
void count_process_without_recording(const FamilyFacts& family);

}  // namespace fp32shim::record
