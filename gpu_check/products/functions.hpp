// Lists the functions of cuBLAS that are measured, in one table. All are called in the same way, on the same
// operands.
//
// The type of a function (Gemm, Syrk ... in cuda/api.hpp) says which arguments it takes, so functions.cpp has one
// call for each of these types. The functions of cublasLt are rows of the table, too.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "gpu_check/cuda/libraries.hpp"
#include "gpu_check/products/host_problem.hpp"

namespace gpu {

using Status = std::optional<cublasStatus_t>;  ///< nullopt if the library does not have the function

/// The type of the elements of matrices.
enum class Element { half, real, complex, float64 };
std::size_t bytes_of(Element element);

/// A scalar on the host, which can be passed to cuBLAS as a pointer to a number of the type `element`.
class Scalar {
  public:
    explicit Scalar(double value, Element element = Element::real);

    operator const void*() const;

  private:
    Element element_;
    float complex_[2];  ///< the first number also serves real elements
    double wide_;
    unsigned short half_;  ///< FP16 bits of the value, which must be 0 or 1
};

/// Operands and settings of a call. Matrices are column-major. Functions of symmetric and of triangular matrices use
/// only the order n.
struct CallArguments {
    Element element = Element::real;
    int m = 0, n = 0, k = 0;
    void *a = nullptr, *b = nullptr, *c = nullptr;
    int lda = 0, ldb = 0, ldc = 0;
    Operation trans_a = CUBLAS_OP_N, trans_b = CUBLAS_OP_N;
    Scalar alpha{1}, beta{0};
    int count = 1;  ///< number of products in a batch
    /// Addresses on the device of the matrices of a batch. In a strided batch, the matrices follow one another in
    /// memory instead.
    void **a_array = nullptr, **b_array = nullptr, **c_array = nullptr;
    cublasComputeType_t type = CUBLAS_COMPUTE_32F;
    cublasGemmAlgo_t algorithm = CUBLAS_GEMM_DEFAULT;
    std::size_t workspace = std::size_t{32} << 20;  ///< bytes that cublasLt may use
};

/// Returns the arguments of a product of square matrices of order n. Their first elements lie `offset` bytes behind
/// the beginnings of the buffers.
CallArguments square_call(int n, const DeviceBuffer& a, const DeviceBuffer& b, const DeviceBuffer& c,
                          Element element = Element::real, std::size_t offset = 0);

/// A row of the table: a function of cuBLAS, and how it is called.
struct CublasFunction {
    /// A function is by_mode if the handle's math mode decides its precision, and by_type if a compute type does.
    enum Kind { by_mode, by_type };

    const char* name;      ///< name of the function in tests/cublas/stand_in/semantics.def
    const char* function;  ///< name of the library's function
    ProductKind shape;
    Element element;  ///< type of the elements for functions `by_mode`; functions `by_type` take every type
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
