// Records programs that are started without the shim; `fp32shim verify` reports them as doubts. A start is recorded
// right before execve, perhaps in a process that has no recording, shares its parent's memory (vfork), or is in a
// signal handler. So the code makes raw system calls, uses little stack, allocates nothing, takes no lock and leaves
// errno alone.
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
    std::string_view interpreter;  ///< a script's interpreter; empty: not a script
    WhyUnseen why = WhyUnseen::seen;
    bool has_own_libraries = false;  ///< the child's environment tells the loader of further libraries
};

enum class ChildEvent : std::uint8_t {
    starts,
    failed,  ///< the kernel refused the start; follows `starts` for the same child
};

/// Appends a path. If the path is longer than `limit`, appends `…` and the end of the path, which says more than the
/// beginning.
void append_shortened_path(system::LineWriter& out, std::string_view text, std::size_t limit);

/// Records a child's start in a mapped header, which may be another process's. The event `failed` undoes one
/// `starts`: it subtracts 1 from the number of starts. If the header has no space for the child, only counts it
/// (children_missed).
void record_child(format::Header& header, const UnseenChild& child, ChildEvent event);

/// A file that lists programs started without the shim by processes that have no recording. The file consists of a
/// recording's header only. All processes of a run share it.
struct ChildrenFile {
    const char* path = nullptr;
    int descriptor = -1;                       ///< descriptor of the open file; -1: the file is opened by its path
    std::uint64_t run = 0;                     ///< number of the `fp32shim run`, see ProcessFacts::run
    std::string_view job_id{}, job_id_from{};  ///< see ProcessFacts; without a run, only they tell whose file it is
};
/// Opens the file for children. If the file does not exist, makes it. Returns a descriptor or a negative errno.
/// Precondition: signals are held.
int open_children_file(const ChildrenFile& file);
/// Opens the file for children like open_children_file(), but does not make it.
int open_existing_children_file(const ChildrenFile& file);
/// Maps the header of the open file and calls `use` with it. Returns 0; or an errno if the header cannot be mapped.
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
/// Calls `use` with the header of the file for children, which is made if it does not exist. Returns 0 or an errno.
template <class Use>
int with_children_file(const ChildrenFile& file, const Use& use) {
    const system::SignalHold hold;
    const int descriptor = open_children_file(file);
    if (descriptor < 0) return -descriptor;
    const int error = with_mapped_header(descriptor, use);
    system::raw::close(descriptor);
    return error;
}
/// Records a child in the file for children. Returns 0 or an errno.
int record_child(const ChildrenFile& file, const UnseenChild& child, ChildEvent event);

/// Returns `run.children.fp32rec` for `run.fp32rec`, in `out`, followed by a NUL; empty: the name is too long.
/// Precondition: `log` ends in `.fp32rec`.
std::string_view children_file_path(std::string_view log, std::span<char> out);

}  // namespace fp32shim::record
