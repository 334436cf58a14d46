// What the loader did in each process of a program, from glibc's own debugging output.
#pragma once

#include <istream>
#include <map>
#include <string>
#include <vector>

#include "cli/run/child.hpp"

namespace fp32shim::cli {

/// One object that was loaded, also where it was unloaded later.
struct LoadedObject {
    std::string name;  ///< as the loader writes it; for the program itself its argument 0
    int link_namespace = 0;
    /// Where its references are looked up, in order: lists of objects by name. A list that begins with the program is
    /// the global scope as it was then. With RTLD_DEEPBIND the object's own list comes before that one.
    std::vector<std::vector<std::string>> scopes;
};

/// `caller` was bound to `symbol` of `provider`.
struct BoundSymbol {
    std::string caller;
    std::string provider;
    std::string symbol;
};

/// One program image: a process that calls execve becomes another one.
struct LoadedProcess {
    int pid = 0;
    std::vector<LoadedObject> objects;        ///< the program first
    std::vector<std::string> added_globally;  ///< opened or made RTLD_GLOBAL later, in that order
    std::vector<BoundSymbol> bindings;        ///< where they were asked for

    const std::string& program() const { return objects.front().name; }
};

/// Reads one process's output of LD_DEBUG=scopes or scopes,bindings. Lines that it does not know count as absent.
std::vector<LoadedProcess> read_loader_log(std::istream& log, int pid);

struct Observation {
    std::string problem;  ///< why nothing was observed; empty: something was
    Ended ended;
    std::vector<LoadedProcess> processes;
};

/// Runs the program to its end under LD_DEBUG, its output going to stderr. Its environment is this process's.
/// `with_bindings` also asks for every symbol that is bound: tens of MB for large programs, in a temporary folder.
Observation observe_program(const std::string& path, const std::vector<std::string>& words, bool with_bindings);

}  // namespace fp32shim::cli
