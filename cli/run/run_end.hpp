// The end of a run, which `fp32shim run` notes in the run's recordings. By it, `fp32shim verify` knows that it has
// all of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fp32shim::cli {

/// The end of a run whose program has ended.
struct RunEnding {
    std::uint64_t began = 0;              ///< start of this command, as ProcessIdentity::start
    std::vector<std::string> recordings;  ///< recordings of the run
    std::string children_file;            ///< file for the children of the run, which need not exist; empty: none
    /// Recordings with the log's name that processes which know no run made while this run went on
    std::vector<std::string> strangers;
    std::vector<std::int32_t> running;  ///< other processes of the run that still run
};

/// Notes the end in each recording. A recording that cannot be written stays without the note.
void note_end(const RunEnding& ending);

/// Returns a line about the processes that still run; empty if there are none.
std::string running_line(const RunEnding& ending);

}  // namespace fp32shim::cli
