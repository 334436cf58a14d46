// What `fp32shim run` has to do with children that are not covered: it gives their file a name, which the processes
// of the run know by a variable, and says at the end which there were.
#pragma once

#include <string>
#include <vector>

#include "cli/run/process_environment.hpp"
#include "record/process_facts.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

class RunChildren {
  public:
    /// Numbers the run, and names its file, where `log_path` is one of recordings. `is_own`: the log is this run's,
    /// and not that of a run within which this one takes place and which has named a file already.
    RunChildren(const std::string& log_path, bool is_own, ProcessEnvironment& environment,
                const record::ProcessFacts& facts);

    /// The file is made at the first of them. Empty: there is no place for them.
    const std::string& path() const { return path_; }

    /// Notes the program itself.
    void note(const std::string& program, record::WhyUnseen why) const;

    /// Those of the program's processes that have no recording.
    std::vector<record::RecordedChild> all() const;

  private:
    std::string path_;
    std::uint64_t run_ = 0;
};

/// `not covered: …`, the first of them; empty where there are none.
std::string children_line(const std::vector<record::RecordedChild>& children);

}  // namespace fp32shim::cli
