#include "system/own_descriptor.hpp"

#include <errno.h>

#include "system/raw_syscall.hpp"

namespace fp32shim::system {
namespace {

constexpr int lowest_descriptor = 100;
constexpr int first_after_standard = 3;

}  // namespace

int OwnDescriptor::keep(int descriptor) {
    int moved = raw::fcntl(descriptor, F_DUPFD_CLOEXEC, lowest_descriptor);
    if (moved < 0 && descriptor < first_after_standard) {
        moved = raw::fcntl(descriptor, F_DUPFD_CLOEXEC, first_after_standard);
        if (moved < 0) {
            raw::close(descriptor);
            return EMFILE;
        }
    }
    if (moved >= 0) {
        raw::close(descriptor);
        descriptor = moved;
    }
    struct stat status {};
    if (const int result = raw::fstat(descriptor, status); result < 0) {
        raw::close(descriptor);
        return -result;
    }
    device_.store(status.st_dev, std::memory_order_relaxed);
    inode_.store(status.st_ino, std::memory_order_relaxed);
    number_.store(descriptor, std::memory_order_relaxed);
    return 0;
}

bool OwnDescriptor::is_own_file(int descriptor) const {
    struct stat status {};
    return descriptor >= 0 && raw::fstat(descriptor, status) == 0 &&
           status.st_dev == device_.load(std::memory_order_relaxed) &&
           status.st_ino == inode_.load(std::memory_order_relaxed);
}

}  // namespace fp32shim::system
