// Defines the functions by which programs start other programs. Each function checks the program first
// (children/child_watch.hpp), then calls the real function with the same arguments. Each of them has to be defined
// here, because the C library's own functions call each other by hidden names, past the definitions in this file.
// `pidfd_spawn` is not defined, because a program that looks for it would then find it here even if its C library
// does not have it.
//
// Each of these functions may run in a signal handler, or in a child that shares its parent's memory (vfork).
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wordexp.h>

#include <algorithm>
#include <climits>
#include <cstdarg>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "record/log_path.hpp"
#include "shim/children/child_watch.hpp"
#include "shim/loader/next_definition.hpp"
#include "system/line_writer.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim {
namespace {

int no_such_function() {
    errno = ENOSYS;
    return -1;
}

/// The files that execvp tries: the executable file of this name in each folder of PATH in turn, or only the name
/// itself if it is a path. next() composes each path in a buffer of path_size() bytes, which is just enough for the
/// longest path. The buffer is on the stack, because memory that a child of vfork maps would stay in its parent. It
/// is small, because signal handlers may have small stacks.
class PathSearch {
  public:
    explicit PathSearch(const char* file) : file_(file), name_(file == nullptr ? std::string_view() : file) {
        if (name_.empty() || name_.find('/') != std::string_view::npos) return;
        const char* variable = getenv("PATH");
        folders_ = variable == nullptr ? "/bin:/usr/bin" : variable;
        is_by_folder_ = true;
    }

    std::size_t path_size() const {
        if (!is_by_folder_) return 1;
        std::size_t longest = 0, current = 0;
        for (const char letter : folders_) {
            current = letter == ':' ? 0 : current + 1;
            longest = std::max(longest, current);
        }
        return std::min(longest + 1 + name_.size() + 1, record::path_capacity);
    }

    const char* next(std::span<char> buffer) {
        if (!is_by_folder_) return std::exchange(file_, nullptr);
        while (!is_at_end_) {
            const std::size_t colon = folders_.find(':');
            const std::string_view folder = folders_.substr(0, colon);
            is_at_end_ = colon == std::string_view::npos;
            if (!is_at_end_) folders_.remove_prefix(colon + 1);
            system::LineWriter path(buffer);
            path.text(folder).text(folder.empty() ? "" : "/").text(name_).text({"\0", 1});
            if (!path.overflowed() && is_executable(buffer.data())) return buffer.data();
        }
        return nullptr;
    }

  private:
    static bool is_executable(const char* path) {
        struct stat status {};
        return system::raw::syscall6(SYS_newfstatat, AT_FDCWD, path, &status, 0) == 0 && S_ISREG(status.st_mode) &&
               system::raw::syscall6(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
    }

    const char* file_;
    std::string_view name_;
    std::string_view folders_;
    bool is_by_folder_ = false;
    bool is_at_end_ = false;
};

/// A size that is enough for `/proc/self/fd/N`, a slash and a NUL, for every N.
constexpr std::size_t descriptor_path_size = 32;

/// Returns `/proc/self/fd/N` for the descriptor N, followed by `/name` if `name` is not empty; nullptr if the result
/// is too long.
const char* path_of_descriptor(int descriptor, std::string_view name, std::span<char> buffer) {
    system::LineWriter path(buffer);
    path.text("/proc/self/fd/").number(descriptor).text(name.empty() ? "" : "/").text(name).text({"\0", 1});
    return path.overflowed() ? nullptr : buffer.data();
}

/// Returns `pointer`. Hides from the compiler that the C library declares the parameter nonnull, because programs
/// pass nullptr all the same, and gcc would remove a test for it in spite of -fno-delete-null-pointer-checks.
const char* perhaps_null(const char* pointer) {
    asm("" : "+r"(pointer));
    return pointer;
}

/// Returns true if execveat's `path` does not depend on `folder`.
bool ignores_folder(int folder, const char* path) {
    return path == nullptr || *path == '/' || (folder == AT_FDCWD && *path != '\0');
}

using Texts = char* const*;
using Spawn = int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, Texts, Texts);
constinit NextFunction<int(const char*, Texts, Texts)> real_execve{"execve"};
constinit NextFunction<int(const char*, Texts)> real_execv{"execv"};
constinit NextFunction<int(const char*, Texts)> real_execvp{"execvp"};
constinit NextFunction<int(const char*, Texts, Texts)> real_execvpe{"execvpe"};
constinit NextFunction<int(int, const char*, Texts, Texts, int)> real_execveat{"execveat"};
constinit NextFunction<int(int, Texts, Texts)> real_fexecve{"fexecve"};
constinit NextFunction<Spawn> real_posix_spawn{"posix_spawn"};
constinit NextFunction<Spawn> real_posix_spawnp{"posix_spawnp"};
constinit NextFunction<int(const char*)> real_system{"system"};
constinit NextFunction<FILE*(const char*, const char*)> real_popen{"popen"};
constinit NextFunction<int(const char*, wordexp_t*, int)> real_wordexp{"wordexp"};
constinit NextFunction<int(const char*)> real_chroot{"chroot"};
constinit NextFunction<int(const char*, const char*)> real_pivot_root{"pivot_root"};
constinit NextFunction<int(int, int)> real_setns{"setns"};
constinit NextFunction<int(const char*, const char*, const char*, unsigned long, const void*)> real_mount{"mount"};

/// Calls `start`, which replaces this process by the program at `path`. First notes the program if the shim will not
/// see it. Returns only if the program could not be started.
template <class Start>
int replace(const char* path, Texts environment, Start start) {
    write_mark_before_exec();
    const ProgramLaunch program(path, environment);
    const int result = start();
    program.cancel_note();
    return result;
}

bool tries_next_folder(int error) {
    return error == EACCES || error == ENOENT || error == ESTALE || error == ENOTDIR || error == ENODEV ||
           error == ETIMEDOUT;
}

/// Starts and notes the program that execvp would start, but only if the shim will not see it. Like execvp, tries the
/// file in each folder of PATH, because only the kernel can tell which file it accepts. Returns if the shim will see
/// the program, or if no program could be started; the caller then calls execvp itself.
[[gnu::noinline]] void start_unseen(const char* file, Texts arguments, Texts environment) {
    write_mark_before_exec();
    PathSearch search(file);
    const std::size_t size = search.path_size();
    const std::span<char> buffer(static_cast<char*>(__builtin_alloca(size)), size);
    while (const char* path = search.next(buffer)) {
        const ProgramLaunch program(path, environment);
        if (!program.can_start()) continue;
        if (!program.is_unseen()) return;
        real_execve.get()(path, arguments, environment);
        const int error = errno;
        program.cancel_note();
        if (error == ENOEXEC) ProgramLaunch("/bin/sh", environment);  // execvp lets this shell run the file
        if (!tries_next_folder(error)) return;
    }
}

template <class Start>
int spawn(const ProgramLaunch& program, const posix_spawn_file_actions_t* actions, Start start) {
    const int error = start();
    if (error != 0) program.cancel_note();
    if (error == 0 && actions != nullptr) program.note_start_in_other_folder();
    return error;
}

template <class Start>
[[gnu::noinline]] int spawn_by_search(const char* file, const posix_spawn_file_actions_t* actions, Texts environment,
                                      Start start) {
    PathSearch search(file);
    const std::size_t size = search.path_size();
    const std::span<char> buffer(static_cast<char*>(__builtin_alloca(size)), size);
    while (const char* path = search.next(buffer)) {
        const ProgramLaunch program(path, environment);
        if (program.can_start() || path == file) return spawn(program, actions, start);
    }
    return start();
}

/// Counts the arguments of an execl function from `first` on, without the nullptr at their end. Returns INT_MAX if
/// there are more than the kernel accepts.
int count_arguments(const char* first, va_list arguments) {
    if (first == nullptr) return 0;
    int count = 1;
    while (va_arg(arguments, char*) != nullptr)
        if (++count == INT_MAX) return count;
    return count;
}

void copy_arguments(char** to, const char* first, int count, va_list arguments) {
    to[0] = const_cast<char*>(first);
    for (int i = 1; i <= count; ++i) to[i] = va_arg(arguments, char*);
}

/// Calls `start(arguments, count)` with the arguments of an execl function in an array, which also holds `extra`
/// arguments that follow the nullptr. The array is on the stack, as in the C library, because nothing may be
/// allocated after vfork or in a signal handler.
template <class Start>
[[gnu::noinline]] int call_with_argument_array(const char* first, va_list arguments, int extra, Start start) {
    first = perhaps_null(first);
    va_list counted;
    va_copy(counted, arguments);
    const int count = count_arguments(first, counted);
    va_end(counted);
    if (count == INT_MAX) {
        errno = E2BIG;
        return -1;
    }
    const auto pointer_count = static_cast<std::size_t>(count) + 1 + static_cast<std::size_t>(extra);
    auto** const all = static_cast<char**>(__builtin_alloca(pointer_count * sizeof(char*)));
    copy_arguments(all, first, count + extra, arguments);
    return start(all, count);
}

}  // namespace
}  // namespace fp32shim

#define FP32SHIM_HOOK extern "C" __attribute__((visibility("default")))

using namespace fp32shim;

FP32SHIM_HOOK int execve(const char* path, char* const* arguments, char* const* environment) noexcept {
    auto* const real = real_execve.get();
    if (!watches_children()) return real(path, arguments, environment);
    return replace(path, environment, [&] { return real(path, arguments, environment); });
}

FP32SHIM_HOOK int execv(const char* path, char* const* arguments) noexcept {
    auto* const real = real_execv.get();
    if (!watches_children()) return real(path, arguments);
    return replace(path, environ, [&] { return real(path, arguments); });
}

FP32SHIM_HOOK int execvp(const char* file, char* const* arguments) noexcept {
    auto* const real = real_execvp.get();
    if (watches_children()) start_unseen(file, arguments, environ);
    return real(file, arguments);
}

FP32SHIM_HOOK int execvpe(const char* file, char* const* arguments, char* const* environment) noexcept {
    auto* const real = real_execvpe.get();
    if (watches_children()) start_unseen(file, arguments, environment);
    return real(file, arguments, environment);
}

FP32SHIM_HOOK int fexecve(int descriptor, char* const* arguments, char* const* environment) noexcept {
    auto* const real = real_fexecve.get();
    if (!watches_children()) return real(descriptor, arguments, environment);
    char buffer[descriptor_path_size];
    return replace(path_of_descriptor(descriptor, "", buffer), environment,
                   [&] { return real(descriptor, arguments, environment); });
}

FP32SHIM_HOOK int execveat(int folder, const char* path, char* const* arguments, char* const* environment,
                           int flags) noexcept {
    auto* const real = real_execveat.get();
    const auto start = [&] {
        return real == nullptr ? no_such_function() : real(folder, path, arguments, environment, flags);
    };
    if (!watches_children()) return start();
    path = perhaps_null(path);
    if (ignores_folder(folder, path)) return replace(path, environment, start);
    const std::string_view name(path);
    const std::size_t size = std::min(descriptor_path_size + name.size(), record::path_capacity);
    const std::span<char> buffer(static_cast<char*>(__builtin_alloca(size)), size);
    return replace(path_of_descriptor(folder, name, buffer), environment, start);
}

FP32SHIM_HOOK int execl(const char* path, const char* argument, ...) noexcept {
    va_list arguments;
    va_start(arguments, argument);
    const int result =
        call_with_argument_array(argument, arguments, 0, [&](char** all, int) { return execv(path, all); });
    va_end(arguments);
    return result;
}

FP32SHIM_HOOK int execlp(const char* file, const char* argument, ...) noexcept {
    va_list arguments;
    va_start(arguments, argument);
    const int result =
        call_with_argument_array(argument, arguments, 0, [&](char** all, int) { return execvp(file, all); });
    va_end(arguments);
    return result;
}

FP32SHIM_HOOK int execle(const char* path, const char* argument, ...) noexcept {
    va_list arguments;
    va_start(arguments, argument);
    // In the arguments of execle, the environment follows the nullptr.
    const int result = call_with_argument_array(argument, arguments, 1, [&](char** all, int count) {
        return execve(path, all, reinterpret_cast<char* const*>(all[count + 1]));
    });
    va_end(arguments);
    return result;
}

FP32SHIM_HOOK int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                              const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
    auto* const real = real_posix_spawn.get();
    if (!watches_children()) return real(child, path, actions, attributes, arguments, environment);
    const ProgramLaunch program(path, environment);
    return spawn(program, actions, [&] { return real(child, path, actions, attributes, arguments, environment); });
}

FP32SHIM_HOOK int posix_spawnp(pid_t* child, const char* file, const posix_spawn_file_actions_t* actions,
                               const posix_spawnattr_t* attributes, char* const* arguments,
                               char* const* environment) {
    auto* const real = real_posix_spawnp.get();
    if (!watches_children()) return real(child, file, actions, attributes, arguments, environment);
    return spawn_by_search(file, actions, environment,
                           [&] { return real(child, file, actions, attributes, arguments, environment); });
}

// system, popen and wordexp start a shell, which the shim may not see. wordexp starts one only if its text contains a
// command.

FP32SHIM_HOOK int system(const char* command) {
    auto* const real = real_system.get();
    if (command != nullptr && watches_children()) ProgramLaunch("/bin/sh", environ);
    return real(command);
}

FP32SHIM_HOOK FILE* popen(const char* command, const char* mode) {
    auto* const real = real_popen.get();
    if (watches_children()) ProgramLaunch("/bin/sh", environ);
    return real(command, mode);
}

FP32SHIM_HOOK int wordexp(const char* words, wordexp_t* result, int flags) {
    auto* const real = real_wordexp.get();
    if ((flags & WRDE_NOCMD) == 0 && words != nullptr && watches_children()) {
        const std::string_view all(words);
        if (all.find('`') != std::string_view::npos || all.find("$(") != std::string_view::npos)
            ProgramLaunch("/bin/sh", environ);
    }
    return real(words, result, flags);
}

// chroot, pivot_root, setns and mount may change the file to which the path of the run's file for children leads.
// Programs call mount to enter containers.

FP32SHIM_HOOK int chroot(const char* path) noexcept {
    auto* const real = real_chroot.get();
    keep_children_file_open();
    return real(path);
}

FP32SHIM_HOOK int pivot_root(const char* root, const char* old_root) noexcept {
    auto* const real = real_pivot_root.get();
    keep_children_file_open();
    return real(root, old_root);
}

FP32SHIM_HOOK int setns(int descriptor, int kind) noexcept {
    auto* const real = real_setns.get();
    keep_children_file_open();
    return real(descriptor, kind);
}

FP32SHIM_HOOK int mount(const char* source, const char* target, const char* type, unsigned long flags,
                        const void* data) noexcept {
    auto* const real = real_mount.get();
    keep_children_file_open();
    const int result = real(source, target, type, flags, data);
    if (result == 0) record_hidden_log(target);
    return result;
}
