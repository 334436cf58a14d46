// Recordings that `fp32shim run` keeps without being asked, in the folder `.fp32shim` of the working folder. Commands
// that read recordings take the last ones if none is named.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/files/own_files.hpp"

namespace fp32shim::cli {

/// The folder for the recordings of one run. It is locked while this object exists, so that no other run removes it.
struct NewRunFolder {
    std::string problem;   ///< reason why nothing can be kept here; empty: the folder was made
    std::string path;      ///< path of the folder, relative to the working folder
    std::string log_path;  ///< name of the run's recordings: an absolute path with placeholders
    std::unique_ptr<UserOwnedFolder> folder;
};
/// Removes the oldest runs that have ended, as far as the limits of number and size ask for it, and makes a folder.
/// Never touches what `fp32shim run` did not make.
NewRunFolder make_run_folder();

/// Notes that a run is not kept, if earlier ones are, so that none of those is taken for the last run.
void mark_run_not_kept();

/// If `recordings` is empty, puts the folders of the last `count` runs into it that were kept in the working folder,
/// the oldest first, and names them on stderr. Returns false after a message if there are fewer, or if a later run
/// was not kept.
bool default_to_last_runs(std::string_view command, std::size_t count, std::vector<std::string>& recordings);

}  // namespace fp32shim::cli
