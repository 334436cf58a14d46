// The 15 products of cublas.h. They have a file of their own, since cublas.h excludes cublas_v2.h.
#include <cublas.h>

#include "api.hpp"
#include "product_case.hpp"

namespace clients {
namespace {

struct LegacyApi {
#define PRODUCT(...)
#define PRODUCT_ALSO(...)
#define XT(...)
#define NARROW(...)
#define LEGACY(name, ...) decltype(&::name) name = CLIENTS_ADDRESS(cublas, decltype(&::name), name);
#include "products.def"
#undef LEGACY
    decltype(&::cublasInit) cublasInit = CLIENTS_ADDRESS(cublas, decltype(&::cublasInit), cublasInit);
};

const LegacyApi& legacy_api() {
    static const LegacyApi table;
    return table;
}

}  // namespace

void start_legacy() {
    static const cublasStatus status = legacy_api().cublasInit();
    (void)status;
}

#define LEGACY(name, operation, dtype, PARAMETERS) \
    {#name,                                        \
     Operation::operation,                         \
     Dtype::dtype,                                 \
     Batching::single,                             \
     Road::not_governable,                         \
     Form::legacy,                                 \
     legacy_api().name != nullptr,                 \
     [](const Call& c) {                           \
         legacy_api().name(PARAMETERS);            \
         return CUBLAS_STATUS_SUCCESS;             \
     }},

std::vector<ProductCase> legacy_cases() {
    return {
#include "products.def"
    };
}

}  // namespace clients
