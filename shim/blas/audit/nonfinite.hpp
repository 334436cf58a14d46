// Searches the results of a CPU library for the first product that made NaN or infinity from finite operands.
#pragma once

#include <cstdint>
#include <optional>

#include "record/audit.hpp"
#include "shim/blas/plan.hpp"
#include "shim/blas/product.hpp"
#include "shim/level3/matrix.hpp"
#include "system/mapped_memory.hpp"

namespace fp32shim::blas {

/// Searches the results of one call. The constructor runs before the product, and find_origin() after it.
class NonfiniteSearch {
  public:
    /// Finds the products whose C (or B of an in-place product) contains NaN or infinity before the call.
    NonfiniteSearch(const Site& site, const Frame& frame, const Product& product);

    /// Returns the first product of this call that made NaN or infinity from finite operands, as an audit with the
    /// flag audit_nonfinite. Returns nullopt if there is none. Precondition: the operands in memory are unchanged
    /// since the product.
    std::optional<record::Audit> find_origin(const Plan& plan);

    /// Returns the first product of this call that had NaN or infinity both in an operand and in its result, as an
    /// audit with the flag audit_received. Returns nullopt if find_origin() met no product of this kind.
    const std::optional<record::Audit>& first_received() const { return received_; }

  private:
    bool check_old_result(const Level3& single);
    bool check_result(const Level3& single, const Plan& plan);
    bool mark_nonfinite_start();
    bool began_nonfinite(const Level3& single, std::int64_t number) const;

    const Site& site_;
    const Frame& frame_;
    const Product& product_;
    std::int64_t number_ = 0;  ///< index of the product in its batch
    /// Has one byte for each product, which is 1 if the product's result contained NaN or infinity before the call.
    /// The memory is allocated when the first product of this kind is found.
    std::optional<MappedMemory> bad_starts_;
    std::optional<record::Audit> found_;
    std::optional<record::Audit> received_;
};

}  // namespace fp32shim::blas
