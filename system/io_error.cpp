#include "system/io_error.hpp"

#include <errno.h>

namespace fp32shim::system {

// NOLINTNEXTLINE(readability-function-size): a table
IoError describe_io_error(int error) {
    switch (error) {
        case EACCES:
            return {"permission denied (EACCES)", "name a file that this user may write to"};
        case EPERM:
            return {"operation not permitted (EPERM)", "name a file that this user may write to"};
        case EEXIST:
            return {"10000 files of this name and its numbers exist (EEXIST)", "remove some, or name it with %p"};
        case ENOENT:
            return {"no such directory (ENOENT)", "create the directory, or name one that exists"};
        case ENOTDIR:
            return {"a part of the path is not a directory (ENOTDIR)", "correct the path"};
        case EISDIR:
            return {"it is a directory (EISDIR)", "name a file in it"};
        case ELOOP:
            return {"it is a symbolic link, or there are too many on its path (ELOOP)", "name the file itself"};
        case foreign_file:
            return {"it belongs to another user (who is not root)", "remove it, or name another file"};
        case ENAMETOOLONG:
            return {"the name is too long (ENAMETOOLONG)", "name a shorter path"};
        case ENXIO:
            return {"nobody reads from this pipe (ENXIO)", "start its reader first"};
        case ENODEV:
            return {"the file system cannot map files (ENODEV)", "name a file on another file system"};
        case EOPNOTSUPP:
            return {"the file system cannot do that (EOPNOTSUPP)", "name a file on another file system"};
        case EINVAL:
            return {"the file system refuses the name, or what is done to the file (EINVAL)",
                    "name a file on another file system"};
        case EROFS:
            return {"the file system is read-only (EROFS)", "name a file on another file system"};
        case EMFILE:
            return {"the process has too many open files (EMFILE)", "raise its limit (ulimit -n)"};
        case ENFILE:
            return {"the system has too many open files (ENFILE)", "raise fs.file-max"};
        case ENOSPC:
            return {"no space left on device (ENOSPC)", "free some space"};
        case EDQUOT:
            return {"disk quota exceeded (EDQUOT)", "free some space"};
        case EFBIG:
            return {"the file is too large (EFBIG)", "raise the limit (ulimit -f) or start a new file"};
        case EOVERFLOW:
            return {"the file is too large to be opened (EOVERFLOW)", "start a new file"};
        case ETXTBSY:
            return {"the file is a running program (ETXTBSY)", "name another file"};
        case EIO:
            return {"input/output error (EIO)", "look at the device or the file server"};
        case ESTALE:
            return {"the file server has dropped the file (ESTALE)", "look at the file server"};
        case EPIPE:
            return {"the pipe's reader has gone (EPIPE)", "start its reader again"};
        case EAGAIN:
            return {"the pipe is full (EAGAIN)", "read from it faster"};
        case EBADF:
            return {"the program has closed the log (EBADF)", "log to one file per process with %p"};
        case ETIMEDOUT:
            return {"the log stayed busy for seconds (ETIMEDOUT)", "look at the file server"};
        case ENOMEM:
            return {"the kernel gives no more memory (ENOMEM)", "free some, or raise the limit (ulimit -v)"};
        case ENOSYS:
            return {"the call is not allowed here (ENOSYS)", "allow the sandbox what it refuses: strace names it"};
        default:
            return {"an unexpected error", "name another file"};
    }
}

}  // namespace fp32shim::system
