#include "shim/blas/fingerprint/fingerprint_call.hpp"

#include "shim/audit/float_environment.hpp"
#include "shim/audit/roles.hpp"
#include "shim/blas/emulate/arguments.hpp"
#include "shim/blas/fingerprint/result_stream.hpp"

namespace fp32shim::blas {
namespace {

/// Adds `count` elements, beginning with the one at `offset`.
void add_floats(ResultStream& stream, const Matrix& result, std::int64_t offset, std::int64_t count) {
    stream.add(result.data + offset * result.width, static_cast<std::size_t>(count * result.width));
}

bool add_result(void* stream_address, const Level3& single) {
    auto& stream = *static_cast<ResultStream*>(stream_address);
    if (!multiplies(single)) return true;
    const Matrix result = result_of(single);
    if (result.data == nullptr || result.inner() == 0) return true;
    const Part part = written_of(single);
    const bool is_contiguous = part == Part::whole && result.ld == result.inner();
    const std::int64_t group = ResultStream::columns_of_group(result.outer(), result.inner() * result.width);
    for (std::int64_t outer = 0; outer < result.outer();) {
        const std::int64_t end = result.outer() - outer < 2 * group ? result.outer() : outer + group;
        if (is_contiguous) {
            add_floats(stream, result, outer * result.ld, (end - outer) * result.ld);
            outer = end;
        }
        for (; outer < end; ++outer) {
            const IndexRange range = stored_range(result, part, outer);
            add_floats(stream, result, range.begin + outer * result.ld, range.end - range.begin);
        }
        stream.end_group();
    }
    return true;
}

}  // namespace

std::optional<record::Fingerprint> fingerprint_call(const Site& site, const Frame& frame, const Product& product) {
    const audit::QuietFloatEnvironment environment(audit::QuietFloatEnvironment::Settings::defaults);
    std::uint64_t count = 0;
    const record::Fingerprint fingerprint = fingerprint_of([&](ResultStream& stream) {
        for_each_product(site, frame, product, add_result, &stream);
        count = stream.count();
    });
    if (count == 0) return std::nullopt;
    return fingerprint;
}

}  // namespace fp32shim::blas
