// Examines the files of programs that ran without the shim, to find those that contain nothing that is known to
// multiply.
#pragma once

#include <map>
#include <string>

#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// The conclusion about a program that ran without the shim.
struct ExaminedChild {
    bool is_harmless = false;  ///< its file has nothing that is known to multiply, and it started no program
    std::string basis;         ///< reason for the conclusion, as the end of a sentence; empty: nothing is known
};

/// Examines the files of programs. Each file is read only once.
class ChildExaminer {
  public:
    /// Judges a child process by its file and by the libraries that the file needs. The files count only if they are
    /// those that the child used: the recording is of this machine, and the files have not changed since the child's
    /// start. Only the system's ldconfig is judged by its name, because its file cannot tell whether it starts
    /// programs.
    ExaminedChild examine(const record::RecordedChild& child, const MergedProcess& process);

  private:
    /// The contents of a program's file and of its libraries.
    struct ExaminedContents {
        std::string finding;          ///< reason why the program may have multiplied; empty: there is none
        std::int64_t changed_ns = 0;  ///< last change of the file or of a library that it needs
    };
    const ExaminedContents& examine_contents(const std::string& path);

    std::map<std::string, ExaminedContents> contents_;
};

}  // namespace fp32shim::cli
