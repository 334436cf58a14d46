// Notes, for `fp32shim verify`, unseen children: programs that a recorded process starts and whose products will not
// be recorded with its own, for example because the shim will not be preloaded into them. If nothing is recorded,
// the check in children/exec_hooks.cpp costs one memory read.
//
// A run is a program that `fp32shim run` started, with all processes that come from it. They share the run's file
// for children, in which they note unseen programs and leave marks: lists of the files that a process had loaded.
#pragma once

#include "record/inspect_program.hpp"
#include "record/write/children.hpp"
#include "record/write/writer.hpp"

namespace fp32shim {

/// A program that is about to be started, in this process or in a child. All functions are async-signal-safe, also
/// after vfork, and leave errno unchanged.
class ProgramLaunch {
  public:
    /// Notes the program if the shim will not see its products. `path` and `environment` are the arguments of execve;
    /// `environment` may be nullptr.
    ProgramLaunch(const char* path, char* const* environment);
    ProgramLaunch(const ProgramLaunch&) = delete;
    ProgramLaunch& operator=(const ProgramLaunch&) = delete;

    /// Returns true if the path leads to a file that the kernel may run.
    bool can_start() const { return inspection_.can_start; }
    bool is_unseen() const { return inspection_.why != record::WhyUnseen::seen; }

    /// Cancels the note that the constructor made, because the program could not be started.
    void cancel_note() const;
    /// Notes an unknown program if `path` is relative and leads to no program from this process's working folder. Is
    /// called after posix_spawn has succeeded with file actions, because these may change the child's working folder.
    void note_start_in_other_folder() const;

  private:
    void note(record::ChildEvent event) const;

    const char* path_;
    bool has_own_libraries_ = false;
    char interpreter_[record::program_head_size];
    record::InspectedProgram inspection_;
};
bool watches_children();

/// Returns true if `fp32shim run` started this process, and the process has no recording but can write one. The
/// caller then makes a recording when the process ends, so that its loaded objects are known.
bool must_create_recording();

/// Leaves a mark in the run's file: a list of the files loaded by this process, which has no recording, or has a
/// recording under another name than its environment gave at the start. Does nothing in a process that belongs to no
/// run. Does nothing in a well-known tool without products, such as a shell, unless another library is preloaded
/// into it. Async-signal-safe.
void write_loaded_files_mark();
/// If this process would have to leave a mark, counts it in the run's file instead, once. Is called if
/// may_have_crashed() is true, because the loaded files must not be examined then. Does nothing if the process has a
/// recording. Async-signal-safe.
void count_missed_mark();
/// Notes in the recording that there is a file for the children of its run, which `fp32shim verify` has to read too.
/// Is called when the process ends. Async-signal-safe.
void record_children_file(record::Recording& recording);
/// Leaves a mark before this process becomes another program, so that its loaded files are known. After a crash, only
/// counts the mark. A forked child leaves a mark only if its parent has a recording, because the parent's recording
/// shows whether the child has loaded files since the fork. A child of vfork and a process with a recording of its
/// own leave no mark.
void write_mark_before_exec();

/// Returns true if it is called from the handler of a crash's signal, as far as that can be known, and also if the
/// program has blocked such a signal itself. After a crash no memory can be trusted, and the handler's stack may be
/// small. Async-signal-safe.
bool may_have_crashed();

/// Returns true in a child that shares its parent's memory (vfork), as far as this can be known.
bool shares_parents_memory();

/// Opens the run's file for children, in which unseen children are noted, so that it stays accessible. Is called
/// before the process changes the meaning of paths (chroot, mount).
void keep_children_file_open();

/// Is called after a mount at the folder `place`. If the mount hides the run's file for children from programs that
/// are started later, notes `place` as the cause.
void record_hidden_log(const char* place);

}  // namespace fp32shim
