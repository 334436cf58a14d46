// The functions of the driver, cuBLAS and cublasLt that the clients call, as one table of pointers. Which libraries
// stand behind it is decided once, at start: with CLIENTS_LINKED the table holds what the loader bound, else the
// program opens the libraries itself, as XLA does. A pointer is null where an older library lacks the function.
#pragma once

#include <cublasLt.h>
#include <cublas_api.h>
#include <cuda.h>

#include <cstdint>
#include <type_traits>

namespace clients {

// Driver entry points by explicit name, version suffix included.
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

/// The type of a function from that of its `_64` form. Asking for the type of `cublasGemmEx` itself is ambiguous in
/// C++: cublas_api.h overloads it for code of CUDA 10.
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

/// The table. Ends the program with status 2, and what the loader said, where there is no cuBLAS.
const Api& api();

/// Opens what legacy.cpp and xt.cpp need too. `Library` is whose function it is; null where the library lacks it.
enum class Library { driver, cublas, cublas_lt };
void* look_up(Library library, const char* name);

// The address of a function of cuBLAS: what the loader bound, or what dlsym finds.
#ifdef CLIENTS_LINKED
#define CLIENTS_ADDRESS(library, type, name) static_cast<type>(&::name)
#else
#define CLIENTS_ADDRESS(library, type, name) reinterpret_cast<type>(look_up(Library::library, #name))
#endif

}  // namespace clients
