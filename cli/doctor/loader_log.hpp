// Reads the debugging output of glibc's loader: the objects that each process of a program loaded, and their scopes.
#pragma once

#include <string>
#include <vector>

#include "cli/run/child.hpp"

namespace fp32shim::cli {

/// A program or library that the loader loaded. It stays listed after it is unloaded.
struct LoggedObject {
    std::string name;  ///< name in the loader's output; argument 0 for the program
    int link_namespace = 0;
    /// Lists of objects in which the loader looks up this object's references, in this order. A list that begins with
    /// the program is the global scope at the time of the log line. With RTLD_DEEPBIND the object's own list comes
    /// first.
    std::vector<std::vector<std::string>> scopes;
};

/// A reference in `caller` that the loader bound to `symbol` in `provider`.
struct BoundSymbol {
    std::string caller;
    std::string provider;
    std::string symbol;
};

/// The objects of one program image. A process that calls execve has several images, each with its own LoggedProcess.
struct LoggedProcess {
    int pid = 0;
    std::vector<LoggedObject> objects;        ///< loaded objects, of which the first is the program
    std::vector<std::string> added_globally;  ///< objects that became RTLD_GLOBAL after the start, oldest first
    std::vector<BoundSymbol> bindings;        ///< bound references; empty unless LD_DEBUG contains `bindings`
};

/// The result of running a program with LD_DEBUG.
struct ObservedRun {
    std::string problem;  ///< reason why there is no log of the loader; empty if there is one
    bool was_run = false;
    ProgramEnd ended;
    std::vector<LoggedProcess> processes;
};

/// Runs the program to its end with LD_DEBUG. The program gets this process's environment, and its stdout goes to
/// stderr. If `with_bindings` is true, the loader also logs every symbol that it binds. For large programs this log
/// takes tens of MB in a temporary folder.
ObservedRun run_under_ld_debug(const std::string& path, const std::vector<std::string>& words, bool with_bindings);

}  // namespace fp32shim::cli
