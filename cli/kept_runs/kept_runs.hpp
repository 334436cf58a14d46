// Handles the recordings that `fp32shim run` keeps by default, in the folder `.fp32shim` of the working folder.
// Commands that read recordings use the most recent kept runs if the user names none.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/files/own_files.hpp"

namespace fp32shim::cli {

/// The folder for the recordings of one run. The folder is locked while this object exists, so that no other run
/// removes it.
struct NewRunFolder {
    std::string problem;   ///< reason why the run cannot be kept; empty if the folder was created
    std::string path;      ///< path of the folder, relative to the working folder
    std::string log_path;  ///< absolute path of the run's recordings; `%p` in it stands for the process id
    std::unique_ptr<UserOwnedFolder> folder;
};
/// Removes the oldest ended runs, if the limits of number and size require it, and creates a folder for a new run.
/// Never changes files that `fp32shim run` did not make.
NewRunFolder make_run_folder();

/// If earlier runs are kept, leaves a note that the current run is not kept, so that commands do not take an earlier
/// run for the most recent one.
void mark_run_not_kept();

/// If `recordings` is empty, adds to it the folders of the most recent `count` runs kept in the working folder,
/// the oldest first, and names them on stderr. Returns false after a message if fewer runs are kept, or if a later
/// run was not kept.
bool default_to_last_runs(std::string_view command, std::size_t count, std::vector<std::string>& recordings);

}  // namespace fp32shim::cli
