// Declares what `fp32shim doctor` finds: facts about the machine, its BLAS libraries, the settings and a program, and
// the result, which is printed as text and JSON.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/binaries/bypasses.hpp"
#include "cli/output/json_fwd.hpp"
#include "cli/run/child.hpp"
#include "policy/load.hpp"

namespace fp32shim::cli {

// --- The processor and the GPUs of this machine

/// Processor of this machine, with those of its features that speed up matrix products.
struct Processor {
    std::string architecture;
    std::string model;  ///< name that the processor reports; empty if it is unknown
    int cores = 0;      ///< cores that this process may use
    /// Name of each feature, and true if products may use it: the processor has it, the kernel enables it, and
    /// FP32_MATMUL_INSTRUCTIONS allows it.
    std::vector<std::pair<std::string, bool>> features;

    bool has(const std::string& feature) const;
};

/// Reads the properties of this machine's processor.
Processor read_processor();

struct Gpu {
    std::string name;
    std::string compute_capability;  ///< such as `9.0`
    double memory_gib = 0;
};

/// All NVIDIA GPUs of this machine, and their driver.
struct GpuInventory {
    std::string problem;  ///< reason why no GPU can be used, such as `no NVIDIA driver`; empty if one can be used
    std::string driver;   ///< version of the driver's kernel module; empty if it is unknown
    std::string cuda;     ///< newest CUDA version that the driver supports, such as `13.0`
    std::vector<Gpu> devices;
};

/// Lists the GPUs with libcuda.so.1, in a child process. Only GPUs that CUDA_VISIBLE_DEVICES allows are listed.
GpuInventory read_gpus();

// --- BLAS libraries on this machine

/// A BLAS library and its known properties.
struct BlasLibrary {
    std::string soname;  ///< name by which programs request it from the loader
    std::string path;    ///< path at which the loader finds it
    std::string file;    ///< the path with all symbolic links resolved
    /// `OpenBLAS`, `BLIS`, `MKL`, `FlexiBLAS`, `NVBLAS` or `other`. A library that only forwards its calls to
    /// `libfoo.so` has the value `over libfoo.so`.
    std::string implementation;
    std::string version;  ///< version that the library itself reports; empty if it is unknown
    std::string kernels;  ///< type of processor for which the kernels in use were written, such as `Haswell`; empty
                          ///< if it is unknown
    std::string problem;  ///< reason why version and kernels could not be read from the library; empty if they could
};

/// Returns true if only one implementation of BLAS exports a function of this name. FlexiBLAS, for example, exports
/// `flexiblas_info`.
bool identifies_blas_implementation(std::string_view name);

/// Identifies a library by its file, then loads it in a child process to read its version and kernels.
BlasLibrary identify_blas(const std::string& soname, const std::string& path);

/// Returns the BLAS libraries that the loader finds by name in LD_LIBRARY_PATH and then in its cache.
std::vector<BlasLibrary> find_blas_libraries();

/// Returns the path at which the loader finds `soname`; empty if it finds none.
std::string find_library(const std::string& soname);

// --- The settings under which a program would run

/// A problem that `doctor` found.
struct Finding {
    std::string about;    ///< the variable, file or library that has the problem
    std::string message;  ///< the problem and its consequence
    std::string remedy;   ///< advice; empty if there is none
};

/// An entry of LD_PRELOAD or /etc/ld.so.preload.
struct PreloadEntry {
    std::string entry;  ///< entry as it is written: a name or a path
    std::string file;   ///< file that the loader finds for the entry; empty if it finds none
    std::string where;  ///< source of the entry: `LD_PRELOAD` or `/etc/ld.so.preload`
    bool is_shim = false;
};

/// The settings that this process's environment gives, and the findings about them.
struct ExaminedSettings {
    policy::LoadedPolicy loaded;
    std::vector<PreloadEntry> preloads;  ///< entries in the order in which they are loaded
    std::vector<Finding> findings;       ///< errors and warnings of the policy, and conflicting variables
};

/// Reads the settings from this process's environment, as the shim would. `gpus` decide which precisions have an
/// effect.
ExaminedSettings examine_settings(const GpuInventory& gpus);

// --- What glibc's loader says about a run of the program

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
    ProgramEnd ended;
    std::vector<LoggedProcess> processes;
};

/// Runs the program to its end with LD_DEBUG. The program gets this process's environment, and its stdout goes to
/// stderr. If `with_bindings` is true, the loader also logs every symbol that it binds. For large programs this log
/// takes tens of MB in a temporary folder.
ObservedRun run_under_ld_debug(const std::string& path, const std::vector<std::string>& words, bool with_bindings);

// --- The program

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

// --- The result

/// All results and conclusions of `doctor`.
struct DoctorResult {
    Processor processor;
    GpuInventory gpus;
    std::vector<BlasLibrary> libraries;
    ExaminedSettings settings;
    std::optional<ExaminedProgram> program;
    std::vector<Finding> findings;  ///< findings about the machine, the settings and the program
    std::vector<std::string> seen;  ///< products of the program that the shim will see, one line each
    std::vector<Finding> not_seen;  ///< products of the program that the shim will not see
};

/// Fills `findings`, `seen` and `not_seen` from the other members. Also tries to load the library that `run`
/// preloads.
void judge_program_and_machine(DoctorResult& result);

/// Returns exit_code::inconclusive if the program was not observed, exit_code::finding if there are findings or
/// unseen products, and otherwise exit_code::ok.
int exit_code_of(const DoctorResult& result);

std::string doctor_text(const DoctorResult& result);
Json doctor_json(const DoctorResult& result);

}  // namespace fp32shim::cli
