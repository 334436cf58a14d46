// The programs that a recorded process starts and that will not be seen. `fp32shim verify` has to know of them.
// Without a recording, a look costs children/exec_hooks.cpp one load.
#pragma once

#include "record/program_look.hpp"

namespace fp32shim {

/// A program that is about to be started, in this process or in a child. Safe in signal handlers and after vfork;
/// leaves errno alone.
class StartedProgram {
  public:
    /// Looks at the program, and notes it if it will not be seen. `path`: as execve takes it. `environment`: the
    /// program's; nullptr: none.
    StartedProgram(const char* path, char* const* environment);
    StartedProgram(const StartedProgram&) = delete;
    StartedProgram& operator=(const StartedProgram&) = delete;

    /// Returns true if there is a file that the kernel may take.
    bool can_start() const { return look_.can_start; }
    bool is_unseen() const { return look_.why != record::WhyUnseen::seen; }

    /// Takes the note back: the program could not be started.
    void failed() const;
    /// Notes a program that was started after file actions, which may have changed the folder. A relative path
    /// that leads nowhere here then led to an unknown file there.
    void started_with_actions() const;

  private:
    const char* path_;
    char interpreter_[record::program_head_size];
    record::ProgramLook look_;
};
bool watches_children();

/// Returns true if this program, which `fp32shim run` started, ends without a recording of its own or of a child.
/// Such a process makes one all the same, so that its loaded objects are known.
bool has_to_leave_a_recording();

/// Keeps the file for children in reach. To be called before the process changes the meaning of paths (chroot,
/// mount).
void keep_children_folder();

}  // namespace fp32shim
