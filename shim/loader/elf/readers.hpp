// Two guards that keep dlclose from unmapping objects while their tables are being read.
//
// The guards are not a lock: a reader must not wait for a thread that may be waiting for the reader (a destructor
// that dlclose runs may join a thread that multiplies for the first time). So both sides wait for a limited time and
// then go on.
#pragma once

#include <cstdint>

#include "system/signal_hold.hpp"

namespace fp32shim::elf {

/// Guards code that reads the loader's list and the tables of objects. Holds signals: if a handler left the code by
/// siglongjmp, every later dlclose would wait for this guard.
class ReadGuard {
  public:
    ReadGuard();
    ~ReadGuard();
    ReadGuard(const ReadGuard&) = delete;
    ReadGuard& operator=(const ReadGuard&) = delete;

  private:
    const system::SignalHold hold_;
    std::uint32_t process_;
};

/// Guards the real dlclose. The constructor waits, at most some 20 ms, until no ReadGuard exists.
class CloseGuard {
  public:
    CloseGuard();
    ~CloseGuard();
    CloseGuard(const CloseGuard&) = delete;
    CloseGuard& operator=(const CloseGuard&) = delete;

  private:
    std::uint32_t process_;
};

}  // namespace fp32shim::elf
