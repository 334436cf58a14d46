// Audits a call of cuBLAS: computes its products once more, in another format, and compares on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "record/audit.hpp"
#include "shim/cublas/audit/launcher.hpp"
#include "shim/cublas/audit/singles.hpp"
#include "shim/cublas/audit/stream.hpp"
#include "shim/memory/mapped_memory.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim::cublas {

/// Most bytes of memory for one audit, on the device and on the host.
inline constexpr std::size_t device_memory_limit = std::size_t{1} << 30;
inline constexpr std::size_t host_memory_limit = std::size_t{2} << 30;

/// One audit: begins before the product runs, and ends by finish() after it. Waits for the program's stream. What it
/// adds are copies and products on that stream and handle, in memory of its own; the handle's modes, and the memory
/// of the program, stay as they are. Precondition: the handle's lock is held from begin to end.
class CallAudit {
  public:
    /// `singles`: the call's products, described. `tested`: the format to test against FP32; absent: as the policy
    /// says.
    CallAudit(const Launcher& launcher, Singles& singles, const policy::Policy& policy,
              std::optional<policy::AuditFormat> tested);

    /// Returns the audit of the product that was launched meanwhile, successfully, in a format.
    record::Audit finish(policy::Applied ran);

  private:
    struct Memory;
    bool prepare();
    bool save_starts(const AuditStream& stream);
    bool copy_starts(const AuditStream& stream, bool keeps_c, std::size_t bytes);
    bool compare_all(policy::AuditFormat ran);
    bool compare_one(const AuditStream& stream, const blas::Level3& single, const Memory& memory,
                     policy::AuditFormat ran);
    bool copy_to_host(const AuditStream& stream, const blas::Level3& single, const Memory& memory,
                      blas::Matrix& start);
    bool store_operand_exponents(const blas::Level3& single, const Memory& memory, const blas::Matrix& start);
    bool run_in(const AuditStream& stream, Format format, bool is_bound, const blas::Level3& single,
                const Memory& memory, const blas::Matrix& start, const blas::Matrix& to);
    bool run_bound(const AuditStream& stream, const blas::Level3& single, const Memory& memory,
                   const blas::Matrix& start, blas::Bound& bound);
    bool can_test(policy::AuditFormat ran) const;

    const Launcher& launcher_;
    Singles& singles_;
    const policy::Policy& policy_;
    std::optional<policy::AuditFormat> tested_;
    Driver driver_;
    bool is_prepared_ = false;
    record::Audit audit_;
    std::optional<MappedMemory>
        starts_;  ///< what the products overwrite: C where beta is not 0, B of a trmm in place
    char* next_start_ = nullptr;
};

}  // namespace fp32shim::cublas
