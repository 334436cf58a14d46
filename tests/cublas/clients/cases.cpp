#include "api.hpp"
#include "product_case.hpp"

namespace clients {

#define ROW(name, operation, dtype, batching, road, ...) \
    {#name,                                              \
     Operation::operation,                               \
     Dtype::dtype,                                       \
     Batching::batching,                                 \
     Road::road,                                         \
     Form::plain,                                        \
     api().name != nullptr,                              \
     [](const Call& c) { return api().name(c.handle, __VA_ARGS__); }},
#define PRODUCT(name, ...) ROW(name, __VA_ARGS__) ROW(name##_64, __VA_ARGS__)
#define PRODUCT_ALSO(...) PRODUCT(__VA_ARGS__)
#define LEGACY(...)
#define XT(...)
#define NARROW(...) PRODUCT(__VA_ARGS__)

std::vector<ProductCase> plain_cases() {
    return {
#include "products.def"
    };
}

}  // namespace clients
