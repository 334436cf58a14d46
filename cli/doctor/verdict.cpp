// Draws the conclusions of `fp32shim doctor`: findings, products that the shim sees, and products that the shim does
// not see.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <tuple>

#include "cli/binaries/function_kind.hpp"
#include "cli/binaries/shim_library.hpp"
#include "cli/binaries/worker_process.hpp"
#include "cli/command_line/commands.hpp"
#include "cli/doctor/result.hpp"
#include "cli/output/terminal.hpp"
#include "policy/words.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

constexpr std::size_t max_names = 3;

std::string base_names(const std::vector<std::string>& paths) {
    std::vector<std::string> names;
    names.reserve(paths.size());
    for (const std::string& path : paths) names.emplace_back(system::base_name(path));
    return listed(names, max_names);
}

std::string provider_text(const LibraryCalls& calls) {
    if (calls.provider == calls.caller) return "itself, which contains them";
    const std::string text(system::base_name(calls.provider));
    std::vector<std::string> details;
    if (!calls.library.implementation.empty() && calls.library.implementation != "other")
        details.push_back(calls.library.implementation +
                          (calls.library.version.empty() ? "" : " " + calls.library.version));
    if (!calls.library.kernels.empty()) details.push_back(calls.library.kernels + " kernels");
    if (!calls.package.empty()) details.push_back(calls.package);
    return details.empty() ? text : fmt::format("{} ({})", text, fmt::join(details, ", "));
}

std::string calls_text(const LibraryCalls& calls, const std::vector<std::string>& callers) {
    std::vector<std::string> functions = calls.functions;
    std::stable_partition(functions.begin(), functions.end(), is_sgemm);
    return fmt::format("{}{} call{} {} of {}", calls.family == "cublas" ? "on a GPU: " : "", base_names(callers),
                       callers.size() == 1 ? "s" : "", listed(functions, max_names), provider_text(calls));
}

/// Groups entries by key. The groups are in the order in which their keys first appear.
template <class T, class Key>
std::vector<std::vector<const T*>> group_by_key(const std::vector<const T*>& entries, Key key) {
    std::vector<std::vector<const T*>> groups;
    for (const T* entry : entries) {
        const auto same =
            std::ranges::find_if(groups, [&](const auto& group) { return key(*group.front()) == key(*entry); });
        if (same == groups.end())
            groups.push_back({entry});
        else
            same->push_back(entry);
    }
    return groups;
}

template <class T, class Key>
void remove_repeats(std::vector<T>& list, Key key) {
    std::set<std::string> known;
    std::erase_if(list, [&](const T& entry) { return !known.insert(key(entry)).second; });
}

/// Returns the distinct paths in the member `field` of a group's entries.
template <class T>
std::vector<std::string> distinct_paths(const std::vector<const T*>& group, std::string T::*field) {
    std::vector<std::string> paths;
    for (const T* entry : group) paths.push_back(entry->*field);
    remove_repeats(paths, [](const std::string& path) { return path; });
    return paths;
}

/// Returns a finding if `library` is an OpenBLAS that uses kernels for an older processor than this machine has.
std::optional<Finding> judge_blas_kernels(const BlasLibrary& library, const Processor& processor) {
    if (library.implementation != "OpenBLAS" || library.kernels.empty()) return std::nullopt;
    const auto is_one_of = [&](std::initializer_list<std::string_view> cores) {
        return std::ranges::any_of(
            cores, [&](std::string_view core) { return policy::equal_ignoring_case(core, library.kernels); });
    };
    std::string_view fitting;
    std::string_view instructions;
    const bool uses_avx512 = is_one_of({"SkylakeX", "Cooperlake", "Sapphirerapids"});
    if (processor.has("AVX-512") && !uses_avx512) {
        fitting = "SkylakeX";
        instructions = "AVX-512";
    } else if (processor.has("AVX2") && !uses_avx512 && !is_one_of({"Haswell", "Zen", "Excavator"})) {
        fitting = "Haswell";
        instructions = "AVX2";
    }
    if (fitting.empty()) return std::nullopt;
    const std::string about = fmt::format("{} ({})", library.soname, library.path);
    const char* chosen = std::getenv("OPENBLAS_CORETYPE");
    if (chosen != nullptr && *chosen != '\0')
        return Finding{
            about,
            fmt::format("OpenBLAS {} runs its {} kernels, as OPENBLAS_CORETYPE={} asks, on a processor with {}",
                        library.version, library.kernels, chosen, instructions),
            fmt::format("unset OPENBLAS_CORETYPE, or set OPENBLAS_CORETYPE={}", fitting)};
    return Finding{
        about,
        fmt::format("OpenBLAS {} treats this processor as {}, and does not use its {} (half the speed, or less)",
                    library.version, library.kernels, instructions),
        fmt::format("OPENBLAS_CORETYPE={}", fitting)};
}

void judge_calls(const std::vector<const LibraryCalls*>& all, DoctorResult& result) {
    const auto key = [](const LibraryCalls& calls) {
        const bool is_itself = calls.caller == calls.provider;
        return std::tuple(is_itself, calls.provider, calls.functions, calls.why);
    };
    for (const auto& group : group_by_key(all, key)) {
        const LibraryCalls& calls = *group.front();
        const std::string text = calls_text(calls, distinct_paths(group, &LibraryCalls::caller));
        if (calls.why.empty())
            result.seen.push_back(text);
        else
            result.not_seen.push_back({calls.caller, fmt::format("{}: {}", text, calls.why), calls.remedy});
        if (calls.library.path.empty()) continue;
        if (auto finding = judge_blas_kernels(calls.library, result.processor))
            result.findings.push_back(std::move(*finding));
    }
}

void judge_bypasses(const std::vector<const Bypass*>& all, DoctorResult& result) {
    const auto key = [](const Bypass& bypass) { return std::tie(bypass.title, bypass.message); };
    for (const auto& group : group_by_key(all, key)) {
        const Bypass& bypass = *group.front();
        const std::vector<std::string> objects = distinct_paths(group, &Bypass::object);
        const bool has_kernels = bypass.device == "gpu" && bypass.name != "AMD-BLAS";
        result.not_seen.push_back({bypass.object,
                                   fmt::format("{} in {}: {}{}", bypass.title, base_names(objects), bypass.message,
                                               has_kernels ? "; run --pin and run --where record these kernels and, "
                                                             "where it is known, in which format each multiplies"
                                                           : ""),
                                   bypass.remedy});
    }
}

void judge_program(const ExaminedProgram& program, DoctorResult& result) {
    if (!program.why_unseen.empty()) {
        result.not_seen.push_back(
            {program.path,
             fmt::format("{} {}, so none of its products is seen", system::base_name(program.path),
                         program.why_unseen),
             fmt::format("use a build that is dynamically linked with glibc, is for this processor, and has no "
                         "elevated rights{}",
                         program.why_unseen.find("uses musl") == std::string::npos
                             ? ""
                             : "; if LD_PRELOAD names a library for glibc, musl ends the program with status 127")});
    }
    std::vector<const LibraryCalls*> calls;
    std::vector<const Bypass*> bypasses;
    for (const ExaminedProcess& process : program.processes) {
        for (const LibraryCalls& entry : process.calls) calls.push_back(&entry);
        for (const Bypass& entry : process.bypasses) bypasses.push_back(&entry);
    }
    judge_calls(calls, result);
    judge_bypasses(bypasses, result);
    for (const ExaminedProcess& process : program.processes)
        for (const std::string& path : process.unreadable)
            result.not_seen.push_back(
                {path, fmt::format("{}: its file could not be read afterwards, so its calls are not known", path),
                 ""});
    if (!program.was_run) return;
    const ProgramEnd& ended = program.ended;
    if (ended.exec_error == 0 && (ended.signal != 0 || ended.exit_status != 0))
        result.findings.push_back({program.path,
                                   fmt::format("it {}: libraries that it would have loaded later were not examined",
                                               program_end_text(ended)),
                                   "run it so that it succeeds"});
}

std::string key_of(const Finding& finding) { return finding.about + '\n' + finding.message; }

/// Returns a finding if the library that `fp32shim run` preloads is missing, or if this machine's loader rejects it.
std::optional<Finding> judge_own_library() {
    const ShimLibrary library = find_shim_library();
    if (!library.problem.empty()) return Finding{"nothing can be preloaded", library.problem, ""};
    const auto load = [&](const Message&) -> Message {
        return dlopen(library.path.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr ? std::string(dlerror()) : "";
    };
    const WorkerAnswer answer = WorkerProcess(load).ask();
    const std::string problem = answer.problem.empty() ? answer.value.get<std::string>() : answer.problem;
    if (problem.empty()) return std::nullopt;
    return Finding{library.path, "this machine's loader refuses it, so nothing can be preloaded: " + problem,
                   "install a build for this system (the wheel and the packages need glibc 2.17 or newer), or set "
                   "FP32SHIM_LIBRARY to one"};
}

}  // namespace

void judge_program_and_machine(DoctorResult& result) {
    if (auto finding = judge_own_library()) result.findings.push_back(std::move(*finding));
    for (const BlasLibrary& library : result.libraries)
        if (auto finding = judge_blas_kernels(library, result.processor))
            result.findings.push_back(std::move(*finding));
    result.findings.insert(result.findings.end(), result.settings.findings.begin(), result.settings.findings.end());
    if (result.program) judge_program(*result.program, result);
    // Equal findings are shown once. They arise because several processes of a program load the same libraries, and
    // because a BLAS has several names.
    remove_repeats(result.findings, key_of);
    remove_repeats(result.not_seen, key_of);
    remove_repeats(result.seen, [](const std::string& line) { return line; });
}

int exit_code_of(const DoctorResult& result) {
    if (result.program && !result.program->not_observed.empty()) return exit_code::inconclusive;
    return result.findings.empty() && result.not_seen.empty() ? exit_code::ok : exit_code::finding;
}

}  // namespace fp32shim::cli
