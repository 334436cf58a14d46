// Notes programs that are started and will not be seen; `fp32shim verify` reports them as doubts. They are noted
// right before execve, perhaps by a process that has no recording, shares its parent's memory (vfork), or is in a
// signal handler. So: raw system calls, little stack, no allocation, no lock, errno left alone.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "record/format/format.hpp"
#include "record/why_unseen.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::record {

/// A program that is about to be started without the shim.
struct UnseenChild {
    std::string_view path;         ///< the path given to execve, with a NUL behind it
    std::string_view interpreter;  ///< a script's interpreter; empty: it is no script
    WhyUnseen why = WhyUnseen::seen;
};

enum class ChildEvent : std::uint8_t {
    starts,
    failed,  ///< comes after `starts` for the same child, if the kernel refused the start
};

/// Notes a child's start in a mapped header, which may be another process's. The event `failed` takes 1 from the
/// number of starts that `starts` has counted. Without space for the child, only counts the start (children_missed).
void record_child(format::Header& header, const UnseenChild& child, ChildEvent event);

/// The file that lists programs started without the shim by processes that have no recording. It has nothing but the
/// header of a recording. All processes of a run share it.
struct ChildrenFile {
    const char* path = nullptr;
    int descriptor = -1;    ///< of the file, if it is open already; -1: it is opened by its path
    std::uint64_t run = 0;  ///< number of the `fp32shim run`, as in ProcessFacts
};
/// Opens the file for children, which is made if it is missing. Returns a descriptor or a negative errno.
/// Precondition: signals are held.
int open_children_file(const ChildrenFile& file);
/// Maps the header of the open file and calls `use` with it. Returns 0, or an errno if it cannot be mapped.
template <class Use>
int with_header(int descriptor, const Use& use) {
    using system::raw::syscall6;
    const long mapped =
        syscall6(SYS_mmap, 0, sizeof(format::Header), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (mapped < 0) return static_cast<int>(-mapped);
    use(*reinterpret_cast<format::Header*>(mapped));
    syscall6(SYS_munmap, mapped, sizeof(format::Header));
    return 0;
}
/// Notes a child in the file for children. Returns 0 or an errno.
int record_child(const ChildrenFile& file, const UnseenChild& child, ChildEvent event);

/// Returns `run.children.fp32rec` for `run.fp32rec`, in `out` with a NUL behind it; empty: it is too long.
/// Precondition: `log` ends in `.fp32rec`.
std::string_view children_path(std::string_view log, std::span<char> out);

}  // namespace fp32shim::record
