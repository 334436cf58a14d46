// Stand-in of libcublas.so.13: copies of vectors and matrices between host and device.

#include <cstdint>

#include "driver/driver_private.hpp"

#pragma GCC visibility push(default)
#include <cublas_api.h>
#pragma GCC visibility pop

namespace {

CUdeviceptr device(const std::byte* address) { return reinterpret_cast<CUdeviceptr>(address); }

// Makes one copy per column of `rows` elements. A vector with increments counts as a matrix with one row.
cublasStatus_t copy(bool to_device, std::int64_t rows, std::int64_t columns, std::int64_t element, const void* source,
                    std::int64_t source_leading, void* destination, std::int64_t destination_leading) {
    if (rows < 0 || columns < 0 || element <= 0 || source_leading < rows || destination_leading < rows ||
        source_leading <= 0 || destination_leading <= 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (rows == 0) return CUBLAS_STATUS_SUCCESS;
    const auto bytes = static_cast<std::size_t>(rows * element);
    for (std::int64_t j = 0; j < columns; ++j) {
        const auto* const from = static_cast<const std::byte*>(source) + j * source_leading * element;
        auto* const to = static_cast<std::byte*>(destination) + j * destination_leading * element;
        const CUresult result =
            to_device ? cuMemcpyHtoD(device(to), from, bytes) : cuMemcpyDtoH(to, device(from), bytes);
        if (result != CUDA_SUCCESS) return CUBLAS_STATUS_MAPPING_ERROR;
    }
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

#define VECTOR(NAME, INT, TO_DEVICE)                                                                   \
    cublasStatus_t CUBLASWINAPI NAME(INT n, INT element, const void* x, INT incx, void* y, INT incy) { \
        return copy(TO_DEVICE, 1, n, element, x, incx, y, incy);                                       \
    }
#define MATRIX(NAME, INT, TO_DEVICE)                                                                                 \
    cublasStatus_t CUBLASWINAPI NAME(INT rows, INT columns, INT element, const void* A, INT lda, void* B, INT ldb) { \
        return copy(TO_DEVICE, rows, columns, element, A, lda, B, ldb);                                              \
    }

extern "C" {
VECTOR(cublasSetVector, int, true)
VECTOR(cublasSetVector_64, std::int64_t, true)
VECTOR(cublasGetVector, int, false)
VECTOR(cublasGetVector_64, std::int64_t, false)
MATRIX(cublasSetMatrix, int, true)
MATRIX(cublasSetMatrix_64, std::int64_t, true)
MATRIX(cublasGetMatrix, int, false)
MATRIX(cublasGetMatrix_64, std::int64_t, false)
}
