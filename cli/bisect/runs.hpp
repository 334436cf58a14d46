// Runs of a command under policies, several at once.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/product_groups/groups.hpp"
#include "cli/run/child.hpp"

namespace fp32shim::cli {

/// The command to run, and how.
struct RunSettings {
    std::vector<std::string> command;
    std::vector<std::string> runner;  ///< words before the whole command line
    std::string cpu;                  ///< value of `run --cpu`; empty: left to the environment
};

/// A policy to run the command under.
struct RunRequest {
    std::string policy;     ///< text of the file
    std::string precision;  ///< value of `run --precision`, which replaces that of the environment
};

struct FinishedRun {
    Ended ended;
    RecordedProducts products;
    std::string output;  ///< end of what the command wrote to stdout and stderr
};

/// A signal asked this command to end; all runs have been ended.
struct Interrupted {
    int signal;
};

/// Starts the command by `fp32shim run`, each run in a process group of its own: with an empty stdin, its output kept
/// in a file. Takes over SIGINT, SIGTERM, SIGHUP and SIGCHLD of this process.
class Runs {
  public:
    explicit Runs(RunSettings settings);
    /// Removes all temporary files.
    ~Runs();
    Runs(const Runs&) = delete;
    Runs& operator=(const Runs&) = delete;

    /// Returns the reason why nothing can be run; empty: none.
    const std::string& problem() const { return problem_; }
    /// Runs the command under all policies at once. Throws Interrupted.
    std::vector<FinishedRun> run(const std::vector<RunRequest>& requests);

  private:
    struct Started {
        pid_t process = -1;
        std::string folder;  ///< of policy, recordings and output
        FinishedRun result;
    };
    Started start(const RunRequest& request);
    std::vector<std::string> words_for(const RunRequest& request, const std::string& folder) const;
    void wait_for(std::vector<Started>& runs) const;

    RunSettings settings_;
    std::string folder_, problem_;
    std::uint64_t count_ = 0;
    sigset_t callers_mask_{}, awaited_{};
    RecordedProductsReader reader_;
};

}  // namespace fp32shim::cli
