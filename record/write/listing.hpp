// Maintains the list in the header of a recording: other recordings of the same run or family, such as those of
// forked children. By the list, `fp32shim verify` notices if one of them is missing. Each process enters its own
// recording, because most children never make one, so that a parent could not list them.
#pragma once

#include <cstdint>
#include <string_view>

#include "record/format/format.hpp"
#include "record/process_facts.hpp"
#include "record/write/children.hpp"

namespace fp32shim::record {

/// Facts about a process by which its recording finds the list that it should enter.
struct FamilyFacts {
    std::uint64_t program = 0;  ///< number that identifies the program that the process runs, and that forked
                                ///< children inherit; 0: unknown
    bool is_first = false;      ///< `fp32shim run` itself started the process, from which all others of the run
                                ///< descend
    ChildrenFile children{};    ///< the file for the children of the run; without a run, its path is nullptr
};

/// A new recording that should enter a list.
struct NewRecording {
    format::Header& header;     ///< header of the recording, which no other thread or process changes yet
    std::string_view path;      ///< path of the recording, with a number if the name was taken; followed by a NUL
    std::string_view expanded;  ///< the path that the recording would have without a number
    std::string_view name;      ///< name of the recording with placeholders
    ProcessFacts& facts;        ///< facts about the process; the search changes `pid` for a while
};

/// Enters a new recording into a list. If `parent` is not nullptr, the list is in `parent`, the header of the process
/// from which this process was forked. Otherwise the list is in the first recording of the same run or program, in
/// the recording of the nearest ancestor, or in the file for the children of the run. If none of these files exists,
/// the recording is the first one and enters no list. Returns 0, or an errno if there is a list but the recording
/// could not enter it. Does not call malloc.
int enter_list(const NewRecording& recording, format::Header* parent, const FamilyFacts& family);

/// Adds 1 to Header::run_recordings of the file for the children of the run, which `fp32shim run` has made. Does
/// nothing if there is no run, or if the file was made on another machine. Returns 0 or an errno. Allocates nothing.
int count_run_recording(const FamilyFacts& family);

/// Adds 1 to Header::unrecorded of the file for the children of the run, because this process multiplies matrices and
/// could not make a recording. Does nothing if there is no run or the file cannot be written. Allocates nothing.
void count_process_without_recording(const FamilyFacts& family);

}  // namespace fp32shim::record
