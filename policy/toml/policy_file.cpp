#include "policy/toml/policy_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "policy/descriptor.hpp"
#include "system/io_error.hpp"
#include "system/small_files.hpp"

namespace fp32shim::policy {
namespace {

/// Largest number of bytes to read: one more than a policy may have, so that read_policy_text() detects a larger
/// file.
constexpr std::size_t max_bytes = (1 << 20) + 1;

/// File systems whose files the kernel generates when they are read. The last two are configfs and fusectl, for which
/// linux/magic.h has no names.
constexpr std::uint32_t kernel_file_systems[] = {
    PROC_SUPER_MAGIC,    SYSFS_MAGIC,        DEBUGFS_MAGIC,  TRACEFS_MAGIC, SECURITYFS_MAGIC, CGROUP_SUPER_MAGIC,
    CGROUP2_SUPER_MAGIC, PSTOREFS_MAGIC,     EFIVARFS_MAGIC, SELINUX_MAGIC, BPF_FS_MAGIC,     NSFS_MAGIC,
    BINFMTFS_MAGIC,      DEVPTS_SUPER_MAGIC, 0x62656570,     0x65735543,
};

PolicyFile file_with_problem(std::string problem) { return {{}, std::move(problem)}; }

PolicyFile unreadable_file(int error) {
    // strerror would ask for a translation, which takes locks of the C library that a signal handler may have
    // interrupted.
    const std::string_view meaning =
        error == ENOENT ? "No such file or directory" : system::describe_io_error(error).meaning;
    return file_with_problem("cannot be read: " + std::string(meaning));
}

/// Appends at most `most` bytes of a file to `bytes`. Returns 0 or an errno.
int read_bytes(int descriptor, std::size_t most, std::string& bytes) {
    std::size_t size = 0;
    while (size < most) {
        if (size == bytes.size()) bytes.resize(std::clamp<std::size_t>(2 * size, 4096, most));
        const ssize_t got = read(descriptor, bytes.data() + size, bytes.size() - size);
        if (got < 0) return errno;
        if (got == 0) break;
        size += static_cast<std::size_t>(got);
    }
    bytes.resize(size);
    return 0;
}

/// Reads the map of user ids of this user namespace from the kernel. Returns false if that fails.
bool read_uid_map(std::string& text) {
    const Descriptor map(open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC));
    struct statfs system {};
    return map.number() >= 0 && fstatfs(map.number(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC &&
           read_bytes(map.number(), 1 << 14, text) == 0;
}

/// Returns true if user id `user` is mapped in this user namespace (sandbox), or if that is unknown. If the id is not
/// mapped, it may be what the kernel shows as the owner of all files whose real owners are not mapped.
bool is_mapped_user(uid_t user) {
    std::string text;
    if (!read_uid_map(text)) return true;
    for (std::string_view lines = text; !lines.empty();)
        if (system::take_id_range(lines).contains(user)) return true;
    return false;
}

/// Returns true if the file counts as `owner`'s. In a sandbox that does not map root, root's files belong to user
/// 65534. That user is then accepted, because whoever made the sandbox also chose its /etc.
bool is_owned_by(const struct stat& status, uid_t owner) {
    constexpr uid_t overflow_user = 65534;
    return status.st_uid == owner || (status.st_uid == overflow_user && !is_mapped_user(overflow_user));
}

/// Returns the reason to refuse the file, or an empty text if only `owner` can write it.
std::string why_others_may_write(const struct stat& status, uid_t owner) {
    const std::string user = owner == 0 ? "root" : "user " + std::to_string(owner);
    if (!is_owned_by(status, owner))
        return "belongs to user " + std::to_string(status.st_uid) + "; allowed: a file that belongs to " + user +
               "; chown it";
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return "is writable by its group or by others; allowed: by " + user + " only; chmod go-w it";
    return {};
}

bool is_kernel_file(const std::string& path) {
    struct statfs system {};
    return statfs(path.c_str(), &system) == 0 &&
           std::find(std::begin(kernel_file_systems), std::end(kernel_file_systems),
                     static_cast<std::uint32_t>(system.f_type)) != std::end(kernel_file_systems);
}

}  // namespace

bool is_root_only_folder(const std::string& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && why_others_may_write(status, 0).empty();
}

bool has_real_user_ids() {
    std::string text;
    if (!read_uid_map(text)) return false;
    std::string_view lines = text;
    const system::IdRange range = system::take_id_range(lines);
    return range.inside == 0 && range.outside == 0 && range.count == UINT32_MAX;
}

PolicyFile read_policy_bytes(const std::string& path, std::optional<uid_t> owner) {
    struct stat found {};
    if (stat(path.c_str(), &found) != 0) {
        const int error = errno;  // errno is copied, because composing the message may change it
        PolicyFile file = unreadable_file(error);
        file.is_absent = error == ENOENT || error == ENOTDIR;
        return file;
    }
    if (!S_ISREG(found.st_mode)) return file_with_problem("is not a regular file");
    if (is_kernel_file(path)) return file_with_problem("is a kernel file, not a file on a disk");

    // O_NONBLOCK is set because the file may have been replaced by a file that would block.
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat opened {};
    if (file.number() < 0 || fstat(file.number(), &opened) != 0) return unreadable_file(errno);
    if (opened.st_dev != found.st_dev || opened.st_ino != found.st_ino)
        return file_with_problem("was replaced while being opened");
    if (owner)
        if (std::string problem = why_others_may_write(opened, *owner); !problem.empty())
            return file_with_problem(std::move(problem));
    PolicyFile result;
    if (const int error = read_bytes(file.number(), max_bytes, result.bytes); error != 0)
        return unreadable_file(error);
    return result;
}

}  // namespace fp32shim::policy
