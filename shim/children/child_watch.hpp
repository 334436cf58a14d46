// Programs that a recorded process starts and that will not be seen: `fp32shim verify` has to know of them.
// children/exec_hooks.cpp asks here. Where nothing is recorded, that costs a load.
#pragma once

#include "record/program_look.hpp"

namespace fp32shim {

/// A program that is about to be started, in this process or in a child. Safe in signal handlers and after vfork;
/// leaves errno alone.
class StartedProgram {
  public:
    /// Looks at it, and notes it where it will not be seen. `path`: as execve takes it. `environment`: that it will
    /// have; nullptr: none.
    StartedProgram(const char* path, char* const* environment);
    StartedProgram(const StartedProgram&) = delete;
    StartedProgram& operator=(const StartedProgram&) = delete;

    /// There is a file that the kernel may take.
    bool can_start() const { return look_.can_start; }
    bool is_unseen() const { return look_.why != record::WhyUnseen::seen; }

    /// It could not be started: takes the note back.
    void failed() const;
    /// It was started after file actions, which may have changed the folder: then a relative path that leads nowhere
    /// here led somewhere there, and what that is is not known.
    void started_with_actions() const;

  private:
    const char* path_;
    char interpreter_[record::program_head_size];
    record::ProgramLook look_;
};

/// Whether this process's children are of any interest.
bool watches_children();

/// Whether this is the program that `fp32shim run` started, ends without having recorded anything, and has no child
/// that did: it leaves a recording all the same, which says what was loaded.
bool has_to_leave_a_recording();

/// To be called before the process changes what paths lead to: the file for children must be in reach afterwards.
void keep_children_folder();

}  // namespace fp32shim
