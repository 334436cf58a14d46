#include "system/io_error.hpp"

#include <errno.h>

namespace fp32shim::system {
namespace {

struct KnownError {
    int error;
    IoError description;
};

constexpr KnownError known_errors[] = {
    {EACCES, {"permission denied (EACCES)", "name a file that this user may write to"}},
    {EPERM, {"operation not permitted (EPERM)", "name a file that this user may write to"}},
    {EEXIST, {"10000 files with this name and a number exist (EEXIST)", "remove some, or use %p in the name"}},
    {ENOENT, {"no such directory (ENOENT)", "create the directory, or name one that exists"}},
    {ENOTDIR, {"a part of the path is not a directory (ENOTDIR)", "correct the path"}},
    {EISDIR, {"it is a directory (EISDIR)", "name a file in it"}},
    {ELOOP, {"it is a symbolic link, or there are too many on its path (ELOOP)", "name the file itself"}},
    {foreign_file, {"it belongs to another user (who is not root)", "remove it, or name another file"}},
    {ENAMETOOLONG, {"the name is too long (ENAMETOOLONG)", "name a shorter path"}},
    {ENXIO, {"nobody reads from this pipe (ENXIO)", "start its reader first"}},
    {ENODEV, {"the file system cannot map files (ENODEV)", "name a file on another file system"}},
    {EOPNOTSUPP,
     {"the file system does not support this operation (EOPNOTSUPP)", "name a file on another file system"}},
    {EINVAL, {"the file system rejects the name or the operation (EINVAL)", "name a file on another file system"}},
    {EROFS, {"the file system is read-only (EROFS)", "name a file on another file system"}},
    {EMFILE, {"the process has too many open files (EMFILE)", "raise its limit (ulimit -n)"}},
    {ENFILE, {"the system has too many open files (ENFILE)", "raise fs.file-max"}},
    {ENOSPC, {"no space left on device (ENOSPC)", "free some space"}},
    {EDQUOT, {"disk quota exceeded (EDQUOT)", "free some space"}},
    {EFBIG, {"the file is too large (EFBIG)", "raise the limit (ulimit -f) or start a new file"}},
    {EOVERFLOW, {"the file is too large to be opened (EOVERFLOW)", "start a new file"}},
    {ETXTBSY, {"the file is a running program (ETXTBSY)", "name another file"}},
    {EIO, {"input/output error (EIO)", "check the device or the file server"}},
    {ESTALE, {"the file server has dropped the file (ESTALE)", "check the file server"}},
    {EPIPE, {"the pipe's reader has gone (EPIPE)", "start its reader again"}},
    {EAGAIN, {"the pipe is full (EAGAIN)", "read from it faster"}},
    {EBADF, {"the program has closed the log (EBADF)", "log to one file per process with %p"}},
    {ETIMEDOUT, {"the log stayed busy for seconds (ETIMEDOUT)", "check the file server"}},
    {ENOMEM, {"out of memory (ENOMEM)", "free some memory, or raise the limit (ulimit -v)"}},
    {ENOSYS, {"the call is not allowed here (ENOSYS)", "allow in the sandbox what it refuses; strace shows it"}},
};

}  // namespace

IoError describe_io_error(int error) {
    for (const KnownError& known : known_errors)
        if (known.error == error) return known.description;
    return {"an unexpected error", "name another file"};
}

}  // namespace fp32shim::system
