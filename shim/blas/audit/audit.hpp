// Audits a call to a CPU library: computes its products again in another format, and compares the results.
#pragma once

#include <cstddef>
#include <optional>

#include "record/audit.hpp"
#include "shim/audit/errors.hpp"
#include "shim/audit/reference_product.hpp"
#include "shim/blas/plan.hpp"
#include "shim/blas/product.hpp"
#include "shim/blas/routine.hpp"
#include "shim/level3/matrix.hpp"
#include "shim/settings/settings.hpp"
#include "system/mapped_memory.hpp"

namespace fp32shim::blas {

/// The largest size, in bytes, of the memory for the results of one audit.
inline constexpr std::size_t audit_memory_limit = std::size_t{1} << 30;

/// Returns true if a call with this plan can be audited: its arguments are valid, and it multiplies in float32 or
/// float64. A float64 call can be audited only if the plan rounds its operands, or `wants_float64` is true.
bool can_audit(const Site& site, const Frame& frame, const Product& product, const Plan& plan, bool wants_float64);

/// One audit of a call. The constructor runs before the product, and finish() after it. The program's C, errno and
/// arguments stay unchanged: the additional products use memory of the audit, and routines of the program's library.
class CallAudit {
  public:
    /// `tested` is the format to test against the products' own type. If it is absent, the policy chooses the format.
    CallAudit(const Site& site, const Frame& frame, const Product& product, const Plan& plan,
              const policy::Policy& policy, std::optional<policy::AuditFormat> tested);

    /// Returns the result of the audit. Precondition: the product has run since the object was constructed.
    record::Audit finish();

  private:
    struct MemorySizes {
        std::size_t starts = 0;  ///< bytes for copies of every C that the call's products update
        std::size_t work = 0;    ///< bytes for computing one product of the call at a time
        bool has_reference_product = false;
        bool has_float32_copies = false;
    };
    static bool add_memory_sizes(const Level3& single, MemorySizes& sum);
    void save_old_result(const Level3& single);
    bool audit_product(const Level3& single);
    bool compare_with_product_in_own_format(const Level3& single, const Matrix& start,
                                            const ComponentwiseBound& bound);
    bool compare_with_reference(const Level3& single, const Matrix& start, const ComponentwiseBound& bound);
    bool run_in_format(policy::AuditFormat format, const Level3& single, const Matrix& start, const Matrix& to);
    bool compute_bound(const Level3& single, const Matrix& start, ComponentwiseBound& bound);
    bool run_on_absolute_values(const Level3& single, RoundingKernel kernel, const Matrix& start, const float* alpha,
                                const float* beta, const Matrix& to);
    Matrix allocate_like(const Matrix& like);
    char* allocate_bytes(std::size_t bytes);

    const Site& site_;
    const Frame& frame_;
    const Product& product_;
    const Plan& plan_;
    const policy::Policy& policy_;
    std::optional<policy::AuditFormat> wanted_;  ///< the format to test; if absent, the policy chooses the format
    RoutineSet routines_;
    record::Audit audit_;
    OperandExponents operands_;  ///< exponents of the operands of the product that is being compared
    MappedMemory memory_;
    char* starts_;  ///< copies of the program's C matrices, one after the other
    char* next_start_;
    char* work_;  ///< memory for computing one product at a time
    char* next_work_;
};

}  // namespace fp32shim::blas
