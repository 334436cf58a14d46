// A file descriptor that the shim keeps inside a program that does not know about it. Its number is high, since
// programs rely on low numbers. A program may close any descriptor and open another file under its number, so the
// shim checks by fstat before each use that the descriptor still refers to its file.
#pragma once

#include <atomic>
#include <cstdint>

namespace fp32shim::system {

/// Keeps a descriptor and the identity of its file (device and inode). Thread-safe. While keep() stores another file,
/// is_own_file() may return false.
class OwnDescriptor {
  public:
    /// Takes ownership of an open descriptor. Moves it to 100 or higher if the limit allows that, and always away
    /// from the standard streams. Returns 0, or an errno after closing the descriptor.
    int keep(int descriptor);

    int number() const { return number_.load(std::memory_order_relaxed); }
    /// Gives up ownership. Returns the descriptor's number and stores -1 instead.
    int release() { return number_.exchange(-1, std::memory_order_relaxed); }
    /// Returns true if `descriptor` is open and refers to the kept file.
    bool is_own_file(int descriptor) const;
    bool is_own_file() const { return is_own_file(number()); }

  private:
    std::atomic<int> number_{-1};
    std::atomic<std::uint64_t> device_{0};
    std::atomic<std::uint64_t> inode_{0};
};

}  // namespace fp32shim::system
