// A file descriptor within a program that knows nothing of it. Its number is high, since programs count on small
// ones. It is used only after fstat has said that it still is this file, since a program may close any descriptor.
#pragma once

#include <atomic>
#include <cstdint>

namespace fp32shim::system {

/// Keeps a descriptor and the identity of its file (device and inode). Thread-safe: while keep() stores another file,
/// is_ours() may return false.
class OwnDescriptor {
  public:
    /// Takes over an open descriptor. Moves it to 100 or higher if the limit allows that, and in any case away from
    /// the standard streams. Returns 0, or an errno with the descriptor closed.
    int keep(int descriptor);

    int number() const { return number_.load(std::memory_order_relaxed); }
    /// Gives up ownership: returns the descriptor's number, and stores -1 instead.
    int release() { return number_.exchange(-1, std::memory_order_relaxed); }
    /// Returns true if `descriptor` is open, and is of the file that was kept.
    bool is_ours(int descriptor) const;
    bool is_ours() const { return is_ours(number()); }

  private:
    std::atomic<int> number_{-1};
    std::atomic<std::uint64_t> device_{0};
    std::atomic<std::uint64_t> inode_{0};
};

}  // namespace fp32shim::system
