// A guard that keeps dlclose from unmapping objects while their tables are being read.
//
// No lock: a reader must never wait for a thread that may wait for it (a destructor that dlclose runs may join a
// thread which multiplies for the first time). So both sides wait a bounded time and then go on.
#pragma once

#include <cstdint>

#include "system/signal_hold.hpp"

namespace fp32shim::elf {

/// Guard to hold while the loader's list and the objects' tables are read. Holds signals: a handler that left it by
/// siglongjmp would leave every dlclose waiting for it.
class Reading {
  public:
    Reading();
    ~Reading();
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

  private:
    const system::SignalHold hold_;
    std::uint32_t process_;
};

/// Guard to hold around the real dlclose. First waits, some 20 ms at most, until nobody holds a Reading.
class Closing {
  public:
    Closing();
    ~Closing();
    Closing(const Closing&) = delete;
    Closing& operator=(const Closing&) = delete;

  private:
    std::uint32_t process_;
};

}  // namespace fp32shim::elf
