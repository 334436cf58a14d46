// Audits a call of cuBLAS: computes its products again in another format, and compares the results on the host.
#pragma once

#include <cstddef>
#include <optional>

#include "record/audit.hpp"
#include "shim/cublas/audit/launcher.hpp"
#include "shim/cublas/audit/singles.hpp"
#include "shim/cublas/audit/stream.hpp"
#include "shim/settings/settings.hpp"
#include "system/mapped_memory.hpp"

namespace fp32shim::cublas {

/// The largest sizes, in bytes, of the memory of one audit on the device and on the host.
inline constexpr std::size_t device_memory_limit = std::size_t{1} << 30;
inline constexpr std::size_t host_memory_limit = std::size_t{2} << 30;

/// Returns true if the policy wants float64 products compared with a product that has twice the digits.
inline bool audits_against_double_double(const policy::Policy& policy) {
    return policy.audit_float64 == policy::AuditFormat::double_double;
}

/// One audit of a call. The constructor runs before the product, and compare_results() after it. Both wait for the
/// program's stream. An audit adds copies and products to the program's stream and handle, in memory of its own. It
/// leaves the handle's modes and the program's memory unchanged. Precondition: the handle's lock is held as long as
/// the object exists.
class CallAudit {
  public:
    /// `singles` are the call's products; their arguments have been read. `tested` is the format to test against
    /// FP32; if it is absent, the policy chooses the format. For float64 products, the format that ran is tested
    /// instead, against FP64, or against twice the digits if audits_against_double_double() is true.
    CallAudit(const AuditLauncher& launcher, AuditedBatch& singles, const policy::Policy& policy,
              std::optional<policy::AuditFormat> tested);

    /// Returns the result of the audit. Precondition: the product was launched successfully since the object was
    /// constructed. `ran` is the format in which it ran.
    record::Audit compare_results(policy::AppliedFormat ran);

  private:
    struct Memory;
    bool prepare();
    bool save_overwritten_values(const AuditStream& stream);
    bool copy_overwritten_values(const AuditStream& stream, bool keeps_c, std::size_t bytes);
    bool compare_all_products(policy::AuditFormat ran);
    bool compare_one_product(const AuditStream& stream, const blas::Level3& single, const Memory& memory,
                             policy::AuditFormat ran);
    bool copy_product_to_host(const AuditStream& stream, const blas::Level3& single, const Memory& memory,
                              blas::Matrix& c_before);
    bool multiply_in_format(const AuditStream& stream, Format format, bool is_bound, const blas::Level3& single,
                            const Memory& memory, const blas::Matrix& c_before, const blas::Matrix& to);
    bool compute_bounds(const AuditStream& stream, const blas::Level3& single, const Memory& memory,
                        const blas::Matrix& c_before, blas::ComponentwiseBound& bound);
    bool has_compared_formats(policy::AuditFormat ran) const;

    const AuditLauncher& launcher_;
    AuditedBatch& singles_;
    const policy::Policy& policy_;
    std::optional<policy::AuditFormat> tested_;
    CudaDriver driver_;
    bool is_prepared_ = false;
    record::Audit audit_;
    std::optional<MappedMemory>
        overwritten_;  ///< the values that the products overwrite: C if beta is not 0, or B of an in-place trmm
    char* next_overwritten_ = nullptr;
};

}  // namespace fp32shim::cublas
