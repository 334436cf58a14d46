// Runs a command under several policies at the same time.
#pragma once

#include <sys/types.h>

#include <compare>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/files/own_files.hpp"
#include "cli/product_groups/groups.hpp"
#include "cli/run/child.hpp"
#include "cli/trials/numbers.hpp"

namespace fp32shim::cli {

/// The command to run, and the settings shared by all runs.
struct RunSettings {
    std::vector<std::string> command;
    std::vector<std::string> runner;         ///< words that are placed before the whole command line
    std::string cpu;                         ///< value of `run --cpu`; empty if the environment decides
    TriedTypes types = TriedTypes::float32;  ///< element types of the products that FinishedRun::products contains
    bool keeps_stdout = false;               ///< FinishedRun::stdout_text is to be filled
};

/// A request to run the command once, with the policy and the precision of the run.
struct RunRequest {
    std::string policy;  ///< text of the policy file
    std::string
        precision;      ///< value of `run --precision`, which overrides the environment; empty if the policy decides
    std::string cpu{};  ///< value of `run --cpu`; empty if RunSettings::cpu decides

    auto operator<=>(const RunRequest&) const = default;
};

struct FinishedRun {
    ProgramEnd ended;
    RunTimeSpan time{};
    RecordedProducts products;
    std::string
        lost{};  ///< path of a file or folder of the run that was removed during the run; empty if none was removed
    std::string
        unread_policy{};  ///< message of a process that could not read the policy; empty if there is no such message
    std::string unwritten{};  ///< file of the run that could not be written as a whole, and the reason; empty if none
    std::string output;       ///< last part of what the command wrote to stdout and stderr
    std::string checksum{};   ///< checksum_or_mtime() of everything that the command wrote
    std::string stdout_text{};  ///< all of stdout if RunSettings::keeps_stdout is set; `output` then has only stderr
};

/// Thrown when a signal asks this process to end, after all runs have been ended.
struct InterruptedBySignal {
    int signal;
};

/// Starts the command with `fp32shim run`. Each run has its own process group and an empty stdin, and its output goes
/// to a file. Handles the signals SIGINT, SIGTERM, SIGHUP and SIGCHLD of this process.
class CommandRunner {
  public:
    explicit CommandRunner(RunSettings settings);
    /// Removes all temporary files.
    ~CommandRunner();
    CommandRunner(const CommandRunner&) = delete;
    CommandRunner& operator=(const CommandRunner&) = delete;

    /// Returns the reason why no command can be run, or an empty text if runs are possible.
    const std::string& problem() const { return folder_->problem(); }
    /// Runs the command once for each request, all at the same time. Throws InterruptedBySignal.
    std::vector<FinishedRun> run_all(const std::vector<RunRequest>& requests);

  private:
    struct StartedRun {
        pid_t process = -1;
        std::string folder;  ///< folder for the policy, the recordings and the output of the run
        FinishedRun result;
    };
    StartedRun start_run(const RunRequest& request);
    std::vector<std::string> command_line_for(const RunRequest& request, const std::string& folder) const;
    void wait_for_all(std::vector<StartedRun>& runs) const;

    RunSettings settings_;
    std::optional<TemporaryFolder> folder_;
    std::uint64_t count_ = 0;
    sigset_t callers_mask_{}, awaited_signals_{};
    RecordedProductsReader reader_;
};

}  // namespace fp32shim::cli
