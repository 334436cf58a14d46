// Asks cuBLAS how many bits it kept in one product of float64 that it may emulate.
#pragma once

#include <cstdint>

#include "shim/cublas/audit/launcher.hpp"
#include "shim/cublas/audit/stream.hpp"
#include "shim/decision/record_call.hpp"

namespace fp32shim::cublas {

/// The answer of one product. cuBLAS writes it to memory on the device, in the order of the stream.
///
/// The program may have an address of its own for it. That memory cannot be read instead: an H200 was seen to leave
/// it as it is for products that are not emulated, so it may hold the number of an earlier product, and nothing else
/// may be stored in memory of the program. So the product writes to memory of the shim, and what it has written is
/// copied to the program's address, in the order of the stream, too.
/// Precondition of all functions: the handle's lock is held.
class KeptBits {
  public:
    /// Gives the product an address of the shim's. Does nothing while the stream is captured, or if the driver or the
    /// library cannot do it.
    explicit KeptBits(const Launcher& launcher);
    /// Returns the address for a product of cublasLt, whose descriptor has it; nullptr: do not ask.
    std::int32_t* address() const { return reinterpret_cast<std::int32_t*>(address_); }
    /// Gives the program its address back, and waits for the answer. Stores it in `done` if the product has run.
    void finish(bool has_run, Done& done);

  private:
    bool prepare();

    const Launcher& launcher_;
    const Library& library_;
    const bool is_lt_;
    const Handle handle_;
    const Stream stream_;
    const Driver driver_;
    std::int32_t* own_ = nullptr;  ///< the program's address
    std::uint64_t address_ = 0;
};

}  // namespace fp32shim::cublas
