// A descriptor in a program that knows nothing of it: high, so that programs which count on small numbers keep them,
// and used only after fstat has said that it still is this file, since a program may close what it did not open.
#pragma once

#include <atomic>
#include <cstdint>

namespace fp32shim::system {

/// Thread-safe. The members are not read as one: a mixture of an old and a new file fails the test of is_ours().
class OwnDescriptor {
  public:
    /// Moves an open descriptor to 100 or higher where the limit allows that, and in no case leaves it where the
    /// program, or a library of it, expects its standard streams. From then on this is its file. 0 or an errno, the
    /// descriptor then closed.
    int keep(int descriptor);

    int number() const { return number_.load(std::memory_order_relaxed); }
    /// -1 from now on.
    int take() { return number_.exchange(-1, std::memory_order_relaxed); }
    /// Whether a descriptor is open, and is this file.
    bool is_ours(int descriptor) const;
    bool is_ours() const { return is_ours(number()); }

  private:
    std::atomic<int> number_{-1};
    std::atomic<std::uint64_t> device_{0};
    std::atomic<std::uint64_t> inode_{0};
};

}  // namespace fp32shim::system
