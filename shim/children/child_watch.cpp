#include "shim/children/child_watch.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "policy/exceptions.hpp"
#include "record/log_path.hpp"
#include "record/pinned_variables.hpp"
#include "record/process_facts.hpp"
#include "record/write/children.hpp"
#include "record/write/mark.hpp"
#include "record/write/memory.hpp"
#include "shim/loader/elf/objects.hpp"
#include "shim/loader/loaded_files.hpp"
#include "shim/memory/arena.hpp"
#include "shim/memory/readable_pages.hpp"
#include "shim/settings/read_settings.hpp"
#include "shim/settings/settings.hpp"
#include "system/hash.hpp"
#include "system/inline_text.hpp"
#include "system/io_error.hpp"
#include "system/is_readable.hpp"
#include "system/line_writer.hpp"
#include "system/mapped_memory.hpp"
#include "system/own_descriptor.hpp"
#include "system/raw_file.hpp"
#include "system/raw_syscall.hpp"
#include "system/signal_hold.hpp"
#include "system/stderr_line.hpp"
#include "system/this_process.hpp"

namespace fp32shim {
namespace {

using record::WhyUnseen;

constexpr std::string_view log_variable = "FP32_MATMUL_LOG", preload_variable = "LD_PRELOAD",
                           disable_variable = "FP32_MATMUL_DISABLE", policy_variable = "FP32_MATMUL_POLICY";

/// Variables as they were when the process started, because `env -i` removes its own variables before it starts the
/// program. They are the log's name (FP32_MATMUL_LOG), the number and file of the `fp32shim run` to which the process
/// belongs (record::run_variable), and, without a run, the job and rank. Each text ends with a NUL, and is never
/// freed.
struct ProcessStartFacts {
    std::string_view log;
    std::string_view run_text;
    record::RunVariableValue run;
    record::LogNameFacts name;
    std::int32_t process = 0;      ///< id of the process that executed this program; 0 if it is unknown
    std::int32_t run_process = 0;  ///< id of `fp32shim run`, or of the program that replaced it; 0 if it is unknown
    /// Id of the process that `fp32shim run` started, also in its forked children; 0 if `run` did not start this
    /// program.
    std::int32_t first_process = 0;
    std::uint64_t program = 0;       ///< random number of this program, which its forked children share
    bool was_found_by_name = false;  ///< true if LD_PRELOAD named this library without a folder
};
constinit ProcessStartFacts start;
constinit std::atomic<bool> is_to_be_recorded{false};
/// The run's file for children, which is opened before this process changes its root folder.
constinit system::OwnDescriptor children_file;
constinit std::atomic<bool> has_another_root{false};

/// Returns the value of a variable in the environment of a new program; empty if it is not set or cannot be read. The
/// shim reads the environment before the kernel does, and must not crash where execve would return an error. If a
/// variable is set several times, this function returns the value that counts: the last one for the loader's
/// variables (LD_...), as in the loader, and the first one for others, as in the shim.
std::string_view value_of(char* const* environment, std::string_view name) {
    ReadablePages entries(system::is_readable), texts(system::is_readable);
    const auto has_text = [&](const char* text) { return texts.can_read(reinterpret_cast<std::uintptr_t>(text)); };
    const auto has_name = [&](const char* text) {
        for (const char letter : name)
            if (!has_text(text) || *text++ != letter) return false;
        return has_text(text) && *text == '=';
    };
    const bool last_counts = name.starts_with("LD_");
    std::string_view value;
    for (char* const* entry = environment;
         entry != nullptr && entries.can_read(reinterpret_cast<std::uintptr_t>(entry)) && *entry != nullptr;
         ++entry) {
        if (!has_name(*entry)) continue;
        const char* const begin = *entry + name.size() + 1;
        const char* end = begin;
        while (has_text(end) && *end != '\0') ++end;
        value = {begin, static_cast<std::size_t>(end - begin)};
        if (!last_counts) break;
    }
    return value;
}

std::string_view own_value_of(std::string_view name) { return value_of(environ, name); }

/// Returns true if `list` (the content of LD_PRELOAD or /etc/ld.so.preload) has an entry with this library's file
/// name, and stores the entry in `entry`.
bool names_this_library(std::string_view list, std::string_view& entry) {
    const std::string_view own = system::base_name(elf::own_object()->l_name);
    while (!list.empty()) {
        const std::size_t end = list.find_first_of(" :\t\n");
        entry = list.substr(0, end);
        if (system::base_name(entry) == own) return true;
        list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
    }
    return false;
}

record::ChildrenFile children_file_of_run() {
    const std::string_view path = start.run.children_path;
    const bool is_open = has_another_root.load(std::memory_order_relaxed) && children_file.is_own_file();
    return {path.data(), is_open ? children_file.number() : -1, start.run.number};
}

record::FamilyFacts process_family() {
    return {.program = start.program,
            .is_first = start.first_process == system::raw::getpid(),
            .children = start.run.number == 0 ? record::ChildrenFile{} : children_file_of_run()};
}

__attribute__((constructor)) void begin_to_watch() {
    const std::string_view log = own_value_of(log_variable);
    const std::string_view run = own_value_of(record::run_variable);
    if (!log.ends_with(".fp32rec") && record::parse_run_variable(run).number == 0) return;
    if (own_value_of(disable_variable) == "1" || getauxval(AT_SECURE) != 0) return;
    start.log = arena_copy(log);
    start.run_text = arena_copy(run);
    start.run = record::parse_run_variable(start.run_text);
    if (start.run.number == 0) {
        utsname names{};
        start.name = record::find_log_name_facts(own_value_of, names);
        start.name.job_id = arena_copy(start.name.job_id);
        start.name.host = {};  // the host's name is asked again when the log's name is needed
    }
    std::string_view run_process = own_value_of(record::run_process_variable);
    const bool is_child_of_run = run_process.starts_with(record::run_process_is_parent);
    if (is_child_of_run) run_process.remove_prefix(record::run_process_is_parent.size());
    std::int32_t process = 0;
    std::from_chars(run_process.data(), run_process.data() + run_process.size(), process);
    start.run_process = process;
    const std::int32_t self = system::raw::getpid();
    if (process != 0 && process == (is_child_of_run ? system::raw::syscall6(SYS_getppid) : self))
        start.first_process = self;
    if (system::fork_generation() == 1) start.process = self;
    start.program = system::Hash()
                        .add(static_cast<std::uint64_t>(self))
                        .add(static_cast<std::uint64_t>(system::raw::realtime_ns()))
                        .value();
    std::string_view entry;
    start.was_found_by_name =
        names_this_library(own_value_of(preload_variable), entry) && entry.find('/') == std::string_view::npos;
    set_process_family_function(process_family);
    keep_closed_files();
    is_to_be_recorded.store(true, std::memory_order_release);
}

record::Recording* recording_in_force() {
    const Settings* known = known_settings();
    return known == nullptr ? nullptr : known->recording;
}

/// Returns true if the file can be accessed, or if its path is too long for the check. `path` need not end in a NUL.
[[gnu::noinline]] bool is_accessible(std::string_view path, int mode) {
    if (path.size() >= record::path_capacity) return true;
    auto* const copy = static_cast<char*>(__builtin_alloca(path.size() + 1));
    *std::ranges::copy(path, copy).out = '\0';
    return system::raw::syscall6(SYS_faccessat, AT_FDCWD, copy, mode) == 0;
}

/// Returns true if both paths lead to the same file.
bool is_same_file(const char* path, const char* other) {
    using system::raw::syscall6;
    struct stat status {};
    struct stat other_status {};
    return syscall6(SYS_newfstatat, AT_FDCWD, path, &status, 0) == 0 &&
           syscall6(SYS_newfstatat, AT_FDCWD, other, &other_status, 0) == 0 && status.st_dev == other_status.st_dev &&
           status.st_ino == other_status.st_ino;
}

/// Returns true if `entry` of LD_PRELOAD, which has this library's file name, leads the loader to this library.
[[gnu::noinline]] bool is_this_library(std::string_view entry) {
    if (entry.find('/') == std::string_view::npos) return start.program == 0 || start.was_found_by_name;
    const char* const own = elf::own_object()->l_name;
    if (system::equal(entry, system::view(own)) || entry.size() >= record::path_capacity) return true;
    auto* const copy = static_cast<char*>(__builtin_alloca(entry.size() + 1));
    *std::ranges::copy(entry, copy).out = '\0';
    return is_same_file(copy, own);
}

bool is_preloaded_everywhere() {
    const system::RawFile file("/etc/ld.so.preload");
    if (!file.is_open()) return false;
    const MappedMemory list(1024);
    std::string_view entry;
    return names_this_library({list.bytes().data(), file.read(0, list.bytes().data(), list.bytes().size())}, entry);
}

/// Returns true if the environment makes the loader load libraries other than this one. LD_LIBRARY_PATH does not
/// count, because on clusters it is set for every program, and most small tools need only the C library.
bool loads_other_libraries(char* const* environment) {
    const std::string_view list = value_of(environment, preload_variable);
    std::string_view entry;
    const bool has_other_preload = !list.empty() && (!names_this_library(list, entry) || entry.size() != list.size());
    return has_other_preload || !value_of(environment, "LD_AUDIT").empty();
}

/// Returns true if this process has changed the meaning of paths, so that programs that it starts do not find the
/// run's file for children. Under another root, the file's path may lead to another file.
bool hides_log() {
    if (!has_another_root.load(std::memory_order_relaxed) || start.run.children_path.empty()) return false;
    const int descriptor = system::raw::open(start.run.children_path.data(), O_PATH | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) return true;
    const bool is_found = children_file.is_own_file(descriptor);
    system::raw::close(descriptor);
    return !is_found;
}

WhyUnseen why_unseen_with(char* const* environment) {
    std::string_view entry;
    if (names_this_library(value_of(environment, preload_variable), entry)) {
        if (entry.starts_with('/') && !is_accessible(entry, R_OK)) return WhyUnseen::library_out_of_reach;
        if (!is_this_library(entry)) return WhyUnseen::other_library;
    } else if (!is_preloaded_everywhere()) {
        return WhyUnseen::no_preload;
    }
    using system::raw::syscall6;
    if (syscall6(SYS_getuid) != syscall6(SYS_geteuid) || syscall6(SYS_getgid) != syscall6(SYS_getegid))
        return WhyUnseen::other_user;
    if (value_of(environment, disable_variable) == "1") return WhyUnseen::switched_off;
    if (value_of(environment, log_variable) != start.log) return WhyUnseen::other_log;
    if (start.run.number != 0 && value_of(environment, record::run_variable) != start.run_text)
        return WhyUnseen::other_run;
    if (start.log.empty() && value_of(environment, policy_variable) != value_at_start(policy_variable))
        return WhyUnseen::other_policy;
    return hides_log() ? WhyUnseen::log_out_of_reach : WhyUnseen::seen;
}

/// Calls `use` with the file for children beside this process's own recording. Is meant for a process that belongs to
/// no run. Returns the result of `use`, or an errno.
template <class Use>
int with_file_beside_log(Use use) {
    constexpr std::size_t scratch_size = 3 * record::path_capacity;  // too much for the stack of a signal handler
    auto* const scratch = static_cast<char*>(record::map_private_pages(scratch_size, record::PagesInChild::none));
    if (scratch == nullptr) return ENOMEM;
    record::LogNameFacts facts = start.name;
    facts.pid = system::raw::getpid();
    facts.start_ns = system::raw::realtime_ns();
    utsname names{};
    facts.host = system::raw::uname(names) == 0 ? names.nodename : "";
    if (facts.job_id.empty()) {
        char* const groups = scratch + 2 * record::path_capacity;
        facts.job_id = policy::job_in_cgroups(
            {groups, system::RawFile("/proc/self/cgroup").read(0, groups, record::path_capacity)});
    }
    const record::ExpandedPath log = record::expand_path(start.log, facts, {scratch, record::path_capacity});
    const std::string_view path = record::children_file_path(
        log.path.empty() ? start.log : log.path, {scratch + record::path_capacity, record::path_capacity});
    const int error =
        path.empty() ? ENAMETOOLONG : use(record::ChildrenFile{path.data(), -1, 0, facts.job_id, facts.job_id_from});
    record::unmap_pages(scratch, scratch_size);
    return error;
}

/// Returns true if the file for children exists: that of this process's run or, without a run, the one beside its own
/// recording.
bool has_children_file() {
    if (start.run.number != 0) return is_accessible(start.run.children_path, F_OK);
    return start.log.ends_with(".fp32rec") && with_file_beside_log([](const record::ChildrenFile& file) {
                                                  return is_accessible(file.path, F_OK) ? 0 : ENOENT;
                                              }) == 0;
}

[[gnu::noinline]] void warn_child_not_recorded(const record::UnseenChild& child, int error) {
    static constinit system::OncePerProcess said;
    if (!said.is_first_call()) return;
    char line[1024];
    system::LineWriter out(line);
    out.escaped(child.path, 400).text(" ").text(record::to_string(child.why));
    out.text("; this cannot be recorded for fp32shim verify: ").text(system::describe_io_error(error).meaning);
    system::stderr_line(out.view());
}

/// Programs that multiply nothing and that a run may start thousands of times. They are recognised only in the
/// folders of the system, because elsewhere a name proves little. Every other program leaves a list of its loaded
/// files, a mark. Equal marks are written once, so this list of tools need not be complete.
constexpr std::string_view tools[] = {
    "ar",      "as",      "awk",      "basename", "bash",   "busybox",  "cat",         "cc1",      "cc1plus",
    "chmod",   "chown",   "collect2", "cp",       "cpp",    "cut",      "dash",        "date",     "df",
    "dirname", "du",      "echo",     "env",      "expr",   "find",     "g++",         "gawk",     "gcc",
    "getconf", "git",     "gmake",    "grep",     "head",   "hostname", "id",          "install",  "ld",
    "ld.bfd",  "ld.gold", "ldconfig", "ln",       "ls",     "lscpu",    "lto-wrapper", "lto1",     "make",
    "mawk",    "mkdir",   "mktemp",   "mv",       "nice",   "ninja",    "nm",          "nproc",    "objcopy",
    "objdump", "printf",  "ps",       "pwd",      "ranlib", "readelf",  "readlink",    "realpath", "rm",
    "rmdir",   "sed",     "seq",      "sh",       "sleep",  "sort",     "stat",        "strip",    "stty",
    "tail",    "tar",     "tee",      "test",     "touch",  "tr",       "true",        "tty",      "uname",
    "uniq",    "wc",      "which",    "whoami",   "xargs",
};

constexpr std::string_view system_folders[] = {"/bin/",     "/sbin/",      "/usr/bin/",    "/usr/sbin/",
                                               "/usr/lib/", "/usr/lib64/", "/usr/libexec/"};

/// Returns true if `program` is the command `fp32shim` that was installed with this library. It is
/// PREFIX/bin/fp32shim if the library is inside PREFIX.
bool is_own_command(std::string_view program) {
    constexpr std::string_view command = "bin/fp32shim";
    if (!program.ends_with(command)) return false;
    const std::string_view prefix = program.substr(0, program.size() - command.size());
    return prefix.size() > 1 && system::view(elf::own_object()->l_name).starts_with(prefix);
}

bool is_tool(std::string_view program) {
    std::string_view name = system::base_name(program);
    if (is_own_command(program)) return true;
    if (std::ranges::none_of(system_folders, [&](std::string_view folder) { return program.starts_with(folder); }))
        return false;
    if (name == "fp32shim") return true;
    constexpr std::string_view platform = "-linux-gnu-";
    if (const std::size_t at = name.find(platform); at != std::string_view::npos)
        name.remove_prefix(at + platform.size());
    if (const std::size_t dash = name.rfind('-');
        dash != std::string_view::npos && name.find_first_not_of("0123456789", dash + 1) == std::string_view::npos)
        name = name.substr(0, dash);
    return std::ranges::find(tools, name) != std::end(tools);
}

[[gnu::noinline]] void warn_mark_not_written(int error) {
    static constinit system::OncePerProcess said;
    // If the file is missing, the run has ended and removed its folder, unless this process has another root.
    const bool is_run_over =
        error == ENOENT && !has_another_root.load(std::memory_order_relaxed) &&
        (start.run_process == 0 || system::raw::syscall6(SYS_kill, start.run_process, 0) == -ESRCH);
    // If this process has read its settings, it has already printed that its recording could not be made.
    if (is_run_over || known_settings() != nullptr || !said.is_first_call()) return;
    char line[512];
    system::LineWriter out(line);
    out.text("the files that this process had loaded cannot be recorded for fp32shim verify: ");
    out.text(system::describe_io_error(error).meaning);
    system::stderr_line(out.view());
}

/// Returns true if this process belongs to a run whose recordings may lack some of its loaded files. That is the case
/// if it has no recording, if the program changed the log, if files were loaded since the recording last listed them,
/// or if a reference leads past the shim.
bool may_leave_mark() {
    if (start.run.number == 0 || start.run.children_path.empty()) return false;
    const record::Recording* parents = recording_in_force();
    return parents == nullptr || has_changed_log() || !has_loaded_nothing_since(*parents) ||
           any_object_bypasses_shim();
}

/// Returns true for a tool, unless another library is preloaded in addition to the shim. That library may multiply.
bool multiplies_nothing(const record::UnrecordedProcessMark& mark) {
    return is_tool(mark.program()) && !loads_other_libraries(environ);
}

void record_unseen_child(const record::UnseenChild& child, record::ChildEvent event) {
    const record::Recording* recording = recording_in_force();
    if (recording != nullptr && recording->record_child(child, event)) return;
    if (start.run.number == 0 && start.log.empty()) return;
    const int error =
        start.run.number != 0
            ? record::record_child(children_file_of_run(), child, event)
            : with_file_beside_log([&](const auto& file) { return record::record_child(file, child, event); });
    if (error != 0 && event == record::ChildEvent::starts) warn_child_not_recorded(child, error);
}

}  // namespace

bool watches_children() {
    return is_to_be_recorded.load(std::memory_order_acquire) || recording_in_force() != nullptr;
}

ProgramLaunch::ProgramLaunch(const char* path, char* const* environment) : path_(path) {
    if (!watches_children() || path == nullptr) return;
    inspection_ = record::inspect_program(path, interpreter_);
    if (!inspection_.can_start) return;
    if (inspection_.why == WhyUnseen::seen) {
        inspection_.why = why_unseen_with(environment);
        if (inspection_.why == WhyUnseen::seen) return;
        has_own_libraries_ = loads_other_libraries(environment);
    }
    note(record::ChildEvent::starts);
}

void ProgramLaunch::note(record::ChildEvent event) const {
    record_unseen_child({path_, inspection_.interpreter, inspection_.why, has_own_libraries_}, event);
}

void ProgramLaunch::cancel_note() const {
    if (is_unseen()) note(record::ChildEvent::failed);
}

void ProgramLaunch::note_start_in_other_folder() const {
    if (!inspection_.can_start && path_ != nullptr && *path_ != '/')
        record_unseen_child({path_, {}, WhyUnseen::not_readable}, record::ChildEvent::starts);
}

bool must_create_recording() {
    if (start.first_process == 0 || start.first_process != system::raw::getpid()) return false;
    if (known_settings() != nullptr || !start.log.ends_with(".fp32rec")) return false;
    const bool has_own_name = record::has_placeholder(start.log, 'p') || record::has_placeholder(start.log, 't');
    if (!has_own_name && is_accessible(start.log, F_OK)) return false;
    // If the program gave up rights or changed its root folder, it cannot write the recording.
    const std::size_t slash = start.log.rfind('/');
    return slash != std::string_view::npos && is_accessible(start.log.substr(0, slash + 1), W_OK | X_OK);
}

void write_loaded_files_mark() {
    if (!may_leave_mark()) return;
    record::UnrecordedProcessMark mark;
    if (multiplies_nothing(mark)) return;
    if (value_at_start("FP32_MATMUL_ONEDNN") == "1") {
        enable_getenv_bypass_check();
        mark.mark_onednn_log_requested();
    }
    // If the settings were read without a recording, perhaps because it could not be opened, no kernels were
    // recorded, whatever the variable says. So the request is noted only if the settings were not read.
    if (known_settings() == nullptr && value_at_start("FP32_MATMUL_KERNELS") == "1") {
        enable_driver_bypass_check();
        mark.mark_kernel_log_requested();
    }
    record_files_at_exit(mark);
    if (has_changed_log()) mark.mark_changed_log();
    const std::uint16_t pins = record::pins_in_environment(own_value_of);
    const int error = mark.write(children_file_of_run(), pins & ~pins_without_effect.load(std::memory_order_relaxed));
    if (error != 0) warn_mark_not_written(error);
}

void count_missed_mark() {
    // This function is called before each exec that the process attempts, of which several may fail, and before
    // _exit.
    static constinit system::OncePerProcess counted;
    if (own_recording() != nullptr || !may_leave_mark()) return;
    const record::UnrecordedProcessMark mark;
    if (!multiplies_nothing(mark) && counted.is_first_call()) record::count_missed_mark(children_file_of_run());
}

void record_children_file(record::Recording& recording) {
    // If `fp32shim run` waits for the run's end, it has made the file. At the end it notes the file in the
    // recordings, unless the file is empty. So this process notes nothing.
    if (!start.run.is_awaited && has_children_file()) recording.mark_children_file();
}

bool may_have_crashed() {
    using system::SignalHold, system::SignalSet, system::raw::syscall6;
    constexpr SignalSet crashes = SignalHold::fault_signals | system::signal_bit(SIGABRT);
    SignalSet blocked = 0;
    stack_t stack{};
    if (syscall6(SYS_rt_sigprocmask, SIG_BLOCK, 0, &blocked, sizeof blocked) < 0 || (blocked & crashes) != 0)
        return true;
    return syscall6(SYS_sigaltstack, 0, &stack) < 0 || (stack.ss_flags & SS_ONSTACK) != 0;
}

void write_mark_before_exec() {
    if (own_recording() != nullptr) return;
    // A forked child whose parent has no recording could find out what was loaded since the fork only by reading all
    // files, which takes milliseconds. So no mark is written.
    if (system::is_forked_child() && recording_in_force() == nullptr) return;
    if (shares_parents_memory()) return;
    if (may_have_crashed()) return count_missed_mark();
    write_loaded_files_mark();
}

bool shares_parents_memory() {
    const std::int32_t self = system::raw::getpid();
    if (const record::Recording* recording = own_recording()) return !recording->is_of_process(self);
    return system::fork_generation() == 1 && start.process != 0 && start.process != self;
}

void keep_children_file_open() {
    if (!watches_children() || start.run.children_path.empty() || has_another_root.load(std::memory_order_relaxed))
        return;
    const system::SignalHold hold;
    // The file is kept open, and not its folder, because a descriptor of a folder outside the new root would let the
    // program escape from a jail.
    const int file = record::open_children_file(children_file_of_run());
    if (file >= 0) children_file.keep(file);
    has_another_root.store(true, std::memory_order_relaxed);
}

void record_hidden_log(const char* place) {
    // The first such mount is the cause. Those after it (bwrap makes thirty) hide nothing more.
    static constinit system::OncePerProcess noted;
    if (place != nullptr && watches_children() && hides_log() && noted.is_first_call())
        record_unseen_child({place, {}, WhyUnseen::behind_mount}, record::ChildEvent::starts);
}

}  // namespace fp32shim
