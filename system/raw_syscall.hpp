// Makes system calls that other preloaded libraries do not see and that leave errno alone.
//
// The shim writes every file this way. The functions `open` and `write` could belong to another preloaded library
// (fakeroot, a tracer, an I/O profiler), which may take locks, call BLAS, or misjudge a descriptor that it did not
// open. None of the calls in this file is a cancellation point.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace fp32shim::system::raw {

template <class Argument>
long syscall_word(Argument argument) {
    if constexpr (std::is_pointer_v<Argument>)
        return reinterpret_cast<long>(argument);
    else
        return static_cast<long>(argument);
}

inline long syscall_of_words(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
#if defined(__x86_64__)
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    register long r9 asm("r9") = f;
    long result = number;
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 asm("x8") = number;
    register long x0 asm("x0") = a;
    register long x1 asm("x1") = b;
    register long x2 asm("x2") = c;
    register long x3 asm("x3") = d;
    register long x4 asm("x4") = e;
    register long x5 asm("x5") = f;
    asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
#error "fp32shim supports x86-64 and aarch64"
#endif
}

/// Makes a system call with up to six arguments (numbers or pointers). Returns its result, or a negative errno.
template <class... Arguments>
long syscall6(long number, Arguments... arguments) {
    return syscall_of_words(number, syscall_word(arguments)...);
}

/// Repeats a system call while signals interrupt it, at most 1000 times, because a sandbox may answer EINTR for ever.
template <class Call>
auto retry_if_interrupted(Call call) {
    auto result = call();
    for (int attempt = 1; result == -EINTR && attempt < 1000; ++attempt) result = call();
    return result;
}

inline int open(const char* path, int flags, mode_t mode = 0) {
    return static_cast<int>(syscall6(SYS_openat, AT_FDCWD, path, flags, mode));
}
inline int close(int descriptor) { return static_cast<int>(syscall6(SYS_close, descriptor)); }
inline int fcntl(int descriptor, int command, long argument) {
    return static_cast<int>(syscall6(SYS_fcntl, descriptor, command, argument));
}
inline int fchmod(int descriptor, mode_t mode) { return static_cast<int>(syscall6(SYS_fchmod, descriptor, mode)); }
inline int fstat(int descriptor, struct stat& result) {
    return static_cast<int>(syscall6(SYS_fstat, descriptor, &result));
}
inline long read(int descriptor, void* to, std::size_t size) { return syscall6(SYS_read, descriptor, to, size); }
inline long write(int descriptor, const void* from, std::size_t size) {
    return syscall6(SYS_write, descriptor, from, size);
}
inline long writev(int descriptor, const iovec* parts, int count) {
    return syscall6(SYS_writev, descriptor, parts, count);
}
inline long readlink(const char* path, char* to, std::size_t size) {
    return syscall6(SYS_readlinkat, AT_FDCWD, path, to, size);
}
/// Writes the path of the working directory to `to`. Returns its length with the terminating NUL, or a negative
/// errno.
inline long getcwd(char* to, std::size_t size) { return syscall6(SYS_getcwd, to, size); }
inline int uname(utsname& result) { return static_cast<int>(syscall6(SYS_uname, &result)); }
inline std::int32_t getpid() { return static_cast<std::int32_t>(syscall6(SYS_getpid)); }
inline std::int32_t gettid() { return static_cast<std::int32_t>(syscall6(SYS_gettid)); }

/// Returns the time of a kernel clock in nanoseconds. libfaketime does not alter this time.
inline std::int64_t clock_ns(int clock) {
    timespec now{};
    syscall6(SYS_clock_gettime, clock, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}
/// Returns the time in nanoseconds since 1970-01-01T00:00:00Z.
inline std::int64_t realtime_ns() { return clock_ns(CLOCK_REALTIME); }

}  // namespace fp32shim::system::raw
