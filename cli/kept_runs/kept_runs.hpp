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
class KeptRun {
  public:
    /// Removes the oldest runs that have ended, as far as the limits of number and size ask for it, and makes the
    /// folder. Never touches what `fp32shim run` did not make.
    KeptRun();

    /// Returns the reason why nothing can be kept here; empty if the folder was made.
    const std::string& problem() const { return problem_; }
    /// Returns the path of the folder, relative to the working folder.
    const std::string& path() const { return path_; }
    /// Returns the name of the run's recordings: an absolute path with placeholders.
    const std::string& log_path() const { return log_path_; }
    /// Removes the folder if it is empty.
    void remove_if_empty() const;

  private:
    std::string problem_, path_, log_path_;
    std::unique_ptr<OwnFolder> folder_;
};

/// If `recordings` is empty, puts the folders of the last `count` runs into it that were kept in the working folder,
/// the oldest first, and says on stderr which these are. Returns false after a message if there are not so many.
bool take_last_runs(std::string_view command, std::size_t count, std::vector<std::string>& recordings);

}  // namespace fp32shim::cli
