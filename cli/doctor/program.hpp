// Examines a program: which of its objects call which BLAS, and which products the shim will see.
#pragma once

#include <string>
#include <vector>

#include "cli/binaries/bypasses.hpp"
#include "cli/doctor/blas.hpp"
#include "cli/doctor/loader_log.hpp"
#include "cli/run/child.hpp"

namespace fp32shim::cli {

/// Calls from one object to another.
struct Calls {
    std::string caller;    ///< path
    std::string provider;  ///< path; the caller's own if it calls itself
    std::string family;    ///< `blas`, `cublas`, `lapack`
    std::vector<std::string> functions;
    std::string why;  ///< reason why they are not seen; empty: they are
    std::string remedy;
    std::string package;  ///< package of the provider, `nvidia_cublas 13.4.1.3`; empty: unknown
    BlasLibrary library;  ///< the provider, if it is a BLAS of the CPU
};

/// A remark on an object: it looks cuBLAS up by dlsym, or would load it on a GPU.
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
    std::vector<std::string> unreadable;  ///< objects whose files could not be read
    std::vector<BoundSymbol> bindings;
};

/// The program with all its processes.
struct ExaminedProgram {
    std::string path;
    std::string why_unseen;    ///< reason why it cannot be preloaded into, and was not run; empty: it can
    std::string not_observed;  ///< reason why nothing was observed; empty: none
    bool was_run = false;
    Ended ended;
    std::vector<ExaminedProcess> processes;
};

/// Examines the program's file. If it can be preloaded into, runs it once to its end and reads the files that it
/// loaded. `words`: its name as it was given, and its arguments.
ExaminedProgram examine_program(const std::string& path, const std::vector<std::string>& words, bool with_bindings);

/// Examines the objects of one process. Runs no code but questions to BLAS libraries.
ExaminedProcess examine_process(const LoggedProcess& process, bool with_bindings);

}  // namespace fp32shim::cli
