#include "shim/blas/fingerprint/fingerprint_call.hpp"

#include "shim/blas/audit/roles.hpp"
#include "shim/blas/emulate/arguments.hpp"
#include "shim/blas/fingerprint/float_environment.hpp"
#include "shim/blas/fingerprint/result_stream.hpp"

namespace fp32shim::blas {
namespace {

bool add_result(void* stream_address, const Level3& single) {
    auto& stream = *static_cast<ResultStream*>(stream_address);
    if (!multiplies(single)) return true;
    const Matrix result = result_of(single);
    if (result.data == nullptr) return true;
    const Part part = written_of(single);
    for (std::int64_t outer = 0; outer < result.outer(); ++outer) {
        const auto [begin, end] = stored_range(result, part, outer);
        stream.add(result.data + (begin + outer * result.ld) * result.width,
                   static_cast<std::size_t>((end - begin) * result.width));
    }
    return true;
}

}  // namespace

bool can_fingerprint(const Product& product, const Plan& plan) {
    using policy::Reason;
    return product.readable && plan.applied != policy::Applied::unchanged &&
           plan.reason != Reason::invalid_arguments && plan.reason != Reason::width_unknown;
}

std::optional<record::Fingerprint> fingerprint_call(const Site& site, const Frame& frame, const Product& product) {
    const DefaultFloatEnvironment environment;
    ResultStream stream;
    for_each_product(site, frame, product, add_result, &stream);
    if (stream.count() == 0) return std::nullopt;
    return stream.finish();
}

}  // namespace fp32shim::blas
