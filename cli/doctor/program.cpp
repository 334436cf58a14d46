#include "cli/doctor/program.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <sstream>
#include <tuple>

#include "cli/binaries/bypasses.hpp"
#include "cli/binaries/function_kind.hpp"
#include "cli/binaries/program_file.hpp"
#include "cli/binaries/worker_process.hpp"
#include "cli/files/own_files.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/terminal.hpp"
#include "policy/algorithm.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

bool is_needed_symbol(std::string_view name) {
    return is_intercepted(name) || is_float32_lapack_routine(name) || identifies_blas_implementation(name) ||
           name == shim_mark;
}

/// A loaded program or library, with its file and the scopes in which the loader looks up its references.
struct LoadedObject {
    std::string name;  ///< name in the loader's output
    std::string path;
    int link_namespace = 0;
    bool is_program = false;
    bool is_shim = false;
    ElfFile elf;
    std::vector<std::vector<const LoadedObject*>> scopes;
    std::vector<bool> is_global_scope;
};

/// Result of looking up a reference: the object to which the loader binds the reference.
struct SymbolResolution {
    const LoadedObject* provider = nullptr;  ///< null if no object exports the name
    bool passes_shim = false;                ///< true if the loader would find a preloaded shim before `provider`
};

bool exports_symbol(const ElfFile& elf, const ElfSymbol& import) {
    return std::ranges::any_of(elf.exports, [&](const ElfSymbol& symbol) {
        return symbol.name == import.name &&
               (symbol.version == import.version || symbol.version.empty() || import.version.empty());
    });
}

bool is_cublas(const std::string& path) { return system::base_name(path).starts_with("libcublas"); }

/// All objects that one process loaded. binding() finds the object to which the loader binds a reference.
class LinkMap {
  public:
    LinkMap(const LoggedProcess& process, ExaminedProcess& result) {
        std::map<std::pair<std::string, int>, std::size_t> indices;
        for (const LoggedObject& loaded : process.objects) {
            LoadedObject object;
            object.name = loaded.name;
            object.link_namespace = loaded.link_namespace;
            object.is_program = &loaded == &process.objects.front();
            // In the loader's output, the name of the program is its argument 0, so its file is searched in PATH.
            object.path = object.is_program ? find_program(loaded.name, std::getenv("PATH")).path : loaded.name;
            object.path = std::filesystem::path(object.path).lexically_normal().string();
            if (auto elf = read_elf(object.path, is_needed_symbol))
                object.elf = std::move(*elf);
            else if (!loaded.name.starts_with("linux-vdso") && !loaded.name.starts_with("linux-gate"))
                result.unreadable.push_back(object.path);
            object.is_shim = std::ranges::count(object.elf.exports, shim_mark, &ElfSymbol::name) > 0;
            indices.emplace(std::pair{loaded.name, loaded.link_namespace}, objects_.size());
            objects_.push_back(std::move(object));
        }
        const auto find = [&](const std::string& name, int link_namespace) -> const LoadedObject* {
            const auto found = indices.find({name, link_namespace});
            return found == indices.end() ? nullptr : &objects_[found->second];
        };
        for (std::size_t i = 0; i < objects_.size(); ++i) {
            const int link_namespace = objects_[i].link_namespace;
            for (const auto& scope : process.objects[i].scopes) {
                std::vector<const LoadedObject*> list;
                for (const std::string& name : scope)
                    if (const LoadedObject* object = find(name, link_namespace)) list.push_back(object);
                objects_[i].is_global_scope.push_back(!list.empty() && list.front()->is_program);
                objects_[i].scopes.push_back(std::move(list));
            }
        }
        for (const std::string& name : process.added_globally)
            if (const LoadedObject* object = find(name, 0)) added_globally_.push_back(object);
        result.program = objects_.front().path;
        result.objects = objects_.size();
    }

    const std::vector<LoadedObject>& all() const { return objects_; }
    SymbolResolution binding(const LoadedObject& caller, const ElfSymbol& import) const {
        bool passes_shim = false;
        for (std::size_t i = 0; i < caller.scopes.size(); ++i) {
            for (const LoadedObject* candidate : caller.scopes[i]) {
                // In the global scope, preloaded libraries come directly after the program.
                if (caller.is_global_scope[i] && !candidate->is_program) passes_shim = true;
                if (!candidate->is_shim && exports_symbol(candidate->elf, import)) return {candidate, passes_shim};
            }
            if (caller.is_global_scope[i]) passes_shim = true;
        }
        for (const LoadedObject* candidate : added_globally_)
            if (!candidate->is_shim && exports_symbol(candidate->elf, import)) return {candidate, passes_shim};
        return {nullptr, passes_shim};
    }

  private:
    std::vector<LoadedObject> objects_;
    std::vector<const LoadedObject*> added_globally_;
};

/// Tells whether the shim sees a call, and if not, why.
struct CallVisibility {
    std::string why;  ///< reason why the shim does not see the call; empty if the shim sees the call
    std::string remedy;
};

CallVisibility visibility_of(const LoadedObject& caller, const SymbolResolution& binding) {
    if (caller.link_namespace != 0)
        return {"loaded into a separate linker namespace (dlmopen), which no preload reaches", ""};
    if (binding.passes_shim) return {};
    if (binding.provider->is_program)
        return {"the program's own functions, which come before every preload",
                "link the program with a shared BLAS"};
    if (binding.provider == &caller && caller.elf.is_symbolic)
        return {"linked with -Bsymbolic, so it searches itself first", "link it without -Bsymbolic"};
    return {"opened with RTLD_DEEPBIND, so it searches its own libraries before any preload",
            "open it without RTLD_DEEPBIND"};
}

#if defined(__x86_64__)
constexpr std::string_view multiarch = "x86_64-linux-gnu";
#else
constexpr std::string_view multiarch = "aarch64-linux-gnu";
#endif

/// Returns the Python package that contains the file at `path`, such as `nvidia_cublas 13.4.1.3`. Returns an empty
/// text if no wheel's RECORD lists the file.
std::string package_of(const std::string& path) {
    const std::filesystem::path file = std::filesystem::path(path).lexically_normal();
    std::filesystem::path root = file.parent_path();
    while (root.filename() != "site-packages" && root.filename() != "dist-packages") {
        if (!root.has_relative_path()) return {};
        root = root.parent_path();
    }
    // Lines of a RECORD look like `nvidia/cu13/lib/libcublas.so.13,sha256=…,54198912`.
    const std::string line_begin = file.lexically_relative(root).string() + ',';
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(root, error)) {
        if (entry.path().extension() != ".dist-info") continue;
        std::istringstream record(read_regular_file((entry.path() / "RECORD").string()).text);
        for (std::string line; std::getline(record, line);) {
            if (!line.starts_with(line_begin)) continue;
            std::string name = entry.path().stem().string();  // such as `nvidia_cublas-13.4.1.3`
            if (const std::size_t dash = name.rfind('-'); dash != std::string::npos) name[dash] = ' ';
            return name;
        }
    }
    return {};
}

void add_calls(const LinkMap& objects, const LoadedObject& caller, ExaminedProcess& result) {
    std::map<std::tuple<const LoadedObject*, bool, std::string>, LibraryCalls> groups;
    for (const ElfSymbol& import : caller.elf.imports) {
        const FunctionKind kind = function_kind(import.name);
        if (kind != FunctionKind::blas && kind != FunctionKind::cublas) continue;
        const SymbolResolution binding = objects.binding(caller, import);
        if (binding.provider == nullptr) continue;  // a weak reference, or a function that no loaded object exports
        // cuBLAS's own libraries call each other during a product that the program requested. These calls are not
        // listed.
        if (is_cublas(caller.path) && is_cublas(binding.provider->path)) continue;
        const CallVisibility sight = visibility_of(caller, binding);
        const bool is_of_cublas = kind == FunctionKind::cublas;
        LibraryCalls& calls = groups[{binding.provider, is_of_cublas, sight.why}];
        calls.caller = caller.path;
        calls.provider = binding.provider->path;
        calls.family = is_of_cublas ? "cublas" : "blas";
        calls.functions.push_back(import.name);
        calls.why = sight.why;
        calls.remedy = sight.remedy;
    }
    for (auto& [key, calls] : groups) {
        std::sort(calls.functions.begin(), calls.functions.end());
        calls.package = package_of(calls.provider);
        if (calls.family == "blas" && calls.provider != calls.caller)
            calls.library = identify_blas(std::string(system::base_name(calls.provider)), calls.provider);
        result.calls.push_back(std::move(calls));
    }
}

/// Returns true if `library` is OpenBLAS, or a LAPACK that uses inner functions of OpenBLAS, such as Debian's
/// liblapack.so.3.
bool is_openblas(const LoadedObject& library) {
    const auto exports = [&](auto&& matches) {
        return std::ranges::any_of(library.elf.exports, matches, &ElfSymbol::name);
    };
    const auto is_from_openblas = [](const std::string& needed) { return needed.starts_with("libopenblas"); };
    return exports([](std::string_view name) { return name.find("openblas_get_co") != std::string_view::npos; }) ||
           (exports(is_openblas_optimized_lapack) && std::ranges::any_of(library.elf.needed, is_from_openblas));
}

/// Returns those LAPACK `routines` that multiply inside `library`, where the shim does not see their products. If the
/// library exports BLAS functions and either imports none or contains MKL, returns all of `routines`. Otherwise
/// returns for OpenBLAS the routines that have kernels of their own, and for any other library an empty list.
std::vector<std::string> inner_routines(const LoadedObject& library, const std::vector<std::string>& routines) {
    const bool exports_blas = has_function_of_kind(library.elf.exports, FunctionKind::blas);
    const bool imports_blas = has_function_of_kind(library.elf.imports, FunctionKind::blas);
    if (exports_blas && (!imports_blas || contains_mkl(library.path))) return routines;
    std::vector<std::string> inner;
    if (!is_openblas(library)) return inner;
    std::copy_if(routines.begin(), routines.end(), std::back_inserter(inner), is_openblas_optimized_lapack);
    return inner;
}

void add_inner_lapack(const LinkMap& objects, const LoadedObject& caller, ExaminedProcess& result) {
    std::map<const LoadedObject*, std::vector<std::string>> groups;
    for (const ElfSymbol& import : caller.elf.imports) {
        if (!is_float32_lapack_routine(import.name)) continue;
        const LoadedObject* provider = objects.binding(caller, import).provider;
        // OpenBLAS and its LAPACK are skipped as callers, because they call LAPACK only for another object, which is
        // listed.
        if (provider == nullptr || is_openblas(caller)) continue;
        groups[provider].push_back(import.name);
    }
    for (const auto& [provider, routines] : groups) {
        LibraryCalls calls;
        calls.functions = inner_routines(*provider, routines);
        if (calls.functions.empty()) continue;
        std::sort(calls.functions.begin(), calls.functions.end());
        calls.caller = caller.path;
        calls.provider = provider->path;
        calls.family = "lapack";
        calls.package = package_of(calls.provider);
        calls.why = "LAPACK that multiplies inside its own library";
        // A library inside a wheel cannot be replaced, so there is no remedy.
        if (calls.package.empty())
            calls.remedy = fmt::format(
                "a separate LAPACK on top of a shared BLAS is seen (Debian, Ubuntu: install liblapack3, then choose "
                "its file in lapack/ with: update-alternatives --config liblapack.so.3-{})",
                multiarch);
        result.calls.push_back(std::move(calls));
    }
}

/// Adds a note if torch is loaded without cuBLAS. Then either torch was built without CUDA, or it loads cuBLAS only
/// on a machine with a GPU.
void add_torch_note(const LinkMap& objects, ExaminedProcess& result) {
    const auto find = [&](std::string_view beginning) -> const LoadedObject* {
        for (const LoadedObject& object : objects.all())
            if (system::base_name(object.path).starts_with(beginning)) return &object;
        return nullptr;
    };
    const LoadedObject* torch = find("libtorch_cpu.so");
    if (torch == nullptr || find("libcublas.so") != nullptr) return;
    const auto beside = std::filesystem::path(torch->path).parent_path() / "libtorch_cuda.so";
    const auto elf = read_elf(beside.string(), is_needed_symbol);
    if (!elf) {
        result.notes.push_back(
            {torch->path, "this build of torch has no CUDA part, so it uses no cuBLAS on any machine"});
        return;
    }
    for (const std::string& needed : elf->needed)
        if (needed.starts_with("libcublas.so"))
            result.notes.push_back({beside.string(), fmt::format("on a GPU it loads {}", needed)});
}

/// Adds a note for each algorithm that is known to give wrong results in the cublasLt at `path`. Loads the library in
/// a child process to ask for its version.
void add_known_wrong(const std::string& path, ExaminedProcess& result) {
    const auto ask = [&](const Message&) -> Message {
        void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        const auto version =
            library == nullptr ? nullptr : reinterpret_cast<std::size_t (*)()>(dlsym(library, "cublasLtGetVersion"));
        return version == nullptr ? 0 : version();
    };
    const WorkerAnswer answer = WorkerProcess(ask).ask();
    const int version = answer.problem.empty() && answer.value.is_number_unsigned() ? answer.value.get<int>() : 0;
    for (const policy::KnownWrongAlgorithm& known : policy::known_wrong_algorithms)
        if (known.concerns(version))
            result.notes.push_back(
                {path,
                 fmt::format("cublasLt {}.{}.{}: results of its algorithm {} may {} with split-K from {} on ({}); "
                             "report names calls that used it, and avoid_known_wrong = true in [cuda] of a "
                             "policy replaces it",
                             version / 10000, version / 100 % 100, version % 100, known.id, known.what,
                             known.least_split_k, known.source)});
}

void add_bypasses(const LinkMap& objects, ExaminedProcess& result) {
    std::set<std::string> looked_at;
    Progress progress("reading libraries");
    std::size_t done = 0;
    for (const LoadedObject& object : objects.all()) {
        progress.show(++done, objects.all().size());
        if (object.is_shim || !looked_at.insert(object.path).second) continue;
        auto file = scan_for_bypasses(object.path);
        if (!file) file = ScannedFile{{}, find_bypasses_by_name(object.path), {}};
        for (Bypass& bypass : file->bypasses) result.bypasses.push_back(std::move(bypass));
        if (file->looked_up.cublas)
            result.notes.push_back({object.path, "looks up cuBLAS functions at run time (dlsym): seen"});
        if (file->looked_up.kernels)
            result.notes.push_back(
                {object.path,
                 "can launch kernels on GPUs through the CUDA driver: run --pin and run --where record each launch "
                 "and, where it is known, in which format the kernel multiplies"});
    }
}

ExaminedProcess examine_process(const LoggedProcess& process, bool with_bindings) {
    ExaminedProcess result;
    result.pid = process.pid;
    const LinkMap objects(process, result);
    for (const LoadedObject& object : objects.all()) {
        if (object.is_shim) {
            result.notes.push_back({object.path, "the shim is loaded"});
            continue;
        }
        add_calls(objects, object, result);
        add_inner_lapack(objects, object, result);
        if (system::base_name(object.path).starts_with("libcublasLt.so")) add_known_wrong(object.path, result);
    }
    add_bypasses(objects, result);
    add_torch_note(objects, result);
    if (with_bindings) result.bindings = process.bindings;
    return result;
}

}  // namespace

ExaminedProgram run_and_examine_program(const std::string& path, const std::vector<std::string>& words,
                                        bool with_bindings) {
    ExaminedProgram program;
    program.path = path;
    program.why_unseen = find_preload_obstacle(program.path).text;
    if (!program.why_unseen.empty()) {
        // The program cannot be observed, but its file shows which libraries are linked into it statically.
        if (auto file = scan_for_bypasses(program.path)) {
            ExaminedProcess inside;
            inside.program = program.path;
            inside.bypasses = std::move(file->bypasses);
            program.processes.push_back(std::move(inside));
        }
        return program;
    }
    say("doctor", fmt::format("running {} once to see what it loads; its output goes to stderr", words.front()));
    const ObservedRun observation = run_under_ld_debug(program.path, words, with_bindings);
    program.was_run = observation.was_run;
    program.ended = observation.ended;
    program.not_observed = observation.problem;
    for (const LoggedProcess& process : observation.processes) {
        program.processes.push_back(examine_process(process, with_bindings));
        std::error_code error;
        for (const LoggedObject& object : process.objects)
            program.files.insert(std::filesystem::weakly_canonical(object.name, error).string());
    }
    return program;
}

}  // namespace fp32shim::cli
