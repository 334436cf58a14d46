// The programs that a recorded process starts and that will not be seen. `fp32shim verify` has to know of them.
// Without a recording, the check costs children/exec_hooks.cpp one memory read.
#pragma once

#include "record/inspect_program.hpp"

namespace fp32shim {

/// A program that is about to be started, in this process or in a child. Safe in signal handlers and after vfork;
/// leaves errno alone.
class StartedProgram {
  public:
    /// Notes the program if the shim will not see its products. `path`: as execve takes it. `environment`: the
    /// program's; nullptr: none.
    StartedProgram(const char* path, char* const* environment);
    StartedProgram(const StartedProgram&) = delete;
    StartedProgram& operator=(const StartedProgram&) = delete;

    /// Returns true if the path leads to a file that the kernel may run.
    bool can_start() const { return look_.can_start; }
    bool is_unseen() const { return look_.why != record::WhyUnseen::seen; }

    /// Notes that the program could not be started, which cancels the constructor's note.
    void failed() const;
    /// Notes a program that posix_spawn started with file actions, if its path is relative and leads to no program
    /// from this process's folder. The actions may have changed the child's folder, so the program is unknown.
    void started_with_actions() const;

  private:
    const char* path_;
    char interpreter_[record::program_head_size];
    record::InspectedProgram look_;
};
bool watches_children();

/// Returns true if `fp32shim run` started this process, the recording of this process does not exist yet, and it can
/// be written. The caller then makes it as the process ends, so that its loaded objects are known.
bool has_to_leave_a_recording();

/// Leaves a mark in the run's file: the files that this process has loaded, for a process that has no recording. A
/// process of no run leaves none, nor does a well-known tool without products, such as a shell. Async-signal-safe.
void write_mark();
/// Leaves a mark before this process becomes another program, so that what it had loaded is known. A forked child
/// leaves none: what it has loaded, its parent has too, but for what little it loaded in between.
void write_mark_before_exec();

/// Returns true in a handler of a crash, so far as that can be known. After a crash nothing in memory can be trusted,
/// and the handler's stack may be small. Async-signal-safe.
bool may_have_crashed();

/// Returns true in a child that shares its parent's memory (vfork), so far as that can be known.
bool shares_parents_memory();

/// Opens the file that notes unseen children, so that it stays accessible. To be called before the process changes
/// the meaning of paths (chroot, mount).
void keep_children_file_open();

}  // namespace fp32shim
