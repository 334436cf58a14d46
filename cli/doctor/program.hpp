// Examines a program: which of its objects call which BLAS, and which products the shim will see.
#pragma once

#include <string>
#include <vector>

#include "cli/binaries/bypasses.hpp"
#include "cli/doctor/blas.hpp"
#include "cli/doctor/loader_log.hpp"
#include "cli/run/child.hpp"

namespace fp32shim::cli {

/// Functions of one family that one loaded object calls in another.
struct Calls {
    std::string caller;    ///< path of the object that calls
    std::string provider;  ///< path of the object that is called; may be the caller
    std::string family;    ///< `blas`, `cublas`, `lapack`
    std::vector<std::string> functions;
    std::string why;  ///< reason why the shim does not see the calls; empty: the shim sees the calls
    std::string remedy;
    std::string package;  ///< Python package of the provider, `nvidia_cublas 13.4.1.3`; empty: unknown
    BlasLibrary library;  ///< facts about the provider, if it is a BLAS of the CPU
};

/// A remark on a loaded file: that it looks cuBLAS functions up by dlsym, for example.
struct Note {
    std::string about;
    std::string message;
};

/// One process of the program.
struct ExaminedProcess {
    int pid = 0;
    std::string program;
    std::size_t objects = 0;
    std::vector<Calls> calls;
    std::vector<Bypass> bypasses;
    std::vector<Note> notes;
    std::vector<std::string> unreadable;  ///< paths of objects whose files could not be read
    std::vector<BoundSymbol> bindings;
};

/// The program with all its processes.
struct ExaminedProgram {
    std::string path;
    std::string why_unseen;    ///< reason why no preload reaches the program, so that it was not run; empty: none
    std::string not_observed;  ///< reason why the run told nothing about loaded objects; empty: none
    bool was_run = false;
    Ended ended;
    std::vector<ExaminedProcess> processes;
};

/// Examines the program's file. If it can be preloaded into, runs it once to its end and reads the files that it
/// loaded. `words`: its name as it was given, and its arguments.
ExaminedProgram examine_program(const std::string& path, const std::vector<std::string>& words, bool with_bindings);

/// Examines the objects of one process. Runs no code of theirs, except to ask BLAS libraries for their version.
ExaminedProcess examine_process(const LoggedProcess& process, bool with_bindings);

}  // namespace fp32shim::cli
