// Searches the results of a CPU library for the first product that made NaN or infinity of finite operands.
#pragma once

#include <cstdint>
#include <optional>

#include "record/audit.hpp"
#include "shim/blas/plan.hpp"
#include "shim/blas/product.hpp"
#include "shim/level3/matrix.hpp"
#include "shim/memory/mapped_memory.hpp"

namespace fp32shim::blas {

/// The search in one call: begins before the product runs, and ends by find() after it.
class NonfiniteSearch {
  public:
    /// Notes the products that begin with NaN or infinity in C, or in B of a product in place.
    NonfiniteSearch(const Site& site, const Frame& frame, const Product& product);

    /// Returns the first product of this call that made NaN or infinity of finite operands, as an audit with the flag
    /// audit_nonfinite; nullopt: there is none. The memory of the operands must be as it was for the product.
    std::optional<record::Audit> find(const Plan& plan);

    /// Returns the first product of this call, as far as find() got, that had NaN or infinity in an operand and in
    /// its result, as an audit with the flag audit_received; nullopt: there is none.
    const std::optional<record::Audit>& received() const { return received_; }

  private:
    static bool check_start(void* search, const Level3& single);
    static bool check_result(void* search, const Level3& single);
    bool mark_nonfinite_start();
    bool began_nonfinite(const Level3& single, std::int64_t number) const;

    const Site& site_;
    const Frame& frame_;
    const Product& product_;
    const Plan* plan_ = nullptr;
    std::int64_t number_ = 0;  ///< number of the product in its batch
    /// A byte for each product, 1: it began with NaN or infinity; made for the first of them.
    std::optional<MappedMemory> bad_starts_;
    std::optional<record::Audit> found_;
    std::optional<record::Audit> received_;
};

}  // namespace fp32shim::blas
