// The 18 products of cublasXt.h, which includes cublas_v2.h.
#include <cublasXt.h>

#include "api.hpp"
#include "product_case.hpp"

namespace clients {
namespace {

struct XtApi {
#define PRODUCT(...)
#define PRODUCT_ALSO(...)
#define LEGACY(...)
#define NARROW(...)
#define XT(name, ...) decltype(&::name) name = CLIENTS_ADDRESS(cublas, decltype(&::name), name);
    XT(cublasXtCreate)
    XT(cublasXtDeviceSelect)
#include "products.def"
#undef XT
};

const XtApi& xt_api() {
    static const XtApi table;
    return table;
}

/// Returns a handle on the first device, which all cases share. It lives as long as the process.
cublasXtHandle_t xt_handle() {
    static cublasXtHandle_t handle = [] {
        cublasXtHandle_t result = nullptr;
        int devices[] = {0};
        if (xt_api().cublasXtCreate(&result) == CUBLAS_STATUS_SUCCESS)
            xt_api().cublasXtDeviceSelect(result, 1, devices);
        return result;
    }();
    return handle;
}

}  // namespace

#define XT(name, operation, dtype, PARAMETERS) \
    {#name,                                    \
     Operation::operation,                     \
     Dtype::dtype,                             \
     Batching::single,                         \
     Road::not_governable,                     \
     Form::xt,                                 \
     xt_api().name != nullptr,                 \
     [](const Call& c) { return xt_api().name(xt_handle(), PARAMETERS); }},

std::vector<ProductCase> xt_cases() {
    return {
#include "products.def"
    };
}

}  // namespace clients
