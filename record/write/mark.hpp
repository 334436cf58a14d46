// The mark of a process that ends without a recording: a list of the files that it had loaded, for `fp32shim verify`.
// The mark goes into the file that the processes of a run share (write/children.hpp). It is written as the process
// ends, perhaps in a signal handler or in a forked child of a process with threads. So the code makes raw system
// calls, uses little stack, allocates nothing and takes no lock.
#pragma once

#include "record/write/children.hpp"
#include "record/write/objects.hpp"

namespace fp32shim::record {

/// Collects the names of this process's loaded files, and writes the mark. For one thread.
class UnrecordedProcessMark {
  public:
    UnrecordedProcessMark();
    ~UnrecordedProcessMark();
    UnrecordedProcessMark(const UnrecordedProcessMark&) = delete;
    UnrecordedProcessMark& operator=(const UnrecordedProcessMark&) = delete;

    /// Returns the path of the program; empty: unknown.
    std::string_view program() const { return program_; }
    void add(const LoadedFile& file);
    void mark_incomplete() { set_flag(format::mark_lacks_files); }
    void mark_changed_log() { set_flag(format::mark_has_changed_log); }
    void mark_onednn_log_requested() { set_flag(format::mark_flag_onednn_log_requested); }
    void mark_kernel_log_requested() { set_flag(format::mark_flag_kernel_log_requested); }
    void mark_bypassing_lookup() { set_flag(format::mark_has_lookup_past); }

    /// Writes the mark, unless an earlier process has left an equal one. `pins`: ProcessFacts::pins. Returns 0 or an
    /// errno.
    int write(const ChildrenFile& file, std::uint16_t pins) const;

  private:
    void set_flag(std::uint32_t flag);
    void add_layouts() const;

    struct Pages;
    Pages* pages_;  ///< memory of the mark; nullptr: the kernel gave none
    std::string_view program_;
};

/// Counts a process whose mark cannot be written. Does nothing if the file cannot be written.
void count_missed_mark(const ChildrenFile& file);

}  // namespace fp32shim::record
