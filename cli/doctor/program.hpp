// Examines a program: finds which of its loaded objects call which BLAS, and which products the shim will see.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cli/binaries/bypasses.hpp"
#include "cli/doctor/blas.hpp"
#include "cli/doctor/loader_log.hpp"
#include "cli/run/child.hpp"

namespace fp32shim::cli {

/// Functions of one family (BLAS, cuBLAS or LAPACK) that a loaded object calls in another object or in itself.
struct LibraryCalls {
    std::string caller;    ///< path of the calling object
    std::string provider;  ///< path of the called object, which may be the caller itself
    std::string family;    ///< `blas`, `cublas` or `lapack`
    std::vector<std::string> functions;
    std::string why;  ///< reason why the shim does not see the calls; empty if it sees them
    std::string remedy;
    std::string package;  ///< Python package that contains the provider, such as `nvidia_cublas 13.4.1.3`; empty if
                          ///< it is unknown
    BlasLibrary library;  ///< set if the provider is a BLAS for the CPU
};

/// A remark on a loaded file, for example that it looks up cuBLAS functions with dlsym.
struct FileNote {
    std::string about;
    std::string message;
};

/// Facts about one process of the program.
struct ExaminedProcess {
    int pid = 0;
    std::string program;
    std::size_t objects = 0;
    std::vector<LibraryCalls> calls;
    std::vector<Bypass> bypasses;
    std::vector<FileNote> notes;
    std::vector<std::string> unreadable;  ///< paths of objects whose files could not be read
    std::vector<BoundSymbol> bindings;
};

/// Facts about the program and all its processes.
struct ExaminedProgram {
    std::string path;
    std::string why_unseen;    ///< reason why the shim cannot be preloaded into the program, which is then not run;
                               ///< empty if it can be
    std::string not_observed;  ///< reason why the run yielded no list of loaded objects; empty if it yielded one
    bool was_run = false;
    ProgramEnd ended;
    std::vector<ExaminedProcess> processes;
    std::set<std::string> files;  ///< files that the processes loaded, with symbolic links resolved

    bool has_loaded_files() const { return was_run && not_observed.empty(); }
};

/// Examines the program's file. If the shim can be preloaded into the program, runs the program once to its end and
/// examines the files that it loaded. Loads BLAS libraries and cublasLt among these files in a child process, to ask
/// them for their version. `words` are the program's name as the user gave it, and its arguments.
ExaminedProgram run_and_examine_program(const std::string& path, const std::vector<std::string>& words,
                                        bool with_bindings);

}  // namespace fp32shim::cli
