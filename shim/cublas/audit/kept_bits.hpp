// Asks cuBLAS how many mantissa bits it kept in one float64 product that it may emulate.
#pragma once

#include <cstdint>

#include "shim/cublas/audit/launcher.hpp"
#include "shim/cublas/audit/stream.hpp"
#include "shim/decision/record_call.hpp"

namespace fp32shim::cublas {

/// Finds the number of bits that one product kept. cuBLAS writes this number to memory on the device, in the order of
/// the stream.
///
/// The program may have set an address for the number itself. The shim cannot read the number there: an H200 did not
/// write to that memory for products that it did not emulate, so the memory may hold the number of an earlier
/// product, and the shim must not change the program's memory beforehand. So the product writes to memory of the
/// shim. From there the number is copied to the program's address, also in the order of the stream. Precondition of
/// all functions: the handle's lock is held.
class KeptBitsQuery {
  public:
    /// Makes the product write to memory of the shim, unless the stream is being captured, or the driver or the
    /// library lacks a function for this.
    explicit KeptBitsQuery(const AuditLauncher& launcher);
    /// Restores the program's address. Until then, other products on the handle write to the shim's memory, too.
    ~KeptBitsQuery();
    KeptBitsQuery(const KeptBitsQuery&) = delete;
    KeptBitsQuery& operator=(const KeptBitsQuery&) = delete;

    /// Returns the address in the shim's memory to which the product writes the number. A product of cublasLt needs
    /// it in its descriptor. Returns nullptr if the product does not write to memory of the shim.
    std::int32_t* address() const { return reinterpret_cast<std::int32_t*>(address_); }
    /// Waits for the number, and stores it in `done` if the product has run.
    void store_answer(bool has_run, ExecutionOutcome& done) const;

  private:
    bool prepare();
    bool is_lt() const { return launcher_.parts.desc != nullptr; }
    bool set_address(std::int32_t* address) const;

    const AuditLauncher& launcher_;
    const CudaDriver driver_;
    std::int32_t* own_ = nullptr;  ///< the address that the program has set
    std::uint64_t address_ = 0;
};

}  // namespace fp32shim::cublas
