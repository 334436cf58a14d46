#include "cli/verify/examine_child.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/binaries/bypasses.hpp"
#include "cli/binaries/elf_file.hpp"
#include "cli/binaries/function_kind.hpp"
#include "record/format/identity.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

#if defined(__x86_64__)
#define FP32SHIM_MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define FP32SHIM_MULTIARCH "aarch64-linux-gnu"
#endif

/// The folders in which the loader looks for libraries by default.
constexpr std::string_view library_folders[] = {
    "/lib/" FP32SHIM_MULTIARCH, "/usr/lib/" FP32SHIM_MULTIARCH, "/lib64", "/usr/lib64", "/lib", "/usr/lib"};

/// The functions that start programs, load libraries, or make any system call.
constexpr std::string_view starting_functions[] = {
    "dlmopen", "dlopen",  "execl", "execle",      "execlp",       "execv",   "execve", "execveat", "execvp",
    "execvpe", "fexecve", "popen", "posix_spawn", "posix_spawnp", "syscall", "system", "wordexp"};

/// The libraries that start programs or load files only if a caller asks them to: the files of the C library, and
/// libselinux.
constexpr std::string_view trusted_libraries[] = {"libc.so.",  "ld-linux", "libpthread.so.", "libdl.so.",
                                                  "librt.so.", "libm.so.", "libselinux.so."};

bool starts_programs(std::string_view name) {
    return std::ranges::find(starting_functions, name) != std::end(starting_functions);
}

bool is_trusted_library(std::string_view name) {
    return std::ranges::any_of(trusted_libraries, [&](std::string_view known) { return name.starts_with(known); });
}

/// Returns the time of the last change of a file and of all links on its path, including links in place of folders;
/// INT64_MAX if it is not known.
std::int64_t change_ns(const std::string& path, int links_left = 20) {
    std::int64_t latest = 0;
    std::filesystem::path at;
    for (const std::filesystem::path& part : std::filesystem::path(path)) {
        at /= part;
        struct stat facts = {};
        if (lstat(at.c_str(), &facts) != 0) return INT64_MAX;
        if (S_ISDIR(facts.st_mode)) continue;
        for (const timespec& time : {facts.st_ctim, facts.st_mtim})
            latest = std::max(latest, std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec);
        if (!S_ISLNK(facts.st_mode)) continue;
        std::error_code error;
        const std::filesystem::path target = std::filesystem::read_symlink(at, error);
        if (error || links_left == 0) return INT64_MAX;
        // If the target of the link is absolute, operator/ drops the folder of the link.
        latest = std::max(latest, change_ns(at.parent_path() / target, links_left - 1));
    }
    return latest;
}

std::string find_library(const std::string& name) {
    if (name.find('/') != std::string::npos) return {};
    for (const std::string_view folder : library_folders) {
        const std::string path = fmt::format("{}/{}", folder, name);
        std::error_code error;
        if (std::filesystem::is_regular_file(path, error)) return path;
    }
    return {};
}

bool is_ldconfig(const record::RecordedChild& child) {
    return child.why_unseen == record::WhyUnseen::statically_linked &&
           (child.path == "/sbin/ldconfig" || child.path == "/usr/sbin/ldconfig");
}

/// Returns true for the C library's loader. `/lib64/ld-linux-x86-64.so.2 PROGRAM` runs the program.
bool is_loader(const std::string& path) {
    const std::string_view name = system::base_name(path);
    return name.starts_with("ld") && name.find(".so") != std::string_view::npos;
}

/// Returns true if `why`, the reason why the shim did not see a program, implies that the program was started in the
/// same root folder as this command, so that the same paths name the same files.
bool is_in_this_root(record::WhyUnseen why) {
    using record::WhyUnseen;
    return why == WhyUnseen::statically_linked || why == WhyUnseen::other_user || why == WhyUnseen::capabilities ||
           why == WhyUnseen::no_preload || why == WhyUnseen::other_log || why == WhyUnseen::other_run ||
           why == WhyUnseen::switched_off || why == WhyUnseen::other_policy;
}

/// Returns true if the recording was made on this machine, in the same container or in none.
bool is_of_this_machine(const record::RecordingFacts& facts) {
    utsname names{};
    const record::ProcessIdentity self = record::identify_self();
    return uname(&names) == 0 && facts.process.host == names.nodename && facts.identity.pid_namespace != 0 &&
           facts.identity.pid_namespace == self.pid_namespace;
}

std::string path_of(const record::RecordedChild& child) {
    if (child.path.starts_with('/')) return child.path;
    if (!child.folder.starts_with('/') || child.path.starts_with("…")) return {};
    return child.folder + '/' + child.path;
}

/// Returns the reason why the program or library at `path` may multiply; empty if nothing in it suggests so.
std::string why_it_may_multiply(const std::string& path, const ElfFile& elf) {
    const auto scanned = scan_for_bypasses(path);
    if (!scanned) return "cannot be read";
    if (!scanned->bypasses.empty()) return "contains " + scanned->bypasses.front().title;
    for (const auto* symbols : {&elf.imports, &elf.exports})
        for (const ElfSymbol& symbol : *symbols)
            if (multiplies_matrices(symbol.name) || is_float32_lapack_routine(symbol.name))
                return "has " + symbol.name;
    return {};
}

/// Returns the reason why a program or library may start programs or load libraries; empty if it cannot.
std::string why_it_may_start_programs(const ElfFile& elf) {
    for (const ElfSymbol& symbol : elf.imports)
        if (starts_programs(symbol.name))
            return fmt::format("can start programs or load libraries ({})", symbol.name);
    return {};
}

bool is_needed_symbol_of_child(std::string_view name) {
    return is_intercepted(name) || is_float32_lapack_routine(name) || starts_programs(name);
}

}  // namespace

const ChildExaminer::ExaminedContents& ChildExaminer::examine_contents(const std::string& path) {
    const auto [entry, is_new] = contents_.try_emplace(path);
    ExaminedContents& result = entry->second;
    if (!is_new) return result;
    std::vector<std::string> paths = {path};
    std::set<std::string> names;
    for (std::size_t i = 0; i < paths.size() && result.finding.empty(); ++i) {
        const std::string who = i == 0 ? "its file" : paths[i];
        const auto elf = read_elf(paths[i], is_needed_symbol_of_child);
        if (!elf || !elf->is_this_architecture || elf->has_search_path) {
            result.finding = who + " cannot be judged";
            return result;
        }
        result.changed_ns = std::max(result.changed_ns, change_ns(paths[i]));
        std::string finding = why_it_may_multiply(paths[i], *elf);
        if (finding.empty() && (i == 0 || !is_trusted_library(system::base_name(paths[i]))))
            finding = why_it_may_start_programs(*elf);
        if (!finding.empty()) result.finding = who + ' ' + finding;
        for (const std::string& needed : elf->needed) {
            if (!names.insert(needed).second) continue;
            paths.push_back(find_library(needed));
            if (paths.back().empty() && result.finding.empty())
                result.finding = fmt::format("{} is not in a folder of the system", needed);
        }
    }
    return result;
}

ExaminedChild ChildExaminer::examine(const record::RecordedChild& child, const MergedProcess& process) {
    const std::string path = path_of(child);
    if (path.empty() || !child.interpreter.empty() || !is_in_this_root(child.why_unseen)) return {};
    if (is_loader(path)) return {false, "it is the loader, which runs the program that it is given"};
    const bool is_static = child.why_unseen == record::WhyUnseen::statically_linked;
    if (is_static && !is_ldconfig(child)) return {};
    if (child.has_own_libraries)
        return {false,
                "its file was not examined, because its environment told the loader of other libraries (LD_PRELOAD "
                "or LD_AUDIT)"};
    if (!is_of_this_machine(process.facts))
        return {false,
                "its file was not examined, because the recording does not show that it was made on this machine and "
                "in this container"};
    const ExaminedContents& found = examine_contents(path);
    if (!found.finding.empty()) return {false, found.finding};
    // The time of a file's change may be some milliseconds early, because the clock of a file system has long steps.
    constexpr std::int64_t clock_step_ns = 20'000'000;
    if (found.changed_ns > child.first_ns - clock_step_ns) return {false, "its file has changed since"};
    if (is_static)
        return {true, "its name and place are those of the C library's ldconfig, and no known BLAS is in its file"};
    return {true,
            "its file was examined: it and its libraries have no known BLAS and no known kernels, and it imports no "
            "function that starts programs or loads libraries"};
}

}  // namespace fp32shim::cli
