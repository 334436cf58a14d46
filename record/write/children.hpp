// Records programs that are started without the shim, which `fp32shim verify` reports. A start is recorded right
// before execve. The starting process may have no recording, may share its parent's memory after vfork, or may be in
// a signal handler. So the code makes raw system calls, uses little stack, does not call malloc, takes no lock and
// leaves errno alone.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "record/format/format.hpp"
#include "record/why_unseen.hpp"
#include "system/line_writer.hpp"
#include "system/raw_syscall.hpp"
#include "system/signal_hold.hpp"
#include "system/thread_sanitizer.hpp"

namespace fp32shim::record {

/// A program that is about to be started without the shim.
struct UnseenChild {
    std::string_view path;         ///< the path given to execve, followed by a NUL
    std::string_view interpreter;  ///< interpreter of a script; empty: the program is not a script
    WhyUnseen why = WhyUnseen::seen;
    bool has_own_libraries = false;  ///< the child's environment names further libraries for the loader, or folders
                                     ///< in which the loader looks for libraries
};

enum class ChildEvent : std::uint8_t {
    starts,
    failed,  ///< the kernel refused the start; this event comes after the event `starts` for the same child
};

/// Appends the path `text` to `out`. If the path is longer than `limit` bytes, appends `…` and the end of the path,
/// which says more than its beginning.
void append_shortened_path(system::LineWriter& out, std::string_view text, std::size_t limit);

/// Records the start of a child in a mapped header, which may belong to another process. The event `starts` adds 1 to
/// the number of starts, and the event `failed` subtracts 1. If the header has no space for the child, changes
/// Header::children_missed instead.
void record_child(format::Header& header, const UnseenChild& child, ChildEvent event);

/// A file for children: it lists programs without the shim that were started by processes without a recording, and
/// has marks if there are any. All processes of a run share one file. Its header is that of a recording.
struct ChildrenFile {
    const char* path = nullptr;
    int descriptor = -1;    ///< descriptor of the open file; -1: the file is opened by its path
    std::uint64_t run = 0;  ///< number of the `fp32shim run` (ProcessFacts::run); 0: there is no run
    std::string_view job_id{}, job_id_from{};  ///< job id and its variable, as in ProcessFacts; without a run, only
                                               ///< the job id tells where the file belongs
};
/// Opens `file`, which lists programs without the shim, and makes it if it does not exist. Returns a descriptor or a
/// negative errno. Precondition: signals are held.
int open_children_file(const ChildrenFile& file);
/// Opens `file` like open_children_file(), but does not make it.
int open_existing_children_file(const ChildrenFile& file);
/// Maps the header of the open file and calls `use` with it. Returns 0, or an errno if the header cannot be mapped.
template <class Use>
int with_mapped_header(int descriptor, const Use& use) {
    using system::raw::syscall6;
    const long mapped =
        syscall6(SYS_mmap, 0, sizeof(format::Header), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (mapped < 0) return static_cast<int>(-mapped);
    system::note_mapped();
    use(*reinterpret_cast<format::Header*>(mapped));
    system::note_unmapping();
    syscall6(SYS_munmap, mapped, sizeof(format::Header));
    return 0;
}
/// Calls `use` with the header of `file`, and makes the file if it does not exist. Returns 0 or an errno.
template <class Use>
int with_children_file(const ChildrenFile& file, const Use& use) {
    const system::SignalHold hold;
    const int descriptor = open_children_file(file);
    if (descriptor < 0) return -descriptor;
    const int error = with_mapped_header(descriptor, use);
    system::raw::close(descriptor);
    return error;
}
/// Records the start of a child, or the failure of the start, in `file`. Returns 0 or an errno.
int record_child(const ChildrenFile& file, const UnseenChild& child, ChildEvent event);

/// Returns the path of the file that lists the programs without the shim of a run whose recordings have the name
/// `log`. The path for `run.fp32rec` is `run.children.fp32rec`. The result is in `out`, followed by a NUL. It is
/// empty if the path is too long. Precondition: `log` ends in `.fp32rec`.
std::string_view children_file_path(std::string_view log, std::span<char> out);

}  // namespace fp32shim::record
