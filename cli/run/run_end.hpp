// The end of a run, which `fp32shim run` notes in the run's recordings, so that `fp32shim verify` knows whether it
// has all of them.
#pragma once

#include <string>
#include <vector>

#include "record/read/processes.hpp"

namespace fp32shim::cli {

/// Facts about a run, taken when the program that `fp32shim run` started has ended; other processes of the run may
/// still be running.
struct RunEnding {
    std::vector<std::string> recordings;            ///< recordings of the run
    std::string children_file;                      ///< file for the children of the run
    std::vector<record::RemainingProcess> running;  ///< other processes of the run that still run
};

/// Notes the end in each recording. A recording that cannot be written stays without the note. Removes the file for
/// children if all processes have ended and it says nothing that the recordings do not.
void note_run_end(const RunEnding& ending);

/// Returns a line about the processes that still run; empty if there are none.
std::string still_running_line(const RunEnding& ending);

}  // namespace fp32shim::cli
