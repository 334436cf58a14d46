// The functions of cuBLAS that are measured, as one table. All are called in the same way, on the same operands.
//
// A row names the function. Its type (Gemm, Syrk ... in cuda/api.hpp) says which arguments it takes, so functions.cpp
// has one call for each of these types. The functions of cublasLt are rows like all others.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "gpu_check/cuda/libraries.hpp"
#include "gpu_check/products/host_problem.hpp"

namespace gpu {

using Status = std::optional<cublasStatus_t>;  ///< nullopt: the library does not have the function

/// The type of the elements of matrices.
enum class Element { half, real, complex, float64 };
std::size_t bytes_of(Element element);

/// A scalar on the host. It becomes a pointer to a number of the elements' type.
class Scalar {
  public:
    explicit Scalar(double value, Element element = Element::real);

    operator const void*() const;

  private:
    Element element_;
    float complex_[2];  ///< the first serves real elements, too
    double wide_;
    unsigned short half_;  ///< the number 0 or 1 only
};

/// Operands and settings of a call. Matrices are column-major. Functions of symmetric and of triangular matrices use
/// the order n only.
struct CallArguments {
    Element element = Element::real;
    int m = 0, n = 0, k = 0;
    void *a = nullptr, *b = nullptr, *c = nullptr;
    int lda = 0, ldb = 0, ldc = 0;
    Operation trans_a = CUBLAS_OP_N, trans_b = CUBLAS_OP_N;
    Scalar alpha{1}, beta{0};
    int count = 1;  ///< products of a batch
    /// Addresses of the matrices of a batch, on the device. In a strided batch, matrices follow one another instead.
    void **a_array = nullptr, **b_array = nullptr, **c_array = nullptr;
    cublasComputeType_t type = CUBLAS_COMPUTE_32F;
    cublasGemmAlgo_t algorithm = CUBLAS_GEMM_DEFAULT;
    std::size_t workspace = std::size_t{32} << 20;  ///< bytes that cublasLt may use
};

/// Returns the call for three square matrices of order n. offset: of their first elements, in bytes.
CallArguments square_call(int n, const DeviceBuffer& a, const DeviceBuffer& b, const DeviceBuffer& c,
                          Element element = Element::real, std::size_t offset = 0);

/// A row of the table: a function of cuBLAS, and how it is called.
struct CublasFunction {
    enum Kind { by_mode, by_type };  ///< whether the handle's math mode or a compute type decides the precision

    const char* name;      ///< name as in the rows of tests/cublas/stand_in/semantics.def
    const char* function;  ///< name of the library's function
    ProductKind shape;
    Element element;  ///< type of elements for functions `by_mode`; others take every type
    Kind kind;
    bool is_batch;
    Status (*call)(const Cublas& cublas, const char* function, ProductKind shape, const CallArguments& call);

    Status operator()(const Cublas& cublas, const CallArguments& arguments) const {
        return call(cublas, function, shape, arguments);
    }
};

std::span<const CublasFunction> all_functions();
/// Returns the function with this name, which must be in the table.
const CublasFunction& function_named(std::string_view name);

}  // namespace gpu
