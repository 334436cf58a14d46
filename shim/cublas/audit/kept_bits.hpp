// Asks cuBLAS how many bits it kept in one product of float64 that it may emulate.
#pragma once

#include <cstdint>

#include "shim/cublas/audit/launcher.hpp"
#include "shim/cublas/audit/stream.hpp"
#include "shim/decision/record_call.hpp"

namespace fp32shim::cublas {

/// The number of bits that one product kept, which cuBLAS writes to memory on the device in the order of the stream.
///
/// The program may have an address of its own for it. That memory cannot be read instead: an H200 left it as it was
/// for products that it did not emulate, so it may hold the number of an earlier product, and the shim may store no
/// mark there. So the product writes to memory of the shim, from where its number is copied to the program's address,
/// in the order of the stream too. Precondition of all functions: the handle's lock is held.
class KeptBitsQuery {
  public:
    /// Gives the product an address of the shim's, unless the stream is captured or driver or library cannot do it.
    explicit KeptBitsQuery(const AuditLauncher& launcher);
    /// Gives the program its address back. Until then, other products may run on the handle, too.
    ~KeptBitsQuery();
    KeptBitsQuery(const KeptBitsQuery&) = delete;
    KeptBitsQuery& operator=(const KeptBitsQuery&) = delete;

    /// Returns the address, which the descriptor of a product of cublasLt has to have; nullptr: there is none.
    std::int32_t* address() const { return reinterpret_cast<std::int32_t*>(address_); }
    /// Waits for the answer, and stores it in `done` if the product has run.
    void store_answer(bool has_run, Done& done) const;

  private:
    bool prepare();
    bool is_lt() const { return launcher_.parts.desc != nullptr; }
    bool set_address(std::int32_t* address) const;

    const AuditLauncher& launcher_;
    const CudaDriver driver_;
    std::int32_t* own_ = nullptr;  ///< the program's address
    std::uint64_t address_ = 0;
};

}  // namespace fp32shim::cublas
