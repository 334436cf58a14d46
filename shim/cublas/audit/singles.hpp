// The products of one cuBLAS call that an audit computes again. Each product has its own operands in device memory.
#pragma once

#include <array>
#include <cstdint>

#include "shim/audit/errors.hpp"
#include "shim/cublas/audit/stream.hpp"
#include "shim/cublas/lt_arguments.hpp"
#include "shim/cublas/product.hpp"

namespace fp32shim::cublas {

/// The largest number of products of one batch that an audit computes again. In larger batches, these products are
/// spread evenly over the batch.
inline constexpr std::int64_t max_of_a_batch = 64;

/// Alpha and beta on the host, in the product's type. A scalar that the product does not have is 0, and a real scalar
/// is followed by 0.
struct AlphaAndBeta {
    alignas(double) float alpha[4] = {};
    alignas(double) float beta[4] = {};
};

/// A member of a product, and the role of the argument that it holds. C is not listed below, since it is not const.
template <class Value>
struct ProductMember {
    Role role;
    Value blas::Level3::*member;
};
inline constexpr ProductMember<std::int64_t> numbers_of_products[] = {
    {Role::m, &blas::Level3::m},     {Role::n, &blas::Level3::n},     {Role::k, &blas::Level3::k},
    {Role::lda, &blas::Level3::lda}, {Role::ldb, &blas::Level3::ldb}, {Role::ldc, &blas::Level3::ldc}};
inline constexpr ProductMember<const void*> addresses_of_products[] = {{Role::alpha, &blas::Level3::alpha},
                                                                       {Role::a, &blas::Level3::a},
                                                                       {Role::b, &blas::Level3::b},
                                                                       {Role::beta, &blas::Level3::beta}};

/// The products of one call. The object must not be copied, since the products point to its scalars.
class AuditedBatch {
  public:
    /// Reads the arguments that lie on the host. Returns false for calls that are never audited: calls with operands
    /// narrower than float32, solves, batches in groups, and calls with invalid arguments.
    bool read_arguments(const Site& site, const Frame& frame, const Product& product);

    /// Reads the arguments of cublasLtMatmul. Precondition: the handle is known. Returns false unless the call is a
    /// product of column-major matrices with no epilogue other than bias, ReLU and GELU.
    bool read_lt_arguments(const Library& library, const Frame& frame, const MatmulDescription& parts,
                           const Product& product);

    /// Reads alpha, beta and the arrays of pointers. Returns false if the driver reports an error.
    bool read_device_arguments(const AuditStream& stream, bool scalars_on_device);

    std::int64_t count() const { return count_; }
    bool is_float64() const { return first_.is_double; }
    /// Returns one of the products that are computed again. Its operands lie on the device, and alpha and beta on the
    /// host. Precondition: read_device_arguments() has succeeded.
    blas::Level3 product_at(std::int64_t index) const;

    /// Returns the C that a product reads. Except in cublasLt, C is also the memory of the result.
    blas::Matrix old_result_at(std::int64_t index) const;

    blas::WrittenRegion written_region() const { return written_; }
    /// Returns true if the product's result overwrites its B.
    bool overwrites_b() const { return overwrites_b_; }

  private:
    using Pointers = std::array<const void*, max_of_a_batch>;

    /// The arguments that may lie on the device. read_device_arguments() fills them in.
    struct DeviceArguments {
        AlphaAndBeta scalars;
        Pointers pointers[3]{};  ///< the addresses of each A, B and C of a batch by pointers
    };

    bool has_valid_arguments() const;
    bool choose_products(std::int64_t batch_count);
    bool read_from_device(const AuditStream& stream, bool scalars_on_device);
    bool read_pointers(const AuditStream& stream, const void* array, Pointers& pointers) const;
    const void* operand_at(std::int64_t index, int operand, const void* first) const;

    blas::Level3 first_;  ///< the first product; for a batch by pointers, its operands are the arrays of pointers
    blas::WrittenRegion written_;
    bool overwrites_b_ = false;
    bool in_arrays_ = false;
    std::int64_t count_ = 1;
    std::int64_t step_ = 1;         ///< the audit takes every step_-th product of the batch
    std::int64_t strides_[3] = {};  ///< the strides of A, B and C, in elements
    blas::Matrix lt_c_{};           ///< C of the first product of a cublasLt call, in which C and the result may be
                                    ///< different matrices
    std::int64_t lt_stride_c_ = 0;
    std::size_t alpha_bytes_ = 0;
    std::size_t beta_bytes_ = 0;
    DeviceArguments from_device_;
};

}  // namespace fp32shim::cublas
