// A program under `fp32shim doctor`: who in it calls which BLAS, what of it the shim will see, and what not.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/binaries/bypasses.hpp"
#include "cli/doctor/blas.hpp"
#include "cli/doctor/loader_log.hpp"
#include "cli/run/child.hpp"

namespace fp32shim::cli {

/// Calls of one object that reach one other.
struct Calls {
    std::string caller;    ///< path
    std::string provider;  ///< path; the caller's own where it calls itself; empty: nobody has the functions
    std::string family;    ///< `blas`, `cublas`, `lapack`
    std::vector<std::string> functions;
    bool seen = true;
    std::string why;  ///< where not seen: in words; else empty
    std::string remedy;
    std::string package;  ///< that the provider came in, `nvidia_cublas 13.4.1.3`; empty: unknown
    BlasLibrary library;  ///< the provider, where it is a BLAS of the CPU
};

/// An object that asks for cuBLAS by dlsym, or what a GPU would bring in.
struct Note {
    std::string about;
    std::string message;
};

struct ExaminedProcess {
    int pid = 0;
    std::string program;
    std::size_t objects = 0;
    std::vector<Calls> calls;
    std::vector<Road> roads;
    std::vector<Note> notes;
    std::vector<std::string> unreadable;  ///< objects whose files could not be read
    std::vector<BoundSymbol> bindings;
};

struct ExaminedProgram {
    std::string path;
    std::string why_unseen;    ///< why the loader will not look at a preload; empty: it will. Then it is not run.
    std::string not_observed;  ///< why nothing could be observed
    bool was_run = false;
    Ended ended;
    std::vector<ExaminedProcess> processes;
};

/// Judges the program's file and, where a preload reaches it, runs it once to its end and reads the files of all that
/// was loaded. `words`: its name as it was given, and its arguments.
ExaminedProgram examine_program(const std::string& path, const std::vector<std::string>& words, bool with_bindings);

/// What was loaded into one process; the part of examine_program that runs nothing but questions to BLAS libraries.
ExaminedProcess examine_process(const LoadedProcess& process, bool with_bindings);

}  // namespace fp32shim::cli
