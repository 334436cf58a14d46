// Functions of the driver, cuBLAS and cublasLt that the clients call, as one table of pointers. The table is filled
// once, at start. With CLIENTS_LINKED it holds the functions that the loader bound; otherwise the program opens the
// libraries itself, as XLA does. A pointer is null if an older library does not have the function.
#pragma once

#include <cublasLt.h>
#include <cublas_api.h>
#include <cuda.h>

#include <cstdint>
#include <type_traits>

namespace clients {

// Functions of the driver by their exact names, with version suffix.
#define CLIENTS_DRIVER_FUNCTIONS(F) \
    F(cuInit)                       \
    F(cuDeviceGet)                  \
    F(cuDeviceGetCount)             \
    F(cuDeviceGetAttribute)         \
    F(cuDevicePrimaryCtxRetain)     \
    F(cuDevicePrimaryCtxRelease_v2) \
    F(cuCtxSetCurrent)              \
    F(cuCtxSynchronize)             \
    F(cuMemAlloc_v2)                \
    F(cuMemFree_v2)                 \
    F(cuMemcpyHtoD_v2)              \
    F(cuMemcpyDtoH_v2)              \
    F(cuStreamCreate)               \
    F(cuStreamDestroy_v2)           \
    F(cuStreamSynchronize)          \
    F(cuStreamQuery)                \
    F(cuStreamBeginCapture_v2)      \
    F(cuStreamEndCapture)           \
    F(cuGraphInstantiateWithFlags)  \
    F(cuGraphLaunch)                \
    F(cuGraphExecDestroy)           \
    F(cuGraphDestroy)

#define CLIENTS_CUBLAS_STATE_FUNCTIONS(F) \
    F(cublasCreate_v2)                    \
    F(cublasDestroy_v2)                   \
    F(cublasGetVersion_v2)                \
    F(cublasSetStream_v2)                 \
    F(cublasSetPointerMode_v2)            \
    F(cublasGetPointerMode_v2)            \
    F(cublasSetMathMode)                  \
    F(cublasGetMathMode)

#define CLIENTS_LT_FUNCTIONS(F)             \
    F(cublasLtCreate)                       \
    F(cublasLtDestroy)                      \
    F(cublasLtMatmul)                       \
    F(cublasLtMatrixLayoutCreate)           \
    F(cublasLtMatrixLayoutDestroy)          \
    F(cublasLtMatrixLayoutInit_internal)    \
    F(cublasLtMatrixLayoutSetAttribute)     \
    F(cublasLtMatmulDescCreate)             \
    F(cublasLtMatmulDescDestroy)            \
    F(cublasLtMatmulDescInit_internal)      \
    F(cublasLtMatmulDescSetAttribute)       \
    F(cublasLtMatmulDescGetAttribute)       \
    F(cublasLtMatmulPreferenceCreate)       \
    F(cublasLtMatmulPreferenceDestroy)      \
    F(cublasLtMatmulPreferenceSetAttribute) \
    F(cublasLtMatmulAlgoGetHeuristic)       \
    F(cublasLtMatmulAlgoGetIds)             \
    F(cublasLtMatmulAlgoInit)               \
    F(cublasLtMatmulAlgoConfigGetAttribute) \
    F(cublasLtMatmulAlgoCheck)              \
    F(cublasLtMatmulAlgoCapGetAttribute)    \
    F(cublasLtMatmulAlgoConfigSetAttribute)

/// The type of a function, taken from its `_64` form. The type of `cublasGemmEx` itself is ambiguous in C++:
/// cublas_api.h overloads it for code of CUDA 10.
template <class T>
struct NarrowInteger {
    using type = T;
};
template <>
struct NarrowInteger<std::int64_t> {
    using type = int;
};
template <>
struct NarrowInteger<const std::int64_t*> {
    using type = const int*;
};
template <class T>
struct NarrowFunction;
template <class Result, class... Arguments>
struct NarrowFunction<Result (*)(Arguments...)> {
    using type = Result (*)(typename NarrowInteger<Arguments>::type...);
};
template <class T>
using Narrow = typename NarrowFunction<T>::type;

struct Api {
#define MEMBER(name) decltype(&::name) name = nullptr;
    CLIENTS_DRIVER_FUNCTIONS(MEMBER)
    CLIENTS_CUBLAS_STATE_FUNCTIONS(MEMBER)
    CLIENTS_LT_FUNCTIONS(MEMBER)
#undef MEMBER
#define PRODUCT(name, ...)                         \
    Narrow<decltype(&::name##_64)> name = nullptr; \
    decltype(&::name##_64) name##_64 = nullptr;
#define PRODUCT_ALSO(...)
#define LEGACY(...)
#define XT(...)
#define NARROW(name, ...) PRODUCT(name)
#include "products.def"
#undef PRODUCT
#undef PRODUCT_ALSO
#undef LEGACY
#undef XT
#undef NARROW
};

/// Returns the table. If there is no cuBLAS, prints the loader's message and ends the program with status 2.
const Api& api();

/// Looks up functions that legacy.cpp and xt.cpp also need. `Library`: the library that has the function. Null if the
/// library does not have it.
enum class Library { driver, cublas, cublas_lt };
void* look_up(Library library, const char* name);

// The address of a function of cuBLAS, bound by the loader or found by dlsym.
#ifdef CLIENTS_LINKED
#define CLIENTS_ADDRESS(library, type, name) static_cast<type>(&::name)
#else
#define CLIENTS_ADDRESS(library, type, name) reinterpret_cast<type>(look_up(Library::library, #name))
#endif

}  // namespace clients
