// Makes a forked child begin a recording of its own, and leave its parent's recording alone.
//
// At a fork, no code of the recording runs, because most children never multiply. The parent's segments are not
// mapped in the child (MADV_DONTFORK), and the kernel zeroes the pages of the child's writers (MADV_WIPEONFORK), so
// the child cannot count into its parent's file. Only the parent's header stays mapped, because calls read fields of
// the header without checking to which process it belongs. The child notices at its first call that it is another
// process (system/this_process.cpp). Then it makes a file of its own, and maps the header of this file at the address
// of the parent's header.
#include <errno.h>

#include "record/write/writer.hpp"
#include "system/io_error.hpp"
#include "system/raw_syscall.hpp"
#include "system/this_process.hpp"

namespace fp32shim::record {

bool Recording::belongs_to(std::uint32_t process) const { return owner_.load(std::memory_order_acquire) == process; }

bool Recording::is_of_this_process() const { return belongs_to(system::fork_generation()) && file_.is_open(); }

/// If this process is a forked child that has not yet tried to make its file, makes the file. Returns false if the
/// process has no file.
bool Recording::ensure_own_file() {
    const std::uint32_t self = system::fork_generation();
    if (!belongs_to(self)) {
        const system::HeldLock held(lock_);
        if (!held) return false;
        if (!belongs_to(self)) begin_in_child();
    }
    return file_.is_open();
}

/// Begins the recording of a forked child at its first call. Precondition: lock_ is held.
void Recording::begin_in_child() {
    const ClockReading begun = read_clocks();
    writers_.store(nullptr, std::memory_order_relaxed);
    slot_count_.store(0, std::memory_order_relaxed);
    const std::int32_t self = system::raw::getpid();
    const std::int32_t parent = facts_.pid;
    facts_.pid = self;
    const ExpandedPath expanded = expand_path(name_, facts_, expanded_);
    const SettingsInForce settings =
        settings_.settings_in_force != nullptr ? settings_.settings_in_force() : SettingsInForce{&start_, {}, {}};
    const int error = expanded.problem == PathProblem::none ? start_file(self, parent, expanded.path, settings, begun)
                                                            : ENAMETOOLONG;
    if (error != 0) {
        // The header in use is still the parent's, whose field `unrecorded` counts children that could not make a
        // recording.
        std::atomic_ref(file_.header()->unrecorded).fetch_add(1, std::memory_order_relaxed);
        control_.forget_last_command();
        file_.replace_header_by_zeros();
        const system::IoError description = describe_error(error);
        warn_about_recording(expanded.path,
                             {description.meaning, "; this forked process records nothing; ", description.remedy});
    }
    owner_.store(system::fork_generation(), std::memory_order_release);
}

}  // namespace fp32shim::record
