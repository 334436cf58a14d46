#include "record/inspect_program.hpp"

#include <elf.h>
#include <errno.h>
#include <linux/prctl.h>
#include <sys/statfs.h>

#include <cstring>

#include "record/process_facts.hpp"
#include "system/elf.hpp"
#include "system/inline_text.hpp"
#include "system/raw_file.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::record {

namespace raw = system::raw;
namespace {

constexpr int max_interpreters = 5;          // the kernel's limit on nested `#!` interpreters
constexpr unsigned long no_setuid_mark = 2;  // value of ST_NOSUID

/// Returns the interpreter that a `#!` line at the start of `head` names, as the kernel would read the line, or an
/// empty text if `head` does not start with `#!`.
std::string_view interpreter_in(std::string_view head) {
    if (!head.starts_with("#!")) return {};
    head = head.substr(2, head.find('\n') - 2);
    const std::size_t begin = head.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    head.remove_prefix(begin);
    return head.substr(0, head.find_first_of(std::string_view(" \t\0", 3)));
}

/// Returns true if the kernel would honour the setuid bit and the capabilities of the file.
bool may_gain_rights(const char* path) {
    if (raw::syscall6(SYS_prctl, PR_GET_NO_NEW_PRIVS) == 1) return false;
    struct statfs where {};
    if (raw::syscall6(SYS_statfs, path, &where) < 0) return true;
    return (static_cast<unsigned long>(where.f_flags) & no_setuid_mark) == 0;
}

/// Returns the reason why the loader would ignore LD_PRELOAD for the file (AT_SECURE), or `seen` if it would obey
/// LD_PRELOAD.
WhyUnseen judge_privileges(const char* path, const struct stat& status) {
    const auto user = static_cast<uid_t>(raw::syscall6(SYS_geteuid));
    const auto group = static_cast<gid_t>(raw::syscall6(SYS_getegid));
    const bool changes_user = (status.st_mode & S_ISUID) != 0 && status.st_uid != user;
    const bool changes_group =
        (status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0 && status.st_gid != group;
    if (changes_user || changes_group) return may_gain_rights(path) ? WhyUnseen::other_user : WhyUnseen::seen;
    if (user == 0) return WhyUnseen::seen;
    const long size = raw::syscall6(SYS_getxattr, path, "security.capability", 0, 0);
    return size > 0 && may_gain_rights(path) ? WhyUnseen::capabilities : WhyUnseen::seen;
}

/// Returns true if the file is the loader itself. The loader can be started as a program; its file names no
/// interpreter, but it obeys LD_PRELOAD.
bool is_loader(const char* path) {
    const std::string_view name = system::base_name(path);
    return name.starts_with("ld") && name.find(".so") != std::string_view::npos;
}

WhyUnseen inspect_elf(const system::RawFile& file, const char* path, const char* head, std::size_t size) {
    Elf64_Ehdr header;
    if (size < sizeof header) return WhyUnseen::seen;  // execve fails, so no process goes unseen
    std::memcpy(&header, head, sizeof header);
    if (header.e_machine != system::own_machine || !system::has_own_layout(header)) return WhyUnseen::other_machine;
    for (std::uint32_t i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment;
        const std::uint64_t offset = header.e_phoff + std::uint64_t{i} * sizeof segment;
        if (offset + sizeof segment <= size)
            std::memcpy(&segment, head + offset, sizeof segment);
        else if (!file.read_object(offset, segment))
            return WhyUnseen::seen;
        if (segment.p_type != PT_INTERP) continue;
        char loader[128];
        const std::size_t length = file.read(segment.p_offset, loader, sizeof loader);
        const std::string_view name(loader, length < segment.p_filesz ? length : segment.p_filesz);
        return name.find("/ld-musl") != std::string_view::npos ? WhyUnseen::musl : WhyUnseen::seen;
    }
    const bool is_library = header.e_type == ET_DYN && header.e_entry == 0;
    return is_library || is_loader(path) ? WhyUnseen::seen : WhyUnseen::statically_linked;
}

}  // namespace

InspectedProgram inspect_program(const char* path, std::span<char, program_head_size> interpreter) {
    InspectedProgram result;
    for (int depth = 0; depth <= max_interpreters; ++depth) {
        struct stat status {};
        if (raw::syscall6(SYS_newfstatat, AT_FDCWD, path, &status, 0) < 0) return result;
        constexpr mode_t executable = S_IXUSR | S_IXGRP | S_IXOTH;
        if (!S_ISREG(status.st_mode) || (status.st_mode & executable) == 0) return result;
        const system::RawFile file(path);
        char head[program_head_size];
        const std::size_t size = file.read(0, head, sizeof head);
        if (const std::string_view next = interpreter_in({head, size}); !next.empty()) {
            if (next.size() >= interpreter.size()) return result;
            std::memcpy(interpreter.data(), next.data(), next.size());
            interpreter[next.size()] = '\0';
            result.interpreter = {interpreter.data(), next.size()};
            path = interpreter.data();
            continue;
        }
        result.can_start = true;
        result.why = judge_privileges(path, status);
        if (result.why != WhyUnseen::seen) return result;
        if (!file.is_open()) result.why = WhyUnseen::not_readable;
        if (size >= SELFMAG && std::memcmp(head, ELFMAG, SELFMAG) == 0)
            result.why = inspect_elf(file, path, head, size);
        return result;
    }
    return result;
}

}  // namespace fp32shim::record
