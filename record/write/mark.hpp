// Writes the mark of a process that ends without a recording. A mark is a list of the files that the process had
// loaded; `fp32shim verify` reads it. It is written to the file for the children of a run, which the processes of the
// run share (write/children.hpp). The mark is written when the process ends, perhaps in a signal handler or in a
// forked child of a process with threads. So the code makes raw system calls, uses little stack, does not call malloc
// and takes no lock.
#pragma once

#include "record/write/children.hpp"
#include "record/write/objects.hpp"

namespace fp32shim::record {

/// Collects the list of this process's loaded files, and writes it as a mark. Only one thread may use the object.
class UnrecordedProcessMark {
  public:
    UnrecordedProcessMark();
    ~UnrecordedProcessMark();
    UnrecordedProcessMark(const UnrecordedProcessMark&) = delete;
    UnrecordedProcessMark& operator=(const UnrecordedProcessMark&) = delete;

    /// Returns the path of the program, or an empty text if it is unknown.
    std::string_view program() const { return program_; }
    void add(const LoadedFile& file);
    void mark_incomplete() { set_flag(format::mark_lacks_files); }
    void mark_changed_log() { set_flag(format::mark_has_changed_log); }
    void mark_onednn_log_requested() { set_flag(format::mark_flag_onednn_log_requested); }
    void mark_kernel_log_requested() { set_flag(format::mark_flag_kernel_log_requested); }
    void mark_bypassing_lookup() { set_flag(format::mark_has_lookup_past); }

    /// Writes the mark to `file`, unless an earlier process has left an equal mark. `pins` is ProcessFacts::pins.
    /// Returns 0 or an errno.
    int write(const ChildrenFile& file, std::uint16_t pins) const;

  private:
    void set_flag(std::uint32_t flag);
    void add_layouts() const;

    struct Pages;
    Pages* pages_;  ///< memory of the mark; nullptr: the kernel gave no memory
    std::string_view program_;
};

/// Counts, in `file`, a process whose mark could not be written. Does nothing if the file cannot be written.
void count_missed_mark(const ChildrenFile& file);

}  // namespace fp32shim::record
